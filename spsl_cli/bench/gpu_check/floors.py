"""What memory allows, and what times make of it: floors, their fractions, and the speedup that results. Floats only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LONGEST = 16
ACCEPTANCES = (0.90, 0.95)


@dataclass(frozen=True)
class Bytes:
    """What each kind of step has to read and write, in bytes, all sequences together."""

    weights: int
    kv: int
    view: int

    @property
    def plain(self) -> int:
        """A plain step or a verify."""
        return self.weights + self.kv

    @property
    def draft(self) -> int:
        """A draft step."""
        return self.weights + self.view

    @property
    def gather(self) -> int:
        """A refresh that copies every row of the view."""
        return 2 * self.view


def fraction(size: int, bandwidth: float, seconds: float) -> float:
    """The share of the memory's speed that a step reaches: 1 is the floor itself."""
    return size / bandwidth / seconds


def verify_seconds(measured: Mapping[int, float], k: int) -> float:
    """A verify of k drafts, on the straight line between the two measured lengths beside it."""
    below, above = max(m for m in measured if m <= k), min(m for m in measured if m >= k)
    if below == above:
        return measured[below]
    share = (k - below) / (above - below)
    return measured[below] + share * (measured[above] - measured[below])


def tokens_a_round(acceptance: float, k: int) -> float:
    """Expected tokens of a round of k drafts, each accepted with that chance if those before it are (Eq. 1)."""
    return (1 - acceptance ** (k + 1)) / (1 - acceptance)


@dataclass(frozen=True)
class Best:
    """The draft length with the highest rate, and its rate over that of plain steps."""

    k: int
    speedup: float


def best_speedup(
    acceptance: float, baseline: float, draft: float, verify: Mapping[int, float], fixed: float = 0.0
) -> Best:
    """Over steps of `baseline` seconds; `fixed`: seconds of a round for refresh and controller."""
    options = [
        Best(k, tokens_a_round(acceptance, k) * baseline / (k * draft + verify_seconds(verify, k) + fixed))
        for k in range(1, LONGEST + 1)
    ]
    return max(options, key=lambda option: option.speedup)
