"""From logits to tokens: distributions, and speculative sampling (Leviathan et al. 2023, Chen et al. 2023).

Pure functions on tensors, and the dice that they throw. `p` is the target's distribution, `q` the one that a draft
token was drawn from; both are *processed*: the same temperature, top-k, top-p and repetition penalty have been applied.
Types are kept, float32 or better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from spsl_cli.decoding.config import SamplingConfig


class Dice(Protocol):
    """The only source of chance."""

    def accepts(self, probability: float) -> bool:
        """True with this probability."""
        ...

    def draw(self, distribution: torch.Tensor) -> int:
        """An index of [V], with the probability that stands there (up to a common factor)."""
        ...


class SeededDice:
    """Dice of a seed: the same throws in the same order. Uniform numbers in float64, inverse distribution function."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def uniform(self) -> float:
        """A number in [0, 1): one throw."""
        return float(torch.rand((), dtype=torch.float64, generator=self._generator))

    def accepts(self, probability: float) -> bool:
        """True with this probability."""
        return self.uniform() < probability

    def draw(self, distribution: torch.Tensor) -> int:
        """An index of [V], with the probability that stands there (up to a common factor)."""
        total = distribution.double().cumsum(0)
        index = int(torch.searchsorted(total, self.uniform() * total[-1], right=True))
        # The product may round up to the whole sum: then the last index that has any probability.
        return index if index < len(total) else int(distribution.nonzero()[-1])


def penalised(logits: torch.Tensor, seen: torch.Tensor, penalty: float) -> torch.Tensor:
    """Repetition penalty (Keskar et al. 2019): in logits [n, V], tokens that `seen` [n, V] marks become less likely."""
    return torch.where(seen, torch.where(logits > 0, logits / penalty, logits * penalty), logits)


def filtered(logits: torch.Tensor, sampling: SamplingConfig) -> torch.Tensor:
    """Logits [n, V] after temperature, top-k and top-p, in this order: what is filtered out is -inf.

    Temperature must be above 0. Tokens whose logit equals that of the k-th stay with it; top-p keeps the fewest tokens
    whose probability reaches p, at least one.
    """
    logits = logits / sampling.temperature
    if 0 < sampling.top_k < logits.shape[-1]:
        least = logits.topk(sampling.top_k, dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < least, float("-inf"))
    if sampling.top_p < 1.0:
        ordered, order = logits.sort(dim=-1)
        drop = ordered.softmax(-1).cumsum(-1) <= 1.0 - sampling.top_p
        drop[..., -1] = False
        logits = logits.masked_fill(drop.scatter(-1, order, drop), float("-inf"))
    return logits


def acceptance(p: torch.Tensor, q: torch.Tensor, token: int) -> float:
    """The probability with which `token`, drawn from `q` [V], stands as one of `p` [V]: min(1, p/q)."""
    ours, theirs = float(p[token]), float(q[token])
    return 1.0 if ours >= theirs else ours / theirs


def residual(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """What is left of `p` once `q` has had its say: max(0, p - q), not normalised; `p` itself where nothing is left."""
    rest = (p - q).clamp_min(0.0)
    return rest if bool(rest.sum() > 0) else p


def verify(drafts: Sequence[int], p: torch.Tensor, q: Sequence[torch.Tensor], dice: Dice) -> tuple[int, int]:
    """How many leading drafts stand, and the token behind them.

    p [k+1, V]: row i is the target's distribution behind i drafts. q: for each draft the distribution [V] it was drawn
    from. On the first rejection the token comes from the residual, after the last draft from p itself.
    """
    for i, token in enumerate(drafts):
        if not dice.accepts(acceptance(p[i], q[i], token)):
            return i, dice.draw(residual(p[i], q[i]))
    return len(drafts), dice.draw(p[len(drafts)])
