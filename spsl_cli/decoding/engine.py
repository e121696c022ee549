"""The round of SparseSpec-L: refresh the view, draft over it, verify over the whole cache, commit what stands.

T committed positions have exact rows 0 .. T-1 in the dense cache. The pending token (position T) is decided, its row is
not written yet. Verifying `pending, d1 .. dk` writes rows T .. T+k; with m drafts accepted the first m+1 of them are
committed, the rest is left behind by length alone, and the target's own choice after d_m becomes the pending token.

A round may as well take its drafts from earlier text, or draft nothing: the controller plans it. The rows of a batch
have one plan; each has its own T, accepts its own m, and leaves when its output ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spsl_cli.decoding.controllers import Plan, Source, make_controller
from spsl_cli.decoding.costs import PresumedCosts, StepCosts
from spsl_cli.decoding.counters import RoundTimes
from spsl_cli.decoding.loop import DecodingLoop
from spsl_cli.decoding.policies import Counted, IndexPolicy, make_policy
from spsl_cli.decoding.proposers import Drafts, SparseSelfDraft, filled_up, look_up
from spsl_cli.decoding.refresh import can_be_extended, count_mass, drop_waiting, extend_view, refresh_view
from spsl_cli.decoding.row import Row
from spsl_cli.events import Draft, Event, TokenKind, Tokens, Verify

PLAIN_STEPS = 3
"""Rounds without a draft at the start of a run: they lose nothing and time what a plain step costs."""

MASS_ROWS = 9
"""Tokens in a verify up to which their mass is held until it is counted: 0.8 % of the dense cache each, with 3 KV heads
of 64. Of more the queries are held, and the mass is computed when it is counted."""


class SpeculativeLoop(DecodingLoop):
    """Decodes round by round; the same tokens as the plain loop."""

    drafts = True

    def __init__(self, *arguments: Any, views_by: IndexPolicy | None = None) -> None:
        """As every loop; `views_by`: the policy that has chosen first views from the prompts already."""
        super().__init__(*arguments)
        self._has_views = views_by is not None
        self.policy = views_by or make_policy(self.config, len(self.cache.drafting_layers))
        self._view_drafts = 0  # how many drafts the views have served since they were made
        self.costs = StepCosts(self._presumed_costs())
        self._was_sparse = False  # the round before
        # Measured costs differ from run to run, and with them draft lengths and so the throws of the dice: where tokens
        # are drawn, the controller is left to what it presumes, and a seed gives the same tokens.
        self._timed = all(row.greedy for row in self.rows)
        self.believed = self.costs if self._timed else StepCosts(self.costs.presumed, settled=True)
        self.controller = make_controller(self.config, self.believed)
        self.proposer = SparseSelfDraft(self.target, self.cache, self.steps)

    def round(self, rows: Sequence[Row]) -> list[Event]:
        """One round of these rows; returns what happened."""
        times, start = RoundTimes(), self._now()
        plan = self._plan(rows)
        drafts = self._draft(rows, plan, times)
        lines = zip(rows, drafts, strict=True)
        inputs = filled_up([[row.pending, *(token.token for token in draft)] for row, draft in lines])
        keep, mass = len(inputs[0]) if self._keeps(plan) else 0, self._wants_mass(plan, len(inputs[0]))
        logits = self.dense(rows, inputs, keep=keep, mass=mass)
        results = []
        for row, draft, behind in zip(rows, drafts, logits, strict=True):
            choices = [token.choice for token in draft]
            accepted, bonus = row.chooser.verify(choices, behind[: len(draft) + 1])  # row i judges draft i+1
            taken = row.take([*(choice.token for choice in choices[:accepted]), bonus])
            self.cache.commit(
                row.sequence, taken, self.config.window, with_rejected=self.policy.counts is Counted.LAST_VERIFY
            )
            results.append((accepted, taken))
        times.verify = self._now() - start - times.total
        if self.policy.counts is Counted.EVERY:  # before later queries push these out
            for row in rows:
                count_mass(self.cache, row.sequence, self.policy)
            times.mass += self._now() - start - times.total
        return self._account(rows, plan, drafts, results, times)

    def _presumed_costs(self) -> PresumedCosts:
        lengths = [self.cache.lengths[row.sequence] for row in self.rows]
        share = sum(self.policy.budget(length).total for length in lengths) / sum(lengths)
        kv = self.cache.position_bytes * sum(lengths)
        target = self.target
        return PresumedCosts.by_bytes(
            target.weight_bytes, kv, share, target.device.type,
            layers=target.layer_count, viewed=self._has_views, arithmetic=target.dense_bytes, sequences=len(self.rows),
        )  # fmt: skip

    def _keeps(self, plan: Plan) -> bool:
        """Whether the queries of this forward may count for a later index."""
        counts = self.policy.counts
        if counts is Counted.EVERY:
            return True
        if counts in (Counted.NOTHING, Counted.PROMPT) or not self.controller.may_draft:
            return False
        return plan.source is Source.SPARSE or not (self._economises and self._has_views)

    @property
    def _economises(self) -> bool:
        """Whether the queries of rounds without a draft are left out, once there are views.

        Such rounds leave no attention mass, and to count their queries would be a pass over all keys for each. A draft
        behind them goes by the view that is there, with what was committed since; its verify will know more.
        """
        return self.config.is_economical and self.policy.counts is Counted.COMMITTED

    def _wants_mass(self, plan: Plan, inputs: int) -> bool:
        """Whether their mass is likely to be counted in the next round, and little enough to be held until then."""
        soon = plan.source is Source.SPARSE and self.config.refresh_every == 1
        soon = self.policy.counts_mass and (soon or self.policy.counts is Counted.EVERY)
        return self._keeps(plan) and soon and inputs <= MASS_ROWS

    def _plan(self, rows: Sequence[Row]) -> Plan:
        """What to do; nothing is drafted at the start, nor where only one token is left to come."""
        rooms = [row.room for row in rows]
        if max(rooms) == 0 or rows[0].counters.k_histogram[0] < PLAIN_STEPS:
            return Plan(Source.PLAIN)
        matches = [row.looked_up() for row in rows]
        return self.controller.plan([match.length if match else 0 for match in matches], rooms)

    def _draft(self, rows: Sequence[Row], plan: Plan, times: RoundTimes) -> Drafts:
        """Drafts as planned; those of the sparse model over views that hold everything committed so far."""
        start = self._now()
        if plan.source is Source.PLAIN:
            return [[] for _ in rows]
        if plan.source is Source.LOOKUP:
            drafts = look_up(rows, plan.length)
            times.draft = self._now() - start
            return drafts
        resumes = self._economises and self._has_views and not self._was_sparse
        due = self._refresh_is_due(rows, resumes=resumes)
        for row in rows:
            if resumes:
                drop_waiting(self.cache, row.sequence)
            elif due:
                count_mass(self.cache, row.sequence, self.policy, self.config.counted if self._has_views else None)
        counted = self._now()
        for row in rows:
            if due:
                refresh_view(self.cache, row.sequence, self.policy)
            else:
                extend_view(self.cache, row.sequence)
        self._view_drafts = 1 if due else self._view_drafts + 1
        self._has_views = True
        refreshed = self._now()
        drafts, times.draft_steps = self.proposer.propose(rows, self.controller)
        times.mass, times.refresh, times.draft = counted - start, refreshed - counted, self._now() - refreshed
        return drafts

    def _refresh_is_due(self, rows: Sequence[Row], *, resumes: bool) -> bool:
        """After `refresh_every` drafts, and where a view has no room for what was committed since."""
        if not resumes and not 0 < self._view_drafts < self.config.refresh_every:
            return True
        return not all(can_be_extended(self.cache, row.sequence) for row in rows)

    def _account(
        self, rows: Sequence[Row], plan: Plan, drafts: Drafts, results: Sequence[tuple[int, int]], times: RoundTimes
    ) -> list[Event]:
        """Teach the controller, count, and tell."""
        longest = max(map(len, drafts))
        self._measure(longest, times)
        self._was_sparse = plan.source is Source.SPARSE
        seconds = times.total if self._timed else self.believed.total_s(longest, times.draft_steps)
        self.controller.account(plan, len(rows), sum(taken for _, taken in results), seconds)
        events: list[Event] = []
        for row, draft, (accepted, taken) in zip(rows, drafts, results, strict=True):
            drafted, kept = len(draft), min(accepted, taken)
            row.counters.add_round(drafted, kept, taken - kept, times, looked_up=plan.source is Source.LOOKUP)
            new = tuple(row.output.token_ids[-taken:])
            kinds = (TokenKind.ACCEPTED,) * kept + (TokenKind.BONUS if drafted else TokenKind.PLAIN,) * (taken - kept)
            if drafted:
                self.controller.observe(plan.source, [token.evidence for token in draft], accepted)
                tokens, entropies = zip(*((token.token, token.choice.entropy) for token in draft), strict=True)
                events.append(Draft(tokens, entropies, self.controller.k_star, row.sequence))
                events.append(Verify(drafted, kept, new[-1] if taken > kept else None, row.sequence))
            events.append(Tokens(new, kinds, row.sequence))
        return events

    def _measure(self, longest: int, times: RoundTimes) -> None:
        """What this round says about costs."""
        if not longest:
            self.costs.observe_plain(times.verify)
            return
        self.costs.observe_verify(longest, times.verify)
        if times.draft_steps:
            self.costs.observe_draft(times.draft_steps, times.draft)
            self.costs.observe_refresh(times.mass + times.refresh, first=not self._was_sparse)
