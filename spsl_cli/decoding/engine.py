"""The round of SparseSpec-L: refresh the view, draft over it, verify over the whole cache, commit what stands.

T committed positions have exact rows 0 .. T-1 in the dense cache. The pending token (position T) is decided, its row is
not written yet. Verifying `pending, d1 .. dk` writes rows T .. T+k; with m drafts accepted the first m+1 of them are
committed, the rest is left behind by length alone, and the target's own choice after d_m becomes the pending token.

The rows of a batch draft the same k; each has its own T, accepts its own m, and leaves when its output ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from spsl_cli.decoding.controller import make_controller
from spsl_cli.decoding.costs import StepCosts
from spsl_cli.decoding.counters import RoundTimes
from spsl_cli.decoding.loop import DecodingLoop
from spsl_cli.decoding.policies import Counted, make_policy
from spsl_cli.decoding.proposers import Drafts, SparseSelfDraft
from spsl_cli.decoding.refresh import count_mass, refresh_view
from spsl_cli.decoding.row import Row
from spsl_cli.events import Draft, Event, TokenKind, Tokens, Verify

PLAIN_STEPS = 3
"""Rounds without a draft at the start of a run: they lose nothing and time what a plain step costs."""


class SpeculativeLoop(DecodingLoop):
    """Decodes round by round; the same tokens as the plain loop."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # Measured costs differ from run to run, and with them draft lengths and so the throws of the dice: where tokens
        # are drawn, the controller is left to what it presumes, and a seed gives the same tokens.
        greedy = all(row.greedy for row in self.rows)
        self.controller = make_controller(self.config, self.costs if greedy else StepCosts())
        self.policy = make_policy(self.config)
        self.proposer = SparseSelfDraft(self.target, self.cache)

    def round(self, rows: Sequence[Row]) -> list[Event]:
        """One round of these rows; returns what happened."""
        times, start = RoundTimes(), self._now()
        drafts = self._draft(rows, times)
        inputs = self._inputs(rows, drafts)
        keep = 0 if self.policy.counts in (Counted.NOTHING, Counted.PROMPT) else inputs.shape[1]
        sequences = tuple(row.sequence for row in rows)
        logits = self.target.dense_forward(self.cache, inputs, sequences, keep=keep, strict=self.config.strict)

        results = []
        for row, draft, behind in zip(rows, drafts, logits, strict=True):
            accepted, bonus = row.chooser.verify(draft, behind[: len(draft) + 1])  # row i judges draft i+1
            taken = row.take([*(choice.token for choice in draft[:accepted]), bonus])
            self.cache.commit(
                row.sequence, taken, self.config.window, with_rejected=self.policy.counts is Counted.LAST_VERIFY
            )
            results.append((accepted, taken))
        times.verify = self._now() - start - times.total
        return self._account(rows, drafts, results, times)

    def _inputs(self, rows: Sequence[Row], drafts: Drafts) -> torch.Tensor:
        """Pending tokens and drafts [R, k+1]; a shorter row is filled up with its last token."""
        longest = max(map(len, drafts))
        lines = []
        for row, draft in zip(rows, drafts, strict=True):
            tokens = [row.pending, *(choice.token for choice in draft)]
            lines.append(tokens + tokens[-1:] * (longest - len(draft)))
        return torch.tensor(lines, device=self.target.device)

    def _draft(self, rows: Sequence[Row], times: RoundTimes) -> Drafts:
        """Draft over views that hold everything committed so far; nothing where only one token is left to come."""
        if max(row.room for row in rows) == 0 or rows[0].counters.k_histogram[0] < PLAIN_STEPS:
            return [[] for _ in rows]
        start = self._now()
        for row in rows:
            count_mass(self.cache, row.sequence, self.policy)
        counted = self._now()
        for row in rows:
            refresh_view(self.cache, row.sequence, self.policy)
        refreshed = self._now()
        drafts = self.proposer.propose(rows, self.controller)
        times.mass, times.refresh, times.draft = counted - start, refreshed - counted, self._now() - refreshed
        return drafts

    def _account(
        self, rows: Sequence[Row], drafts: Drafts, results: Sequence[tuple[int, int]], times: RoundTimes
    ) -> list[Event]:
        """Teach the controller, count, and tell."""
        longest = max(map(len, drafts))
        if longest:
            self.costs.observe_round(longest, times.draft, times.total - times.draft)
        else:
            self.costs.observe_plain(times.verify)
        events: list[Event] = []
        for row, draft, (accepted, taken) in zip(rows, drafts, results, strict=True):
            drafted, kept = len(draft), min(accepted, taken)
            row.counters.add_round(drafted, kept, taken - kept, times)
            new = tuple(row.output.token_ids[-taken:])
            kinds = (TokenKind.ACCEPTED,) * kept + (TokenKind.BONUS if drafted else TokenKind.PLAIN,) * (taken - kept)
            if drafted:
                entropies = tuple(choice.entropy for choice in draft)
                self.controller.observe(entropies, accepted)
                tokens = tuple(choice.token for choice in draft)
                events.append(Draft(tokens, entropies, self.controller.k_star, row.sequence))
                events.append(Verify(drafted, kept, new[-1] if taken > kept else None, row.sequence))
            events.append(Tokens(new, kinds, row.sequence))
        return events
