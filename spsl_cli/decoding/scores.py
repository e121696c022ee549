"""From logits to the scores that tokens are chosen by: repetition penalty, temperature, top-k and top-p.

Rows are judged behind their true prefix: the sequence, and the drafts before a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from spsl_cli.decoding.config import SamplingConfig
from spsl_cli.decoding.sampling import filtered, penalised


class Scores(Protocol):
    """Processes logits of one sequence."""

    def note(self, token_ids: Sequence[int]) -> None:
        """These tokens are now part of the sequence."""
        ...

    def __call__(self, logits: torch.Tensor, tail: Sequence[int]) -> torch.Tensor:
        """Scores [n, V], float32 or better, of logits [n, V]; row i stands behind `tail` without its last n-1-i."""
        ...


class SampledScores:
    """Scores as a `SamplingConfig` wants them. At temperature 0 only the repetition penalty counts."""

    def __init__(self, sampling: SamplingConfig) -> None:
        self._sampling = sampling
        self._ids: set[int] = set()

    def note(self, token_ids: Sequence[int]) -> None:
        """These tokens are now part of the sequence; nothing is kept where there is no penalty."""
        if self._sampling.repetition_penalty != 1.0:
            self._ids.update(token_ids)

    def __call__(self, logits: torch.Tensor, tail: Sequence[int]) -> torch.Tensor:
        """Scores [n, V] of logits [n, V]; row i stands behind the sequence and `tail` without its last n-1-i tokens."""
        scores = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if self._sampling.repetition_penalty != 1.0:
            scores = penalised(scores, self._seen(scores, tail), self._sampling.repetition_penalty)
        return filtered(scores, self._sampling) if self._sampling.temperature > 0 else scores

    def _seen(self, scores: torch.Tensor, tail: Sequence[int]) -> torch.Tensor:
        """[n, V]: which tokens stand before each row."""
        rows = scores.shape[0]
        seen = torch.zeros_like(scores, dtype=torch.bool)
        seen[:, list(self._ids)] = True
        for i in range(rows):
            seen[i, list(tail[: len(tail) - (rows - 1) + i])] = True
        return seen
