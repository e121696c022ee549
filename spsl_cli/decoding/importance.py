"""Importance of positions: attention mass of the last W committed queries, per KV head (Eq. 3).

Knows rows of mass, not where they come from. Rejected queries never get here, so a window always holds committed ones.
"""

from __future__ import annotations

import torch


class ImportanceWindow:
    """S of one layer for every sequence: a ring of the last W rows of mass, and their running sum.

    The ring is float16 (mass lies in [0, G], and only its order matters), a W/4D share of a float32 dense cache. The
    sum adds and takes away exactly what the ring holds.
    """

    def __init__(self, sequences: int, window: int, kv_heads: int, capacity: int, device: torch.device) -> None:
        self.window = window
        self.ring = torch.zeros(sequences, window, kv_heads, capacity, dtype=torch.float16, device=device)
        self.total = torch.zeros(sequences, kv_heads, capacity, dtype=torch.float32, device=device)
        self._next = [0] * sequences

    def add(self, sequence: int, mass: torch.Tensor) -> None:
        """Take in rows of mass [w, Hkv, n], oldest first; of more than W only the last W count."""
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
        """S over the first `length` positions: [Hkv, length], float32."""
        return self.total[sequence, :, :length]

    def clear(self, sequence: int) -> None:
        """Forget every row of this sequence."""
        self.ring[sequence].zero_()
        self.total[sequence].zero_()
        self._next[sequence] = 0
