"""The sparse view of a layer: copies of the rows that drafts read, and behind them those that a draft writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from spsl_cli.decoding import kernels as triton_kernels
from spsl_cli.native import index


class Rows(NamedTuple):
    """Keys and values of the same positions."""

    keys: torch.Tensor
    values: torch.Tensor


class SparseView:
    """Slots of every sequence: `rows` [B, slots, H, D], a slot's heads together, so that a draft reads front to back.

    H is Hkv, or Hq where every query head has an index of its own; head h has rows of KV head h // (H // Hkv).
    """

    def __init__(self, dense: Rows, slots: int, heads: int) -> None:
        shape = (dense.keys.shape[0], slots, heads)
        self.rows = Rows(*(store.new_empty(*shape, store.shape[-1]) for store in dense))
        sizes = {store.shape[-1] for store in dense}
        self._gather: Callable[..., None] | None = None
        if index.takes(*dense) and len(sizes) == 1:
            self._gather = index.gather
        elif triton_kernels.takes(*dense):
            self._gather = triton_kernels.gather
        self._positions = (  # of the gathered rows, where a kernel looks them up
            None if self._gather is None else dense.keys.new_empty(shape[0], heads, slots, dtype=torch.int64)
        )
        self._held = [0] * shape[0]

    def forget(self, sequence: int) -> None:
        """The dense rows of this sequence are no longer those that were gathered."""
        self._held[sequence] = 0

    def seen(self, sequence: int, end: int) -> Rows:
        """Slots 0 .. end-1: [H, end, D]."""
        return Rows(*(store[sequence, :end].transpose(0, 1) for store in self.rows))

    def gather(self, sequence: int, positions: torch.Tensor, dense: Rows) -> None:
        """Fill slots 0 .. n-1, in any order, with the rows at `positions` [H, n] of dense [Hkv, capacity, D] (Eq. 5).

        By a kernel only those that no slot holds yet are copied: few change from one refresh to the next.
        """
        count = positions.shape[1]
        view = Rows(*(store[sequence] for store in self.rows))
        if self._gather is not None and self._positions is not None:
            self._gather(dense, view, positions, self._positions[sequence], self._held[sequence])
            self._held[sequence] = count
            return
        (kv_heads, capacity, _), heads = dense.keys.shape, len(positions)
        owner = torch.arange(heads, device=positions.device) // (heads // kv_heads)
        flat = (positions + owner[:, None] * capacity).t().flatten()
        for store, target in zip(dense, view, strict=True):
            to = target[:count].view(count * heads, -1)
            torch.index_select(store.view(kv_heads * capacity, -1), 0, flat, out=to)

    def write(self, sequence: int, slot: int, rows: Rows) -> None:
        """Rows [Hkv, n, D] from this slot on, behind the gathered ones, for all view heads of a KV head."""
        for store, new in zip(self.rows, rows, strict=True):
            heads, count, size = new.shape
            written = store[sequence, slot : slot + count].view(count, heads, -1, size)
            written[:] = new.transpose(0, 1)[:, :, None]
