"""Where drafts come from. So far one proposer: the target model itself, over the sparse view of its cache."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from spsl_cli.decoding.controller import Controller
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.target import TargetModel


@dataclass(frozen=True)
class Proposal:
    """Draft tokens in order, and the entropy (nats) of the distribution each was chosen from."""

    token_ids: tuple[int, ...] = ()
    entropies: tuple[float, ...] = ()


def greedy_with_entropy(logits: torch.Tensor) -> tuple[int, float]:
    """The likeliest token of logits [V] and the entropy of their softmax in nats, in one transfer from the device."""
    log_p = torch.log_softmax(logits.float(), dim=-1)
    entropy = -(log_p.exp() * log_p).nan_to_num(0.0).sum()
    token, nats = torch.stack((logits.argmax().double(), entropy.double())).tolist()
    return int(token), nats


class SparseSelfDraft:
    """Drafts greedily, one token a forward, reading the gathered rows and those that this draft has written."""

    def __init__(self, target: TargetModel, cache: DecoderCache) -> None:
        self.target = target
        self.cache = cache

    def propose(self, sequence: int, pending: int, limit: int, controller: Controller) -> Proposal:
        """Up to `limit` tokens behind the pending one, as many as the controller wants."""
        token = pending
        token_ids: list[int] = []
        entropies: list[float] = []
        while len(token_ids) < limit and controller.wants_more(entropies):
            ids = torch.tensor([[token]], device=self.target.device)
            logits = self.target.draft_forward(self.cache, ids, (sequence,), len(token_ids))
            token, entropy = greedy_with_entropy(logits[0, -1])
            token_ids.append(token)
            entropies.append(entropy)
        return Proposal(tuple(token_ids), tuple(entropies))
