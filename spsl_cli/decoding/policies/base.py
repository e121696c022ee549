"""What an index policy is: it says whose attention counts, and picks positions by it."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

import torch

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.kv_cache import LayerCache
from spsl_cli.decoding.sparse_index import Budget, select_positions


class Counted(Enum):
    """Whose attention mass makes up the importance of a position."""

    NOTHING = "none: positions are chosen by place"
    PROMPT = "the last W queries of the prompt"
    COMMITTED = "the last W committed queries"
    LAST_VERIFY = "all queries of the last dense forward, those of rejected drafts too"
    EVERY = "all queries from the first of the prompt to the last committed one"
    LAST_QUERY = "none: the last committed query is held against the keys"


class IndexPolicy:
    """Chooses the positions of every layer, head and sequence of one decoding.

    `per_query_head`: every query head has an index and a view of its own, instead of every KV head. `layers`: how many
    layers have a view, for policies whose budget differs by layer.
    """

    counts: ClassVar[Counted] = Counted.COMMITTED
    per_query_head: ClassVar[bool] = False

    def __init__(self, config: DecodeConfig, layers: int = 1) -> None:
        self.config, self.layers = config, layers

    @property
    def counts_mass(self) -> bool:
        """Whether attention mass makes up the importance."""
        return self.counts not in (Counted.NOTHING, Counted.LAST_QUERY)

    @property
    def window(self) -> int:
        """How many queries the importance looks back over; 0 where there is no importance."""
        return self.config.window if self.counts_mass else 0

    def budget(self, length: int) -> Budget:
        """How many positions of each group at `length` committed ones; where layers differ, on average."""
        return Budget.resolve(self.config, length)

    def largest(self, length: int) -> int:
        """Positions in the largest view of a layer."""
        return self.budget(length).total

    def scores(self, layer: int, sequence: int, rows: LayerCache, length: int) -> torch.Tensor:  # noqa: ARG002 as `select`
        """What to choose by: [H, length] float32 for the layer that holds `rows`, number `layer` with a view."""
        if self.counts_mass:
            return rows.importance.scores(sequence, length)
        return rows.dense.keys.new_zeros(()).expand(rows.dense.keys.shape[1], length)

    def select(self, layer: int, sequence: int, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002 some remember
        """Positions [H, budget.total] int64 by scores [H, length]; in each row all different."""
        return select_positions(scores, self.budget(scores.shape[1]))
