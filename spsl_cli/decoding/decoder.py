"""The public decoder: a loaded Hugging Face causal language model, decoded with SparseSpec-L."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypedDict, Unpack, get_args

import torch
from torch import nn
from transformers import PreTrainedModel

from spsl_cli.decoding.arguments import TokenIds, check_kind, check_length, short, token_list, whole_numbers
from spsl_cli.decoding.chooser import make_chooser
from spsl_cli.decoding.config import DecodeConfig, SamplingConfig
from spsl_cli.decoding.constraint import MakeConstraint
from spsl_cli.decoding.lean.stand_ins import Packing
from spsl_cli.decoding.output import Output, StopWhen
from spsl_cli.decoding.probe import Probe
from spsl_cli.decoding.row import RowRequest
from spsl_cli.decoding.run import DecodingRun
from spsl_cli.decoding.target import TargetModel
from spsl_cli.events import Event, SpeculationStats


class DecodeOptions(TypedDict, total=False):
    """What `SparseSpecDecoder.decode` takes besides the prompt; see there."""

    max_new_tokens: int
    sampling: SamplingConfig | None
    stop_token_ids: Collection[int]
    stop_when: StopWhen | None
    constraint: MakeConstraint | None


@dataclass(frozen=True)
class DecodeResult:
    """New tokens only, in order (a stop token included when one ended the run), why they end, and the counters.

    finish_reason: "stop" (a stop token, or `stop_when`) or "length" (`max_new_tokens` reached).
    """

    token_ids: list[int]
    finish_reason: str
    stats: SpeculationStats


class SparseSpecDecoder:
    """Decodes prompts with one model; the output is the model's own, token for token or in distribution.

    model: any supported causal language model, loaded, in any floating-point type, on one device.
    config: how to draft; see `DecodeConfig`.
    pack: whether the weights of linear layers are laid out anew for products with a few rows, which a verify is (CPU,
    float32; two to three times as fast). "copy" does it beside the model's own weights, "replace" in their place (the
    model then runs through this decoder only), "auto" copies from 32 MB to a quarter of the free memory,
    "off" does not. Weights changed in place afterwards are packed again, but not those changed through `.data`.

    A model that was changed between two runs (layers exchanged, adapters, hooks, another type) is looked at anew.

    Raises ValueError for a model in training mode or under `torch.autocast`, and UnsupportedModelError if the model's
    attention cannot be run exactly: a short probe forward is compared with the model's own.
    """

    def __init__(self, model: PreTrainedModel, config: DecodeConfig | None = None, *, pack: Packing = "auto") -> None:
        check_kind("model", model, PreTrainedModel)
        self.config = DecodeConfig() if config is None else config
        check_kind("config", self.config, DecodeConfig)
        if pack not in get_args(Packing):
            raise ValueError(f"pack is one of {', '.join(get_args(Packing))}, got {pack!r}")
        self._pack = pack
        self._look_at(model)

    def _look_at(self, model: PreTrainedModel) -> None:
        _check_state(model)
        if any(type(module) is nn.Linear and not module.weight.numel() for module in model.modules()):
            raise ValueError(
                "the model gave its weights to a decoder made with pack='replace': it runs through that one only"
            )
        self.target = TargetModel(model)
        probe = Probe(self.target)  # before its weights may be gone
        self.target.stand_ins.pack(self._pack)
        probe.check()

    def prepare(
        self,
        *prompts: TokenIds,
        max_new_tokens: int = 128,
        sampling: SamplingConfig | None = None,
        stop_token_ids: Collection[int] = (),
        stop_when: StopWhen | None = None,
        constraint: MakeConstraint | None = None,
        config: DecodeConfig | None = None,
    ) -> DecodingRun:
        """A run whose prompts are prefilled once and can be decoded several times; see `DecodingRun`.

        Takes and refuses what `decode` and `decode_batch` do; `config` None is the decoder's own.
        """
        stops = frozenset(whole_numbers("stop_token_ids", stop_token_ids))
        sampling = SamplingConfig() if sampling is None else sampling
        check_kind("sampling", sampling, SamplingConfig)
        check_length(max_new_tokens)
        if stop_when is not None and not callable(stop_when):
            raise TypeError(f"stop_when must be a function of the new token ids, got {stop_when!r}")
        if constraint is not None and not callable(constraint):
            raise TypeError(f"constraint must be a function that makes a Constraint, got {constraint!r}")

        def request(row: int, prompt: TokenIds) -> RowRequest:
            own, ids = replace(sampling, seed=sampling.seed + row), token_list(prompt)
            choose = partial(make_chooser, own, constraint=constraint, prompt_tokens=len(ids))
            return RowRequest(ids, choose, partial(Output, max_new_tokens, stops, stop_when), own.temperature == 0)

        return self.prepare_requests([request(row, prompt) for row, prompt in enumerate(prompts)], config)

    def prepare_requests(self, requests: Sequence[RowRequest], config: DecodeConfig | None = None) -> DecodingRun:
        """The same for rows that each choose and end in their own way. ValueError for a model in training mode."""
        _check_state(self.target.model)
        if not self.target.fits():  # layers exchanged, hooks, another type: whatever was concluded from it is void
            self._look_at(self.target.model)
        config = self.config if config is None else config
        check_kind("config", config, DecodeConfig)
        if config.speculation and config.controller_name != "fixed" and _is_shared_out(self.target.model):
            raise ValueError("in tensor parallel all processes must draft alike: give k, or speculation=False")
        self.target.stand_ins.follow()
        return DecodingRun(self.target, requests, config)

    def stream(self, input_ids: TokenIds, **options: Unpack[DecodeOptions]) -> Iterator[Event]:
        """Decode, telling what happens: `Prefill`s, then `Tokens` with `Draft` and `Verify`, at last `Done`.

        Takes what `decode` takes, and refuses it with the first event. The generator may be left at any time: the model
        is as it was between any two events.
        """
        run = self.prepare(input_ids, **options)
        yield from run.prefill()
        yield from run.decode()

    def decode(self, input_ids: TokenIds, **options: Unpack[DecodeOptions]) -> DecodeResult:
        """Decode one prompt.

        input_ids: list[int] or LongTensor [T] or [1, T].
        max_new_tokens: the longest output, 128 if not given.
        sampling: how tokens are chosen; greedily if not given.
        stop_token_ids: the output ends with the first of these, which is part of it.
        stop_when: told all new token ids so far after each token, whether the output ends with it.
        constraint: makes what says which tokens may follow which (`decoding.constraint.Constraint`); called for every
        decoding of every row. It needs to know the stop tokens, which end the output where it may end.

        Raises ValueError for an empty prompt, ids outside the vocabulary, options out of range, or a model in training
        mode, TypeError for arguments of the wrong kind, and UnsupportedModelError (not a ValueError) for positions
        where the model cannot be followed exactly.
        """
        return self.decode_batch([input_ids], **options)[0]

    def decode_batch(self, prompts: Sequence[TokenIds], **options: Unpack[DecodeOptions]) -> list[DecodeResult]:
        """Decode prompts of any lengths together, each to what it would be alone; options as in `decode`, for all rows.

        Greedy rows have the tokens that they have alone (float32). Where tokens are sampled, row i throws the dice of
        `seed + i`, and its distribution is the one that it has alone. One draft length a round serves all rows; a row
        that has ended leaves. The times in a row's counters are the batch's, until that row ended.
        """
        given: object = prompts
        if not isinstance(given, Sequence):
            raise TypeError(f"prompts must be a list with the token ids of each, without padding, got {short(given)}")
        if not prompts:
            return []
        run = self.prepare(*prompts, **options)
        for _ in run.prefill():
            pass
        for _ in run.decode():
            pass
        return [
            DecodeResult(output.token_ids, str(output.finish_reason), run.stats(sequence))
            for sequence, output in enumerate(run.outputs)
        ]


def _check_state(model: PreTrainedModel) -> None:
    if model.training:
        raise ValueError("the model is in training mode: call model.eval() first")
    kind = model.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        raise ValueError("the decoder does not run under torch.autocast: load the model in the type that you want")


def _is_shared_out(model: PreTrainedModel) -> bool:
    """Whether other processes hold parts of its weights (tensor parallel); then times may not decide about drafts."""
    return any(type(parameter).__name__ == "DTensor" for parameter in model.parameters())
