"""From importance to the positions that a draft may read: sink, important and recent (Eq. 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from spsl_cli.decoding import kernels as triton_kernels
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.native import index


@dataclass(frozen=True)
class Budget:
    """How many positions of each group an index of `total` positions holds; the same for every layer and head."""

    sink: int
    important: int
    recent: int

    @property
    def total(self) -> int:
        """Positions in all (K_total of the paper)."""
        return self.sink + self.important + self.recent

    @classmethod
    def resolve(cls, config: DecodeConfig, length: int) -> Budget:
        """The budget at `length` committed positions.

        A share is rounded up. Where the budget is small, the recent positions take at most half of it and the sink at
        most a quarter, so that the important ones never vanish.
        """
        share = isinstance(config.budget, float)
        total = min(math.ceil(config.budget * length) if share else int(config.budget), length)
        recent = min(config.recent, total // 2)
        sink = min(config.sink, total // 4)
        return cls(sink, total - sink - recent, recent)


def select_positions(scores: torch.Tensor, budget: Budget) -> torch.Tensor:
    """Sink, the positions of highest score between, recent: [Hkv, length] scores -> [Hkv, budget.total] int64.

    The three groups are disjoint; within the important ones the order is not defined.
    """
    heads, length = scores.shape
    first, last = budget.sink, length - budget.recent
    positions = torch.empty(heads, budget.total, dtype=torch.int64, device=scores.device)
    positions[:, :first] = torch.arange(first, device=scores.device)
    positions[:, budget.total - budget.recent :] = torch.arange(last, length, device=scores.device)
    important = positions[:, first : first + budget.important]
    if index.takes(scores):
        index.largest(scores[:, first:last], budget.important, important, first)
    elif triton_kernels.takes(scores):
        triton_kernels.largest(scores[:, first:last], budget.important, important, first)
    else:
        important[:] = _top(scores[:, first:last], budget.important) + first
    return positions


def _top(scores: torch.Tensor, count: int) -> torch.Tensor:
    """Positions of the `count` highest scores of each row, in no order."""
    span = scores.shape[1]
    if count in (0, span):
        return torch.arange(count, device=scores.device).expand(scores.shape[0], -1)
    if scores.device.type == "cpu":  # introselect: a third of torch.topk's time at 30,000 positions
        order = np.argpartition(scores.numpy(), span - count, axis=1)
        return torch.from_numpy(order[:, span - count :])
    return torch.topk(scores, count, dim=1, sorted=False).indices
