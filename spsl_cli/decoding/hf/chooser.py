"""How tokens are chosen under Hugging Face's `generate`: from scores that its logits processors have been over.

Same protocol as `chooser.py`. Every row of scores is processed behind its own true prefix: what `generate` would show
for it, padding included, then the drafts before it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch

from spsl_cli.decoding.chooser import Choice
from spsl_cli.decoding.hf.processors import RowProcessors
from spsl_cli.decoding.sampling import Dice, verify


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


class ProcessedGreedyChooser:
    """The token of the highest processed score."""

    def __init__(self, scores: ProcessedScores) -> None:
        self._scores = scores
        self.note = scores.note

    def choose(self, logits: torch.Tensor, tail: Sequence[int] = ()) -> Choice:
        """The argmax behind logits [V], and the entropy of the softmax, in one transfer from the device."""
        scores = self._scores(logits[None], tail)[0]
        log_p = scores.log_softmax(-1)
        entropy = -(log_p.exp() * log_p).nan_to_num(0.0).sum()
        token, nats = torch.stack((scores.argmax().double(), entropy.double())).tolist()
        return Choice(int(token), nats)

    def verify(self, drafts: Sequence[Choice], logits: torch.Tensor) -> tuple[int, int]:
        """A draft stands if it is the target's own choice; logits [k+1, V]."""
        token_ids = [draft.token for draft in drafts]
        choices = self._scores(logits, token_ids).argmax(-1).tolist()
        accepted = next((i for i, token in enumerate(token_ids) if token != choices[i]), len(token_ids))
        return accepted, choices[accepted]


class ProcessedSamplingChooser:
    """Tokens drawn from the softmax of the processed scores; verification keeps that distribution exactly."""

    def __init__(self, scores: ProcessedScores, dice: Dice) -> None:
        self._scores, self._dice = scores, dice
        self.note = scores.note

    def choose(self, logits: torch.Tensor, tail: Sequence[int] = ()) -> Choice:
        """A token drawn behind logits [V]. RuntimeError if the processors leave none."""
        p = self._distributions(logits[None], tail)[0]
        if tail and bool(p.isnan().any()):
            p = logits.float().softmax(-1).cpu()  # a draft no one may come to; if one does, verify says so
        _check_tokens_left(p)
        return Choice(self._dice.draw(p), float(torch.special.entr(p).sum()), p)

    def verify(self, drafts: Sequence[Choice], logits: torch.Tensor) -> tuple[int, int]:
        """Speculative sampling; logits [k+1, V]. RuntimeError if the processors leave no token that counts."""
        token_ids = [draft.token for draft in drafts]
        p = self._distributions(logits, token_ids)
        q = [draft.distribution for draft in drafts if draft.distribution is not None]
        accepted, token = verify(token_ids, p, q, self._dice)
        _check_tokens_left(p[: accepted + 1])
        return accepted, token

    def _distributions(self, logits: torch.Tensor, tail: Sequence[int]) -> torch.Tensor:
        return self._scores(logits, tail).softmax(-1).cpu()  # the dice are thrown there, the same on every device


def _check_tokens_left(p: torch.Tensor) -> None:
    if bool(p.isnan().any()):
        raise RuntimeError(
            "no token can be drawn: the scores are not finite, or a logits processor forbids every token"
        )
