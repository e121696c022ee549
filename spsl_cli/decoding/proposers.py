"""Where drafts come from. So far one proposer: the target model itself, over the sparse view of its cache."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from spsl_cli.decoding.chooser import Choice
from spsl_cli.decoding.controller import Controller
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.row import Row
from spsl_cli.decoding.target import TargetModel

Drafts = list[list[Choice]]
"""For each row its drafted tokens in order, as many for each."""


class SparseSelfDraft:
    """Drafts one token of every row a forward, reading the gathered rows and those that this draft has written."""

    def __init__(self, target: TargetModel, cache: DecoderCache) -> None:
        self.target = target
        self.cache = cache

    def propose(self, rows: Sequence[Row], limit: int, controller: Controller) -> Drafts:
        """Up to `limit` tokens behind each pending one, as many as the controller wants.

        The controller sees entropies only, never the tokens drawn: a token once drawn stays in the draft.
        """
        sequences = tuple(row.sequence for row in rows)
        drafts: Drafts = [[] for _ in rows]
        tokens = [row.pending for row in rows]
        for depth in range(limit):
            if not controller.wants_more([[choice.entropy for choice in draft] for draft in drafts]):
                break
            ids = torch.tensor(tokens, device=self.target.device)[:, None]
            logits = self.target.draft_forward(self.cache, ids, sequences, depth)
            for row, draft, behind in zip(rows, drafts, logits, strict=True):
                draft.append(row.chooser.choose(behind[-1], [choice.token for choice in draft]))
            tokens = [draft[-1].token for draft in drafts]
        return drafts
