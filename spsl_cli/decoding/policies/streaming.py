"""StreamingLLM (Xiao et al. 2023, arXiv 2309.17453), as MagicDec drafts with it: sink and recent positions only."""

from __future__ import annotations

from spsl_cli.decoding.policies.base import Counted, IndexPolicy
from spsl_cli.decoding.sparse_index import Budget


class Streaming(IndexPolicy):
    """Positions by place; no attention mass is ever computed."""

    counts = Counted.NOTHING

    def budget(self, length: int) -> Budget:
        """The sink, and the rest recent."""
        whole = super().budget(length)
        return Budget(whole.sink, 0, whole.total - whole.sink)
