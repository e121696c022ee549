"""What an index policy is: it says whose attention counts, and picks positions by it."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

import torch

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.sparse_index import Budget, select_positions


class Counted(Enum):
    """Whose attention mass makes up the importance of a position."""

    NOTHING = "none: positions are chosen by place"
    PROMPT = "the last W queries of the prompt"
    COMMITTED = "the last W committed queries"
    LAST_VERIFY = "all queries of the last dense forward, those of rejected drafts too"


class IndexPolicy:
    """Chooses the positions of every layer, head and sequence of one decoding.

    `per_query_head`: every query head has an index and a view of its own, instead of every KV head.
    """

    counts: ClassVar[Counted] = Counted.COMMITTED
    per_query_head: ClassVar[bool] = False

    def __init__(self, config: DecodeConfig) -> None:
        self.config = config

    @property
    def window(self) -> int:
        """How many queries the importance looks back over; 0 where there is no importance."""
        return 0 if self.counts is Counted.NOTHING else self.config.window

    def budget(self, length: int) -> Budget:
        """How many positions of each group at `length` committed ones."""
        return Budget.resolve(self.config, length)

    def select(self, layer: int, sequence: int, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002 some remember
        """Positions [H, budget.total] int64 by importance [H, length]; in each row all different."""
        return select_positions(scores, self.budget(scores.shape[1]))
