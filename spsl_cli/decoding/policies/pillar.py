"""PillarAttn of SparseSpec (Zhao et al. 2025, arXiv 2512.01278): the highest scores of the last verification.

A KV head's scores are averaged over its query heads and all k+1 queries of the verification, rejected ones too; nothing
is set aside for sink or recent positions. It goes with a fixed k.
"""

from __future__ import annotations

from spsl_cli.decoding.config import K_MAX
from spsl_cli.decoding.policies.base import Counted, IndexPolicy
from spsl_cli.decoding.sparse_index import Budget


class Pillar(IndexPolicy):
    """Top-K over all positions by the last verification alone."""

    counts = Counted.LAST_VERIFY

    @property
    def window(self) -> int:
        """The longest verification."""
        return K_MAX + 1

    def budget(self, length: int) -> Budget:
        """All of it important positions."""
        return Budget(0, super().budget(length).total, 0)
