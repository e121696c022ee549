"""The target model: a Hugging Face causal language model whose attention runs on our cache.

During a forward of ours the model's attention implementation is the function below; afterwards it is again what it was.
Nothing else of the model is touched.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import AttentionInterface, PreTrainedConfig, PreTrainedModel
from transformers.cache_utils import get_layer_types_and_kwargs

from spsl_cli.decoding.attend import attend, checked_call
from spsl_cli.decoding.config import STRICT_BLOCK, STRICT_ROWS
from spsl_cli.decoding.forward_state import ForwardState, Mode
from spsl_cli.decoding.kv_cache import DecoderCache, LayerCache, LayerSizes
from spsl_cli.decoding.lean.stand_ins import StandIns
from spsl_cli.errors import UnsupportedModelError
from spsl_cli.quantized.linear import QuantizedLinear, bytes_of

ATTENTION_NAME = "spsl_dense_and_sparse"
_SWITCHING = threading.RLock()  # two threads on one model take turns, forward by forward


def spsl_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    _key: torch.Tensor,
    _value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    *,
    spsl_layer: LayerCache | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """What attention modules call: query [R, Hq, q, D] against the rows that `spsl_layer` holds -> [R, q, Hq, D]."""
    layer, scaling = checked_call(module, query, attention_mask, scaling, spsl_layer, options)
    return attend(layer, query, scaling, softcap=softcap, sinks=s_aux), None


AttentionInterface.register(ATTENTION_NAME, spsl_attention)


class TargetModel:
    """A loaded model and what the decoder needs to know of it."""

    def __init__(self, model: PreTrainedModel) -> None:
        with _SWITCHING:  # what is looked at here, a forward of another thread would have switched
            self._look_at(model)

    def _look_at(self, model: PreTrainedModel) -> None:
        self.model = model
        self.windows = attention_windows(model.config)
        self.layer_count = len(self.windows)
        embedding: torch.Tensor = model.get_input_embeddings().weight  # type: ignore[assignment]
        self.strict_checked = False
        self.vocabulary = embedding.shape[0]
        self._own_bytes = _read_each_step(model)
        self.dense_bytes = self._own_bytes + sum(
            4 * module.in_features * module.out_features - bytes_of(module)
            for module in model.modules()
            if isinstance(module, QuantizedLinear)
        )
        self.device = embedding.device
        self.dtype: torch.dtype = model.dtype
        self._configs = _switchable_configs(model)
        self.stand_ins = StandIns(model)
        if not self._configs:
            raise UnsupportedModelError(f"{type(model).__name__} does not let its attention be replaced")

    def fits(self) -> bool:
        """Whether the model is still what was looked at: its modules, its type and its device."""
        with _SWITCHING:
            embedding: torch.Tensor = self.model.get_input_embeddings().weight  # type: ignore[assignment]
            now = (self.model.dtype, embedding.device, embedding.shape[0])
            return now == (self.dtype, self.device, self.vocabulary) and self.stand_ins.fit(self.model)

    def own_logits(self, token_ids: torch.Tensor, keep: int) -> torch.Tensor:
        """What the model computes by itself: token_ids [1, T] -> logits [keep, V] of the last ones."""
        with _SWITCHING, torch.inference_mode():
            logits: torch.Tensor = self.model(input_ids=token_ids, use_cache=False, logits_to_keep=keep).logits
        return logits[0, -keep:]

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights that a step reads."""
        return self._own_bytes - self.stand_ins.saved_bytes

    @contextmanager
    def _attached(self) -> Iterator[None]:
        """Within, the model attends through our function and computes by its stand-ins; afterwards as before.

        Switched for each forward, by the attribute alone (microseconds; the public way walks all modules), so that
        nothing is left switched between the events of a generator, however it ends.
        """
        with _SWITCHING:
            before = [config._attn_implementation_internal for config in self._configs]  # noqa: SLF001
            try:
                for config in self._configs:
                    config._attn_implementation_internal = ATTENTION_NAME  # noqa: SLF001
                with self.stand_ins.in_place():
                    yield
            finally:
                for config, name in zip(self._configs, before, strict=True):
                    config._attn_implementation_internal = name  # noqa: SLF001

    def allocate(self, sizes: LayerSizes, ends: Sequence[int] | None = None) -> DecoderCache:
        """An empty cache of that size for this model; see `DecoderCache`."""
        return DecoderCache.allocate(self.windows, sizes, ends)

    def dense_forward(
        self,
        cache: DecoderCache,
        token_ids: torch.Tensor,
        sequences: Sequence[int],
        *,
        keep: int = 0,
        mass: bool = False,
        logits: int = 0,
        strict: bool = False,
    ) -> torch.Tensor:
        """Run token_ids [R, q] at the positions behind each sequence's committed ones, over the whole cache.

        `keep`: of how many last rows the queries are kept for the attention mass; `mass`: all of them, and their mass
        is computed at once where that costs less. `logits`: of how many last rows the
        logits are wanted (0: all). `strict`: see `_strict_forward`. Returns logits [R, that many, V]. Nothing is
        committed.
        """
        if strict:
            return self._strict_forward(cache, token_ids, sequences, keep)
        rows = token_ids.shape[1]
        starts = tuple(cache.lengths[sequence] for sequence in sequences)
        cache.state.enter(ForwardState(Mode.DENSE, tuple(sequences), starts, rows=rows, keep=keep, mass=mass))
        return self._run(cache, token_ids, logits)

    def _strict_forward(
        self, cache: DecoderCache, token_ids: torch.Tensor, sequences: Sequence[int], keep: int
    ) -> torch.Tensor:
        """The same with every shape fixed, so that what comes out for a token does not depend on its neighbours.

        One sequence after the other, always `STRICT_ROWS` rows (the last token again and again), keys in whole blocks.
        """
        rows, outputs = token_ids.shape[1], []
        token_ids = torch.cat((token_ids, token_ids[:, -1:].expand(-1, STRICT_ROWS - rows)), 1)
        for sequence, ids in zip(sequences, token_ids, strict=True):
            state = ForwardState(
                Mode.DENSE, (sequence,), (cache.lengths[sequence],), rows=rows, keep=keep, align=STRICT_BLOCK
            )
            cache.state.enter(state)
            outputs.append(self._run(cache, ids[None], 0)[:, :rows])
        return torch.cat(outputs)

    def draft_forward(
        self, cache: DecoderCache, token_ids: torch.Tensor, sequences: Sequence[int], depths: Sequence[int]
    ) -> torch.Tensor:
        """Run token_ids [R, q], those from depth `depths[i]` of draft i on, over the sparse view: logits [R, q, V]."""
        starts = tuple(cache.lengths[sequence] + depth for sequence, depth in zip(sequences, depths, strict=True))
        slots = tuple(cache.sparse_sizes[sequence] + depth for sequence, depth in zip(sequences, depths, strict=True))
        cache.state.enter(ForwardState(Mode.DRAFT, tuple(sequences), starts, slots, rows=token_ids.shape[1]))
        return self._run(cache, token_ids, 0)

    def _run(self, cache: DecoderCache, token_ids: torch.Tensor, logits: int) -> torch.Tensor:
        state, device = cache.state, token_ids.device
        steps = torch.arange(token_ids.shape[1], device=device)
        last = torch.tensor([cache.ends[sequence] - 1 for sequence in state.sequences], device=device)[:, None]
        position_ids = (torch.tensor(state.starts, device=device)[:, None] + steps).minimum(last)
        with torch.inference_mode(), self._attached():
            output = self.model(
                input_ids=token_ids,
                position_ids=position_ids,
                cache=cache.as_hugging_face(),
                use_cache=True,
                logits_to_keep=logits,
            )
        result: torch.Tensor = output.logits
        return result


def _read_each_step(model: PreTrainedModel) -> int:
    """Bytes of the weights that a step reads: all but input embeddings that are not the output's too."""
    inputs, outputs = model.get_input_embeddings(), model.get_output_embeddings()  # type: ignore[no-untyped-call]
    tied = outputs is not None and getattr(outputs, "weight", None) is inputs.weight
    return bytes_of(model) - (0 if tied else bytes_of(inputs))


def attention_windows(config: PreTrainedConfig) -> tuple[int | None, ...]:
    """How many positions each layer sees, None for all. Raises UnsupportedModelError for layers of any other kind."""
    text = config.get_text_config(decoder=True)
    kinds, options = get_layer_types_and_kwargs(text)
    for kind in kinds:
        if kind not in ("full_attention", "sliding_attention"):
            raise UnsupportedModelError(f"{config.model_type}: layers of the kind {kind} are not supported")
    windows = tuple(option.get("sliding_window") for option in options)
    if any(windows) and not hasattr(type(text)(), "sliding_window"):
        raise UnsupportedModelError(f"{config.model_type}: its configuration tells a sliding window it does not have")
    return windows


def _switchable_configs(model: PreTrainedModel) -> list[PreTrainedConfig]:
    """The distinct configurations of the model and its parts that can name our attention; each is left as it was."""
    configs = {id(part.config): part.config for part in model.modules() if isinstance(part, PreTrainedModel)}
    before = {key: config._attn_implementation_internal for key, config in configs.items()}  # noqa: SLF001 nothing public
    try:
        model.set_attn_implementation(ATTENTION_NAME)  # this checks that the model can be switched at all
        return [config for config in configs.values() if config._attn_implementation == ATTENTION_NAME]  # noqa: SLF001
    finally:
        for key, config in configs.items():
            config._attn_implementation_internal = before[key]  # noqa: SLF001
