"""One forward of a few tokens a row as a function of tensors only: what a CUDA graph can record.

Token ids, positions, write places and visible lengths are on the device. With `sampling` the step chooses its next
token there too and moves on, so that k calls draft k tokens and the host reads them once, behind the last. The host
waits for nothing within, and no number of the host's depends on where the step stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch

from spsl_cli.decoding.config import SamplingConfig
from spsl_cli.decoding.forward_state import Mode
from spsl_cli.decoding.graphs.static_cache import Sight, StaticLayer, static_cache
from spsl_cli.decoding.graphs.static_choice import choose
from spsl_cli.decoding.graphs.static_frame import StepFrame
from spsl_cli.decoding.graphs.static_state import SLOT, START, StepState
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.target import TargetModel


@dataclass(frozen=True)
class StepShape:
    """What is fixed in a step, one graph each.

    mode: over the dense cache or over the sparse view. sequences: which ones of the cache. tokens: of each row.
    keys: rows attended to, of layers without a window. sampling: how the next token is chosen; None: it is not.
    shifted: whether views of different layers hold different numbers of rows.

    ValueError for several tokens a row where one is chosen.
    """

    mode: Mode
    sequences: tuple[int, ...]
    tokens: int
    keys: int
    sampling: SamplingConfig | None = None
    shifted: bool = False

    def __post_init__(self) -> None:
        if self.sampling is not None and self.tokens != 1:
            raise ValueError("a step that chooses its next token has one token a row")


class StepOutput(NamedTuple):
    """logits [R, q, V]; of dense layers without a window the queries [R, Hq, q, D] and log-sum-exps [R, Hkv, G, q].

    Of a replayed graph they hold until the next replay of any: read them before.
    """

    logits: torch.Tensor
    kept: list[tuple[torch.Tensor, torch.Tensor]]


class StaticStep:
    """Call it under `attending_statically`, after `state.enter`."""

    def __init__(self, target: TargetModel, cache: DecoderCache, shape: StepShape) -> None:
        self.shape = shape
        self._model = target.model
        sizes = (len(shape.sequences), shape.tokens, len(cache.drafting_layers))
        embedding: torch.Tensor = target.model.get_input_embeddings().weight  # type: ignore[assignment]
        self.state = StepState(sizes, target.device, shape.sampling, embedding)
        self._frame = StepFrame(self.state.places(START), self.state.places(SLOT))
        sight = Sight(shape.mode, shape.sequences, shape.tokens, shape.keys)
        self._cache = static_cache(cache, self._frame, sight, self.state.shifts if shape.shifted else None)

    def __call__(self) -> StepOutput:
        """Run the tokens of the state; with `sampling` choose behind them and move on."""
        state = self.state
        self._frame.move(state.places(START), state.places(SLOT))
        logits: torch.Tensor = self._model(
            input_ids=state.tokens,
            position_ids=state.positions,
            cache=self._cache,
            use_cache=True,
            logits_to_keep=0,
        ).logits
        if self.shape.sampling is not None:
            state.move_on(choose(logits[:, -1], state, self.shape.sampling))
        layers: list[StaticLayer] = self._cache.layers  # type: ignore[assignment]
        return StepOutput(logits, [layer.kept for layer in layers if layer.kept is not None])
