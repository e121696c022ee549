"""The round of SparseSpec-L: refresh the view, draft over it, verify over the whole cache, commit what stands.

T committed positions have exact rows 0 .. T-1 in the dense cache. The pending token (position T) is decided, its row is
not written yet. Verifying `pending, d1 .. dk` writes rows T .. T+k; with m drafts accepted the first m+1 of them are
committed, the rest is left behind by length alone, and the target's own choice after d_m becomes the pending token.
"""

from __future__ import annotations

from typing import Any

import torch

from spsl_cli.decoding.chooser import Choice
from spsl_cli.decoding.controller import make_controller
from spsl_cli.decoding.counters import RoundTimes
from spsl_cli.decoding.loop import DecodingLoop
from spsl_cli.decoding.proposers import SparseSelfDraft
from spsl_cli.decoding.refresh import count_mass, refresh_view
from spsl_cli.decoding.sparse_index import Budget
from spsl_cli.events import Draft, Event, TokenKind, Tokens, Verify

PLAIN_STEPS = 3
"""Rounds without a draft at the start of a run: they lose nothing and time what a plain step costs."""


class SpeculativeLoop(DecodingLoop):
    """Decodes round by round; the same tokens as the plain loop."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.controller = make_controller(self.config, self.costs)
        self.proposer = SparseSelfDraft(self.target, self.cache)

    def round(self) -> tuple[Event, ...]:
        """One round; at least one token enters the output. Returns what happened."""
        pending, times, start = self.output.token_ids[-1], RoundTimes(), self._now()
        drafts = self._draft(pending, times)
        tokens = [draft.token for draft in drafts]

        inputs = torch.tensor([[pending, *tokens]], device=self.target.device)
        logits = self.target.dense_forward(self.cache, inputs, (self.sequence,), keep=inputs.shape[1])
        accepted, bonus = self.chooser.verify(drafts, logits[0])  # row i judges draft i+1, the last gives the bonus

        taken = self.output.take([*tokens[:accepted], bonus])
        self.chooser.note(self.output.token_ids[-taken:])
        self.cache.commit(self.sequence, taken, self.config.window)
        times.verify = self._now() - start - times.total
        return self._account(drafts, accepted, taken, times)

    def _draft(self, pending: int, times: RoundTimes) -> tuple[Choice, ...]:
        """Draft over a view that holds everything committed so far; nothing where only one token is left to come."""
        limit = self.output.remaining - 1
        if limit == 0 or self.counters.k_histogram[0] < PLAIN_STEPS:
            return ()
        start = self._now()
        count_mass(self.cache, self.sequence)
        counted = self._now()
        refresh_view(self.cache, self.sequence, Budget.resolve(self.config, self.cache.lengths[self.sequence]))
        refreshed = self._now()
        drafts = self.proposer.propose(self.sequence, pending, limit, self.controller, self.chooser)
        times.mass, times.refresh, times.draft = counted - start, refreshed - counted, self._now() - refreshed
        return drafts

    def _account(self, drafts: tuple[Choice, ...], accepted: int, taken: int, times: RoundTimes) -> tuple[Event, ...]:
        """Teach the controller, count, and tell."""
        drafted, kept = len(drafts), min(accepted, taken)
        new = tuple(self.output.token_ids[-taken:])
        self.counters.add_round(drafted, kept, taken - kept, times)
        if not drafted:
            self.costs.observe_plain(times.verify)
            return (Tokens(new, (TokenKind.PLAIN,)),)
        entropies = tuple(draft.entropy for draft in drafts)
        self.controller.observe(entropies, accepted)
        self.costs.observe_round(drafted, times.draft, times.total - times.draft)
        kinds = (TokenKind.ACCEPTED,) * kept + (TokenKind.BONUS,) * (taken - kept)
        return (
            Draft(tuple(draft.token for draft in drafts), entropies, self.controller.k_star),
            Verify(drafted, kept, new[-1] if taken > kept else None),
            Tokens(new, kinds),
        )
