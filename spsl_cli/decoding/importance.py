"""Importance of positions: attention mass of the last committed queries, per head (Eq. 3).

Knows rows of mass, not where they come from.
"""

from __future__ import annotations

from typing import Protocol

import torch

from spsl_cli.native import index


class Importance(Protocol):
    """S of one layer for every sequence."""

    def add(self, sequence: int, mass: torch.Tensor) -> None:
        """Take in rows of mass [w, H, n], oldest first."""
        ...

    def scores(self, sequence: int, length: int) -> torch.Tensor:
        """S over the first `length` positions: [H, length], float32."""
        ...

    def clear(self, sequence: int) -> None:
        """Forget every row of this sequence."""
        ...


class ImportanceWindow:
    """The sum over exactly the last W queries, as Eq. 3 has it: a ring of W rows of mass, and their running sum.

    The ring is float16 (mass lies in [0, G], and only its order matters), a W/4D share of a float32 dense cache. The
    sum adds and takes away exactly what the ring holds.
    """

    def __init__(self, sequences: int, window: int, heads: int, capacity: int, device: torch.device) -> None:
        self.window = window
        self.ring = torch.zeros(sequences, window, heads, capacity, dtype=torch.float16, device=device)
        self.total = torch.zeros(sequences, heads, capacity, dtype=torch.float32, device=device)
        self._next = [0] * sequences

    def add(self, sequence: int, mass: torch.Tensor) -> None:
        """Take in rows of mass [w, H, n], oldest first; of more than W only the last W count."""
        mass = mass[-self.window :].to(torch.float16)
        rows, _, keys = mass.shape
        slots = torch.tensor([(self._next[sequence] + i) % self.window for i in range(rows)], device=mass.device)
        ring = self.ring[sequence]
        total = self.total[sequence]
        total -= ring[slots].sum(0, dtype=torch.float32)
        total[:, :keys] += mass.sum(0, dtype=torch.float32)
        ring[slots, :, :keys] = mass
        self._next[sequence] = int(slots[-1] + 1) % self.window

    def scores(self, sequence: int, length: int) -> torch.Tensor:
        """S over the first `length` positions: [H, length], float32."""
        return self.total[sequence, :, :length]

    def clear(self, sequence: int) -> None:
        """Forget every row of this sequence."""
        self.ring[sequence].zero_()
        self.total[sequence].zero_()
        self._next[sequence] = 0


class DecayedImportance:
    """A sum that forgets a (1/W)th with every query: one row of memory instead of W + 1."""

    def __init__(self, sequences: int, window: int, heads: int, capacity: int, device: torch.device) -> None:
        self.decay = 1.0 - 1.0 / window
        self.total = torch.zeros(sequences, heads, capacity, dtype=torch.float32, device=device)

    def add(self, sequence: int, mass: torch.Tensor) -> None:
        """Take in rows of mass [w, H, n], oldest first."""
        rows, _, keys = mass.shape
        if index.takes(self.total, mass):
            index.decayed_sum(self.total[sequence], mass, self.decay)
            return
        weights = self.decay ** torch.arange(rows - 1, -1, -1, dtype=mass.dtype, device=mass.device)
        total = self.total[sequence]
        total *= self.decay**rows
        total[:, :keys] += torch.einsum("w,whn->hn", weights, mass)

    def scores(self, sequence: int, length: int) -> torch.Tensor:
        """S over the first `length` positions: [H, length], float32."""
        return self.total[sequence, :, :length]

    def clear(self, sequence: int) -> None:
        """Forget every row of this sequence."""
        self.total[sequence].zero_()


class SummedImportance(DecayedImportance):
    """The sum over all queries there were: nothing is forgotten."""

    def __init__(self, sequences: int, window: int, heads: int, capacity: int, device: torch.device) -> None:
        super().__init__(sequences, window, heads, capacity, device)
        self.decay = 1.0


def make_importance(
    sequences: int,
    window: int,
    heads: int,
    capacity: int,
    device: torch.device,
    *,
    decayed: bool = False,
    summed: bool = False,
) -> Importance:
    """The exact window, the decayed sum, or the sum over everything."""
    kind = SummedImportance if summed else DecayedImportance if decayed else ImportanceWindow
    return kind(sequences, window, heads, capacity, device)
