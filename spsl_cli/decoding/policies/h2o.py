"""H2O (Zhang et al. 2023, arXiv 2306.14048): heavy hitters, by the attention of all queries, and recent positions.

As in the paper: a position's score is the sum of the attention of every query there was, those of the prompt too, and
nothing is forgotten; half of the budget goes to the highest scores and half to the last positions. Ours: the sum is
taken over the query heads that share a KV head; attention is that over the whole cache, and a position that falls out
of a view may come back, where H2O drops it for good.

The prompt's queries are not kept by the prefill: a second pass computes them (see `prompt_mass`).
"""

from __future__ import annotations

from spsl_cli.decoding.policies.base import Counted, IndexPolicy
from spsl_cli.decoding.sparse_index import Budget


class HeavyHitters(IndexPolicy):
    """Top-K by the sum over all queries, and the recent half."""

    counts = Counted.EVERY

    def budget(self, length: int) -> Budget:
        """Heavy hitters and recent positions in equal parts, no sink."""
        total = super().budget(length).total
        return Budget(0, total - total // 2, total // 2)
