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
"""For each row its drafted tokens in order: as many for all, but for rows that have room for fewer."""


class SparseSelfDraft:
    """Drafts one token of every row a forward, reading the gathered rows and those that this draft has written."""

    def __init__(self, target: TargetModel, cache: DecoderCache) -> None:
        self.target = target
        self.cache = cache

    def propose(self, rows: Sequence[Row], controller: Controller) -> Drafts:
        """Tokens behind each pending one, as many as the controller wants, and for no row more than it has room for.

        The controller sees entropies only, never the tokens drawn: a token once drawn stays in the draft. A row that
        has enough is run on beside the others, but nothing is chosen for it.
        """
        sequences = tuple(row.sequence for row in rows)
        drafts: Drafts = [[] for _ in rows]
        tokens = [row.pending for row in rows]
        for depth in range(max(row.room for row in rows)):
            open_rows = [i for i, row in enumerate(rows) if row.room > depth]
            if not controller.wants_more([[choice.entropy for choice in drafts[i]] for i in open_rows]):
                break
            ids = torch.tensor(tokens, device=self.target.device)[:, None]
            logits = self.target.draft_forward(self.cache, ids, sequences, depth)
            for i in open_rows:
                choice = rows[i].chooser.choose(logits[i, -1], [choice.token for choice in drafts[i]])
                drafts[i].append(choice)
                tokens[i] = choice.token
        return drafts
