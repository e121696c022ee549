"""SnapKV (Li et al. 2024, arXiv 2404.14469), as MagicDec drafts with it: the prompt's positions are chosen once.

The last W queries of the prompt vote; votes are pooled over neighbours, so that what stands around an important
position is kept too. Generated positions join the view as they come and, the budget being what it is, push out the
least voted-for.
"""

from __future__ import annotations

import torch
from torch.nn.functional import max_pool1d

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.policies.base import Counted, IndexPolicy
from spsl_cli.decoding.sparse_index import Budget

POOLING = 7
"""Neighbours pooled, as in the authors' configurations."""


class SnapKV(IndexPolicy):
    """A ranking of the prompt's positions for every layer, KV head and sequence, made at the first draft."""

    counts = Counted.PROMPT

    def __init__(self, config: DecodeConfig, layers: int = 1) -> None:
        super().__init__(config, layers)
        self._rankings: dict[tuple[int, int], torch.Tensor] = {}

    def layer_budget(self, layer: int, length: int) -> Budget:  # noqa: ARG002 all layers are alike here
        """How many positions of each group in this layer."""
        return self.budget(length)

    def select(self, layer: int, sequence: int, scores: torch.Tensor) -> torch.Tensor:
        """Scores [Hkv, length] (only the first ones count) -> [Hkv, total of the layer's budget]."""
        heads, length = scores.shape
        budget = self.layer_budget(layer, length)
        ranking = self._rankings.get((layer, sequence))
        if ranking is None:
            votes = max_pool1d(scores[:, : length - budget.recent], POOLING, stride=1, padding=POOLING // 2)
            ranking = self._rankings[layer, sequence] = votes.argsort(dim=1, descending=True)
        latest = min(budget.total, length - ranking.shape[1])
        always = torch.arange(length - latest, length, device=scores.device).expand(heads, -1)
        return torch.cat((ranking[:, : budget.total - latest], always), dim=1)
