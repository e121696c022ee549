"""How tokens are chosen in a decoding: greedily, or by sampling. Both drafts and verification ask here.

A chooser belongs to one sequence. `tail` is what stands behind the committed output when a row is judged: the drafts
before it. So a repetition penalty sees each row's true prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from spsl_cli.decoding.config import SamplingConfig
from spsl_cli.decoding.sampling import Dice, SeededDice, distributions, penalised, verify


@dataclass(frozen=True)
class Choice:
    """A chosen token, the entropy (nats) of what it was chosen from, and for sampling that distribution [V]."""

    token: int
    entropy: float
    distribution: torch.Tensor | None = None


class Chooser(Protocol):
    """Chooses tokens from logits."""

    def note(self, token_ids: Sequence[int]) -> None:
        """These tokens are now part of the sequence."""
        ...

    def choose(self, logits: torch.Tensor, tail: Sequence[int] = ()) -> Choice:
        """One token from logits [V] behind the sequence and `tail`."""
        ...

    def verify(self, drafts: Sequence[Choice], logits: torch.Tensor) -> tuple[int, int]:
        """How many leading drafts stand, and the target's token behind them; logits [k+1, V]."""
        ...


class _Prefix:
    """Which tokens a sequence holds, for the repetition penalty; nothing is kept where there is none."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty
        self._ids: set[int] = set()

    def add(self, token_ids: Sequence[int]) -> None:
        if self.penalty != 1.0:
            self._ids.update(token_ids)

    def apply(self, logits: torch.Tensor, tail: Sequence[int]) -> torch.Tensor:
        """Penalise logits [n, V], row i for the sequence and `tail` without its last n-1-i tokens."""
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if self.penalty == 1.0:
            return logits
        rows = logits.shape[0]
        seen = torch.zeros_like(logits, dtype=torch.bool)
        seen[:, list(self._ids)] = True
        for i in range(rows):
            seen[i, list(tail[: len(tail) - (rows - 1) + i])] = True
        return penalised(logits, seen, self.penalty)


class GreedyChooser:
    """The likeliest token."""

    def __init__(self, sampling: SamplingConfig) -> None:
        self._prefix = _Prefix(sampling.repetition_penalty)

    def note(self, token_ids: Sequence[int]) -> None:
        """These tokens are now part of the sequence."""
        self._prefix.add(token_ids)

    def choose(self, logits: torch.Tensor, tail: Sequence[int] = ()) -> Choice:
        """The argmax, and the entropy of the softmax, in one transfer from the device."""
        logits = self._prefix.apply(logits[None], tail)[0]
        log_p = torch.log_softmax(logits, dim=-1)
        entropy = -(log_p.exp() * log_p).nan_to_num(0.0).sum()
        token, nats = torch.stack((logits.argmax().double(), entropy.double())).tolist()
        return Choice(int(token), nats)

    def verify(self, drafts: Sequence[Choice], logits: torch.Tensor) -> tuple[int, int]:
        """A draft stands if it is the target's own choice."""
        choices = self._prefix.apply(logits, [draft.token for draft in drafts]).argmax(-1).tolist()
        for i, draft in enumerate(drafts):
            if draft.token != choices[i]:
                return i, choices[i]
        return len(drafts), choices[len(drafts)]


class SamplingChooser:
    """Tokens drawn from the processed distribution; verification keeps it exactly."""

    def __init__(self, sampling: SamplingConfig, dice: Dice | None = None) -> None:
        self._sampling = sampling
        self._prefix = _Prefix(sampling.repetition_penalty)
        self._dice = dice or SeededDice(sampling.seed)

    def note(self, token_ids: Sequence[int]) -> None:
        """These tokens are now part of the sequence."""
        self._prefix.add(token_ids)

    def choose(self, logits: torch.Tensor, tail: Sequence[int] = ()) -> Choice:
        """A token drawn from logits [V]."""
        p = self._distributions(logits[None], tail)[0]
        entropy = float(torch.special.entr(p).sum())
        return Choice(self._dice.draw(p), entropy, p)

    def verify(self, drafts: Sequence[Choice], logits: torch.Tensor) -> tuple[int, int]:
        """Speculative sampling."""
        token_ids = [draft.token for draft in drafts]
        p = self._distributions(logits, token_ids)
        q = [draft.distribution for draft in drafts if draft.distribution is not None]
        return verify(token_ids, p, q, self._dice)

    def _distributions(self, logits: torch.Tensor, tail: Sequence[int]) -> torch.Tensor:
        # On the CPU: the dice are thrown there, and so the same seed gives the same tokens on every device.
        return distributions(self._prefix.apply(logits, tail), self._sampling).cpu()


def make_chooser(sampling: SamplingConfig) -> Chooser:
    """Greedy at temperature 0, sampling above."""
    return SamplingChooser(sampling) if sampling.temperature > 0 else GreedyChooser(sampling)
