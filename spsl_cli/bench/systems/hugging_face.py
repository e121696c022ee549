"""Hugging Face's own `generate` as a system, on copies of the rows that our prefill computed.

Every decoding begins behind the first token, as ours do, with a cache that holds the prompts. An auxiliary model and an
early exit have no such rows: that they read the prompt first is part of their seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

import torch
from transformers import GenerationConfig

from spsl_cli.bench.systems.base import Decoded, UnavailableError
from spsl_cli.bench.systems.shared_prefill import SharedPrefill
from spsl_cli.decoding.costs import clock
from spsl_cli.models.quiet import quiet

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from spsl_cli.decoding.output import Output
    from spsl_cli.decoding.run import DecodingRun

PREPARE = "prepare_inputs_for_generation"  # found through a module's own look-up of attributes, which has no types
LOOKUP_TOKENS = 10
"""How many tokens prompt lookup proposes: the number in Hugging Face's documentation."""


class HuggingFaceSystem:
    """`generate` of the run's model, greedily, with `options`; its attention is `attention` meanwhile.

    The run's decoder must have left the model its own weights (`pack` other than "replace"). With options `generate`
    speculates, which it does for one prompt at a time. Raises UnavailableError where it would not run.
    """

    def __init__(
        self,
        name: str,
        run: DecodingRun,
        attention: Literal["eager", "sdpa"],
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self._run, self._model, self._attention = run, run.target.model, attention
        self._options = dict(options or {})
        if self._options and len(run.requests) > 1:
            raise UnavailableError("Hugging Face's assisted generation takes one prompt at a time")
        with _attention(self._model, attention):
            pass  # it can be switched
        self._prefill = SharedPrefill(run)
        self._stops = sorted({token for output in self._new_outputs(1) for token in output.stop_token_ids})

    def decode(self, new_tokens: int) -> Decoded:
        """Up to `new_tokens` a row, cut where our rows end; the cache is copied before the clock starts."""
        outputs = self._new_outputs(new_tokens)
        for output, first in zip(outputs, self._prefill.first_tokens, strict=True):
            output.take([first])
        wanted = max(output.remaining for output in outputs)
        seconds = 0.0
        if wanted and not all(output.finish_reason for output in outputs):
            rows, seconds = self._generate(wanted)
            for output, row in zip(outputs, rows, strict=True):
                if output.finish_reason is None:
                    output.take(row)
        return Decoded([output.token_ids for output in outputs], seconds)

    def _new_outputs(self, new_tokens: int) -> list[Output]:
        """Empty ones, that end where the run's own would."""
        outputs = [request.make_output() for request in self._run.requests]
        for output in outputs:
            output.max_new_tokens = min(new_tokens, output.max_new_tokens)
        return outputs

    def _generate(self, new_tokens: int) -> tuple[list[list[int]], float]:
        """The tokens behind the first one of every row, and their seconds. UnavailableError where it refuses."""
        prefill, now = self._prefill, clock(self._run.target.device)
        with ExitStack() as changes:
            changes.enter_context(torch.inference_mode())
            changes.enter_context(quiet())
            changes.enter_context(_attention(self._model, self._attention))
            changes.enter_context(_plain_settings(self._model))
            changes.enter_context(_continuing(self._model))
            cache = prefill.cache()
            begun = now()
            try:
                output = self._model.generate(  # type: ignore[operator]  # transformers types it as a tensor
                    prefill.ids,
                    attention_mask=prefill.mask,
                    cache=cache,
                    do_sample=False,
                    max_new_tokens=new_tokens,
                    eos_token_id=self._stops or None,
                    pad_token_id=self._stops[0] if self._stops else 0,
                    **self._options,
                )
            except (ValueError, NotImplementedError) as error:
                raise UnavailableError(f"generate does not take this model: {error}") from error
            seconds = now() - begun
        rows: list[list[int]] = output[:, prefill.ids.shape[1] :].tolist()
        return rows, seconds


@contextmanager
def _attention(model: PreTrainedModel, name: str) -> Iterator[None]:
    """Within, the model attends by that implementation. UnavailableError where it has none of that name."""
    before = model.config._attn_implementation  # noqa: SLF001 there is no public way to read it
    try:
        model.set_attn_implementation(name)
    except (ImportError, ValueError) as error:
        raise UnavailableError(f"the model has no attention of the kind {name}: {error}") from error
    try:
        yield
    finally:
        model.set_attn_implementation(before)


@contextmanager
def _plain_settings(model: PreTrainedModel) -> Iterator[None]:
    """Within, the model's own penalties and the like do not apply, as they do not in our decoder."""
    before, layers = model.generation_config, model.config.num_hidden_layers
    model.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        model.generation_config = before
        model.config.num_hidden_layers = layers  # an early exit that was interrupted leaves its own number there


@contextmanager
def _continuing(model: PreTrainedModel) -> Iterator[None]:
    """Within, the first forward of assisted generation runs only what the cache does not hold.

    transformers 5.24 hands the whole prompt to it, however much of it the cache it was given holds already, and so
    would have it there twice.
    """
    prepare: Callable[..., dict[str, Any]] = getattr(model, PREPARE)

    @wraps(prepare)
    def prepare_the_rest(input_ids: torch.Tensor, next_sequence_length: int | None = None, **inputs: Any) -> Any:
        cache = inputs.get("cache")
        held = 0 if cache is None else cache.get_seq_length()
        if next_sequence_length is None and 0 < held < input_ids.shape[1]:
            next_sequence_length = input_ids.shape[1] - held
        return prepare(input_ids, next_sequence_length=next_sequence_length, **inputs)

    setattr(model, PREPARE, prepare_the_rest)
    try:
        yield
    finally:
        delattr(model, PREPARE)


def hf_eager(run: DecodingRun) -> HuggingFaceSystem:
    """One token a step, attention written out: the baseline of the paper."""
    return HuggingFaceSystem("hf-eager", run, "eager")


def hf_sdpa(run: DecodingRun) -> HuggingFaceSystem:
    """One token a step, fused attention: what a user of `generate` has."""
    return HuggingFaceSystem("hf-sdpa", run, "sdpa")


def hf_prompt_lookup(run: DecodingRun) -> HuggingFaceSystem:
    """Drafts out of earlier text."""
    return HuggingFaceSystem("hf-prompt-lookup", run, "sdpa", {"prompt_lookup_num_tokens": LOOKUP_TOKENS})


def hf_assisted(run: DecodingRun, assistant: PreTrainedModel | None) -> HuggingFaceSystem:
    """Drafts of a smaller model with the same tokens. UnavailableError without one, or where its tokens are others."""
    if assistant is None:
        raise UnavailableError("needs a smaller model with the same tokenizer: name one")
    sizes = [model.config.get_text_config(decoder=True).vocab_size for model in (run.target.model, assistant)]
    if sizes[0] != sizes[1]:
        raise UnavailableError(f"the auxiliary model has {sizes[1]:,} tokens, the target {sizes[0]:,}")
    return HuggingFaceSystem("hf-assisted", run, "sdpa", {"assistant_model": assistant})


def hf_early_exit(run: DecodingRun, layer: int | None) -> HuggingFaceSystem:
    """Drafts of the model's own first layers. UnavailableError where no exit is named, or none can be there."""
    if layer is None:
        raise UnavailableError("needs a model trained to exit early (LayerSkip): name it, and the layer of its exit")
    layers = run.target.layer_count
    if not 0 < layer < layers:
        raise UnavailableError(f"the exit must lie behind one of the layers 1 to {layers - 1}, not {layer}")
    return HuggingFaceSystem("hf-early-exit", run, "sdpa", {"assistant_early_exit": layer})
