"""Vegas (Yue et al. 2026, arXiv 2602.07223), as far as its index goes: one for each layer, averaged over the heads."""

from __future__ import annotations

import torch

from spsl_cli.decoding.policies.base import IndexPolicy
from spsl_cli.decoding.sparse_index import select_positions


class Vegas(IndexPolicy):
    """All heads of a layer read the same positions."""

    def select(self, layer: int, sequence: int, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        """Scores [Hkv, length] -> [Hkv, budget.total], every row the same."""
        chosen = select_positions(scores.mean(0, keepdim=True), self.budget(scores.shape[1]))
        return chosen.expand(scores.shape[0], -1)
