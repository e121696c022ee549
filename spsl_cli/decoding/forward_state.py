"""What every layer needs to know of the forward under way, and what a forward leaves behind for the attention mass."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import torch

from spsl_cli.decoding.attention import band_mask


class Mode(Enum):
    """What the forward under way reads and writes: the dense cache, or the sparse view."""

    DENSE = "dense"
    DRAFT = "draft"


@dataclass
class ForwardState:
    """Set once before a forward, read by every layer.

    sequences: which rows of the cache the batch rows of this forward are.
    starts: for each of them the position of its first token.
    slots: in a draft, for each of them the slot of the sparse view that its token is written to.
    rows: tokens of each row; what a forward runs behind them only fills its shape.
    keep: how many of the last query rows are kept for the attention mass (0: none).
    mass: whether the attention computes their mass at once, where it can; it will be wanted soon.
    align: keys are read in whole blocks of so many, those out of sight masked (1: just what is seen).
    """

    mode: Mode = Mode.DENSE
    sequences: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    slots: tuple[int, ...] = ()
    rows: int = 0
    keep: int = 0
    mass: bool = False
    align: int = 1
    _masks: dict[tuple[int | torch.device, ...], torch.Tensor] = field(default_factory=dict)

    def enter(self, other: ForwardState) -> None:
        """Become `other`: all layers hold one object, whose values change from forward to forward."""
        vars(self).update(vars(other))

    def mask(
        self, rows: int, keys: int, window: int | None, groups: int, like: torch.Tensor, beyond: int = 0
    ) -> torch.Tensor:
        """`band_mask` in the type and on the device of `like`; layers of the same shape there share one."""
        shape = (rows, keys, window or 0, groups, beyond, like.device)
        if shape not in self._masks:
            self._masks[shape] = band_mask(rows, keys, window, groups, like.dtype, like.device, beyond=beyond)
        return self._masks[shape]


@dataclass
class PendingQueries:
    """Queries that are not counted yet: query [Hq, w, D] and lse [Hkv, G, w] of positions end-w .. end-1.

    mass [w, H, n]: their attention mass, if it is known already.
    """

    query: torch.Tensor
    lse: torch.Tensor
    end: int
    mass: torch.Tensor | None = None

    def until(self, end: int) -> PendingQueries:
        """Without those at `end` and behind it."""
        return self._part(slice(0, self.query.shape[1] - max(0, self.end - end)), min(self.end, end))

    def last(self, count: int) -> PendingQueries:
        """The last `count` of them."""
        return self._part(slice(max(0, self.query.shape[1] - count), None), self.end)

    def followed_by(self, later: PendingQueries, window: int) -> PendingQueries:
        """The last `window` of these and those behind them; only the later where queries between were not kept."""
        if self.end != later.end - later.query.shape[1]:  # the mass takes queries to stand one behind the other
            return later.last(window)
        query, lse = torch.cat((self.query, later.query), 1), torch.cat((self.lse, later.lse), 2)
        return PendingQueries(query, lse, later.end).last(window)

    def _part(self, rows: slice, end: int) -> PendingQueries:
        mass = None if self.mass is None else self.mass[rows]
        return PendingQueries(self.query[:, rows], self.lse[:, :, rows], end, mass)
