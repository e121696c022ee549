"""Scores under Hugging Face's `generate`: logits that its processors have been over.

Every row is processed behind its own true prefix: what `generate` would show for it, padding included, then the drafts
before it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch

from spsl_cli.decoding.hf.processors import RowProcessors


class ProcessedScores:
    """Scores of one row of a generation, and the ids before them.

    padding: the ids [P] to the left of the prompt; they name the device that processors work on.
    eos: tokens that end the output. max_length: longest sequence, padding included.
    """

    def __init__(self, padding: torch.Tensor, processors: RowProcessors, eos: Collection[int], max_length: int) -> None:
        self._ids, self._processors = padding, processors
        self._eos, self._max_length = eos, max_length

    def note(self, token_ids: Sequence[int]) -> None:
        """These tokens are now part of the sequence."""
        self._ids = self._behind(token_ids)

    def __call__(self, logits: torch.Tensor, tail: Sequence[int]) -> torch.Tensor:
        """Processed float32 scores of logits [n, V]; row i stands behind `tail` without its last n-1-i tokens."""
        if not self._processors:
            return logits.float()
        scores = logits.to(device=self._ids.device, dtype=torch.float32, copy=True)
        first = len(tail) - (len(logits) - 1)
        tails = [tail[: first + i] for i in range(len(logits))]
        reached = sum(map(self._continues, tails))
        if not reached:
            return scores
        processed = self._processors(scores[:reached], lambda i: self._behind(tails[i])[None])
        return torch.cat((processed, scores[reached:]))

    def _continues(self, tail: Sequence[int]) -> bool:
        """Whether a token may come behind `tail`. Behind the end of the output nothing that is chosen counts, and a
        processor need not be ready for such a prefix: `generate` never shows it one.
        """
        return len(self._ids) + len(tail) < self._max_length and not any(token in self._eos for token in tail)

    def _behind(self, token_ids: Sequence[int]) -> torch.Tensor:
        return torch.cat((self._ids, torch.tensor(token_ids, dtype=self._ids.dtype, device=self._ids.device)))
