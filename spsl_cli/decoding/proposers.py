"""Where drafts come from. So far one proposer: the target model itself, over the sparse view of its cache."""

from __future__ import annotations

import torch

from spsl_cli.decoding.chooser import Choice, Chooser
from spsl_cli.decoding.controller import Controller
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.target import TargetModel


class SparseSelfDraft:
    """Drafts one token a forward, reading the gathered rows and those that this draft has written."""

    def __init__(self, target: TargetModel, cache: DecoderCache) -> None:
        self.target = target
        self.cache = cache

    def propose(
        self, sequence: int, pending: int, limit: int, controller: Controller, chooser: Chooser
    ) -> tuple[Choice, ...]:
        """Up to `limit` tokens behind the pending one, as many as the controller wants.

        The controller sees entropies only, never the tokens drawn: a token once drawn stays in the draft.
        """
        token, drafts = pending, list[Choice]()
        while len(drafts) < limit and controller.wants_more([draft.entropy for draft in drafts]):
            ids = torch.tensor([[token]], device=self.target.device)
            logits = self.target.draft_forward(self.cache, ids, (sequence,), len(drafts))
            drafts.append(chooser.choose(logits[0, -1], [draft.token for draft in drafts]))
            token = drafts[-1].token
        return tuple(drafts)
