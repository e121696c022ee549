"""The public decoder: a loaded Hugging Face causal language model, decoded with SparseSpec-L."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel

from spsl_cli.decoding.config import DecodeConfig, SamplingConfig
from spsl_cli.decoding.probe import check_exact
from spsl_cli.decoding.run import DecodingRun
from spsl_cli.decoding.target import TargetModel
from spsl_cli.events import Event, SpeculationStats


@dataclass(frozen=True)
class DecodeResult:
    """New tokens only, in order (a stop token included when one ended the run), why they end, and the counters."""

    token_ids: list[int]
    finish_reason: str
    stats: SpeculationStats


class SparseSpecDecoder:
    """Decodes prompts with one model; the output is the model's own, token for token or in distribution.

    model: any supported causal language model, loaded, in any floating-point type, on one device.
    config: how to draft; see `DecodeConfig`.

    Raises ValueError for a model in training mode, and UnsupportedModelError if the model's attention cannot be run
    exactly: a short probe forward is compared with the model's own.
    """

    def __init__(self, model: PreTrainedModel, config: DecodeConfig | None = None) -> None:
        self.config = config or DecodeConfig()
        if model.training:
            raise ValueError("the model is in training mode: call model.eval() first")
        self.target = TargetModel(model)
        check_exact(self.target)

    def prepare(
        self,
        input_ids: Sequence[int] | torch.Tensor,
        *,
        max_new_tokens: int = 128,
        sampling: SamplingConfig | None = None,
        stop_token_ids: Collection[int] = (),
        config: DecodeConfig | None = None,
    ) -> DecodingRun:
        """A run whose prompt can be prefilled once and decoded several times; see `DecodingRun`.

        Raises ValueError for an empty prompt, ids outside the vocabulary, no room, or a model in training mode.
        """
        if self.target.model.training:
            raise ValueError("the model is in training mode: call model.eval() first")
        return DecodingRun(
            self.target, _as_list(input_ids), max_new_tokens, stop_token_ids, config or self.config, sampling
        )

    def stream(
        self,
        input_ids: Sequence[int] | torch.Tensor,
        *,
        max_new_tokens: int = 128,
        sampling: SamplingConfig | None = None,
        stop_token_ids: Collection[int] = (),
    ) -> Iterator[Event]:
        """Decode, telling what happens: `Prefill`s, then `Tokens` with `Draft` and `Verify`, at last `Done`.

        input_ids: list[int] or LongTensor [T] or [1, T]. The output ends at the first of `stop_token_ids`, which is
        part of it, or after `max_new_tokens`. `sampling` None is greedy. ValueError for an empty prompt or no room.
        """
        run = self.prepare(input_ids, max_new_tokens=max_new_tokens, sampling=sampling, stop_token_ids=stop_token_ids)
        yield from run.prefill()
        yield from run.decode()

    def decode(
        self,
        input_ids: Sequence[int] | torch.Tensor,
        *,
        max_new_tokens: int = 128,
        sampling: SamplingConfig | None = None,
        stop_token_ids: Collection[int] = (),
    ) -> DecodeResult:
        """The same as `stream`, at once."""
        run = self.prepare(input_ids, max_new_tokens=max_new_tokens, sampling=sampling, stop_token_ids=stop_token_ids)
        for _ in run.prefill():
            pass
        for _ in run.decode():
            pass
        assert run.output.finish_reason is not None  # noqa: S101 the decoding has ended
        return DecodeResult(run.output.token_ids, run.output.finish_reason, run.stats())


def _as_list(input_ids: Sequence[int] | torch.Tensor) -> list[int]:
    if isinstance(input_ids, torch.Tensor):
        one = input_ids.dim() == 1 or (input_ids.dim() == 2 and input_ids.shape[0] == 1)  # noqa: PLR2004
        if not one or input_ids.is_floating_point():
            raise ValueError(f"input_ids must be whole numbers [T] or [1, T], got {input_ids.dtype} {input_ids.shape}")
        return list(map(int, input_ids.flatten().tolist()))
    return [operator.index(token) for token in input_ids]
