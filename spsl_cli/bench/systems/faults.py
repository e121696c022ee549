"""Deliberate faults of a decoding, which show that the benchmark notices them. No system has any by itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from spsl_cli.decoding.chooser import Choice, Chooser
from spsl_cli.decoding.config import SamplingConfig
from spsl_cli.decoding.controllers import Controller
from spsl_cli.decoding.engine import SpeculativeLoop
from spsl_cli.decoding.proposers import Drafts, SparseSelfDraft
from spsl_cli.decoding.row import Row


@dataclass(frozen=True)
class Faults:
    """slowed: seconds added to every sparse forward. accepts_wrongly: one more token than the verify found right."""

    slowed: float = 0.0
    accepts_wrongly: bool = False

    def put_into(self, loop: SpeculativeLoop) -> None:
        """Have them happen in this decoding."""
        if self.slowed:
            loop.proposer = _SlowedDraft(loop.proposer, self.slowed)
        if self.accepts_wrongly:
            for row in loop.rows:
                row.chooser = _WronglyAccepting(row.chooser)


NONE = Faults()


class _SlowedDraft(SparseSelfDraft):
    def __init__(self, inner: SparseSelfDraft, seconds: float) -> None:
        super().__init__(inner.target, inner.cache, inner.steps)
        self._seconds = seconds

    def propose(self, rows: Sequence[Row], controller: Controller) -> tuple[Drafts, int]:
        drafts, forwards = super().propose(rows, controller)
        time.sleep(self._seconds * forwards)
        return drafts, forwards


class _WronglyAccepting:
    sampling: SamplingConfig | None = None  # its choices are its own

    def __init__(self, inner: Chooser) -> None:
        self._inner = inner

    def throws(self, count: int) -> list[float]:
        return self._inner.throws(count)

    def note(self, token_ids: Sequence[int]) -> None:
        self._inner.note(token_ids)

    def choose(self, logits: torch.Tensor, tail: Sequence[int] = ()) -> Choice:
        return self._inner.choose(logits, tail)

    def verify(self, drafts: Sequence[Choice], logits: torch.Tensor) -> tuple[int, int]:
        accepted, bonus = self._inner.verify(drafts, logits)
        return min(accepted + 1, len(drafts)), bonus
