"""The default controller: rates from measured costs and a learned chance of acceptance; plain decoding is a choice too.

A round of T seconds that gives each row E tokens is worth E - rate * T, `rate` being the tokens a second that a row has
anyway: by plain steps, or of late. The round of the highest worth is taken, and a draft goes on as long as its next
token is worth its time (for a ratio of sums that is the optimal rule: Dinkelbach 1967).

Never slower: what speculation has lost against plain steps, as measured, and would lose if no token of the next draft
stood, is bounded by `ALLOWED_LOSS`; so drafts are short at first, and as long as they like once they have won. A sparse
draft that would win only with better luck than expected is tried within `PROBING`; one that could not win with any luck
is not tried at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from spsl_cli.decoding.config import K_MAX
from spsl_cli.decoding.controllers.acceptance import SURE, OnlineLogistic, lookup_features, sparse_features
from spsl_cli.decoding.controllers.base import Drafted, Evidence, Plan, Source
from spsl_cli.decoding.costs import StepCosts

Chance = Callable[[int], float]
"""How likely the token at that depth of a draft stands, if those before it do."""

ALLOWED_LOSS = 0.01
"""Share of the time spent that rounds which ought to win may have lost."""

FIRST_LOSS = 0.5
"""And so many plain steps at the start: with 50 new tokens 1 % more."""

PROBING = 0.005
"""Share of the time spent that trials may risk."""

BEST_LUCK = 0.98
"""The chance of acceptance at which a sparse draft must win if it is to be tried at all."""

FADING = 0.9
"""Weight of what was seen, of rates and of typical evidence, after one more round or token."""

SPARSE_PRIOR = (2.7, -0.35, 0.75, 0.5, 0.3, -0.9, -5.9), (1.0, 0.3, 0.3, 0.3, 0.3, 0.3, 2.0)
LOOKUP_PRIOR = (-1.5, 1.6, 0.05), (0.8, 0.4, 0.2)
"""Weights and how far those of a text may lie from them, fitted on answers of the embedded model (docs/log.md)."""


class CalibratedController:
    """Decides by expected tokens and seconds."""

    def __init__(self, costs: StepCosts) -> None:
        self.costs = costs
        self.k_star = 0
        self.may_draft = True
        self.sparse, self.looked_up = OnlineLogistic(*SPARSE_PRIOR), OnlineLogistic(*LOOKUP_PRIOR)
        self.typical = Evidence(entropy=1.6, margin=2.8, coverage=0.94)
        self.lost = self.spent = 0.0
        self._tokens = self._seconds = 0.0  # of a row, fading
        self._was_sparse = False  # the round before

    @property
    def rate(self) -> float:
        """Tokens a second that a row has anyway."""
        plain = 1.0 / self.costs.plain_s
        return max(plain, self._tokens / self._seconds) if self._seconds else plain

    @property
    def affordable_s(self) -> float:
        """The longest round that loses no more than may be lost, should none of its drafts stand."""
        return (1.0 + FIRST_LOSS) * self.costs.plain_s + ALLOWED_LOSS * self.spent - self.lost

    def _could_take(self, drafted: int, draft_steps: int) -> float:
        """The seconds of a round, with what it costs to begin with sparse drafts."""
        begins = draft_steps > 0 and not self._was_sparse
        return self.costs.total_s(drafted, draft_steps) + (self.costs.entry_s if begins else 0.0)

    def plan(self, matches: Sequence[int], rooms: Sequence[int]) -> Plan:
        """The round of the highest worth."""
        plain = (1.0 - self.rate * self.costs.plain_s, Plan(Source.PLAIN))
        lookup, sparse = plain, self._best(Source.SPARSE, [self._expected] * len(rooms), rooms)
        if any(matches):
            lookup = self._best(Source.LOOKUP, [partial(self._looked_up, match) for match in matches], rooms)
        lucky = self._best(Source.SPARSE, [_lucky] * len(rooms), rooms)
        self.may_draft = lucky[0] > plain[0]
        _, chosen = max(plain, lookup, sparse, key=lambda option: option[0])
        risk = self._could_take(1, 1) - self.costs.plain_s
        if chosen.source is Source.PLAIN and self.may_draft and risk < PROBING * self.spent - self.lost:
            chosen = Plan(Source.SPARSE, 1)
        self.k_star = chosen.length
        return chosen

    def _expected(self, depth: int) -> float:
        """The chance of a sparse draft's token at that depth, if those before it stand."""
        return self.sparse.probability(sparse_features(self.typical, depth))

    def _looked_up(self, match: int, depth: int) -> float:
        """The same of a looked-up one, behind a match of that length; none behind no match."""
        return self.looked_up.probability(lookup_features(match, depth)) if match else 0.0

    def _best(self, source: Source, chances: Sequence[Chance], rooms: Sequence[int]) -> tuple[float, Plan]:
        """The length of the highest worth, given each row's chances of acceptance, token by token.

        None that could lose more than is left to lose.
        """
        rate, rows, sparse, affordable = self.rate, len(rooms), source is Source.SPARSE, self.affordable_s
        standing, tokens = [1.0] * rows, float(rows)
        best = (float("-inf"), Plan(Source.PLAIN))
        for k in range(1, min(K_MAX, max(rooms)) + 1):
            if self._could_take(k, k if sparse else 0) > affordable:
                break
            for row, chance in enumerate(chances):
                standing[row] *= chance(k - 1) if k <= rooms[row] and standing[row] else 0.0
            tokens += sum(standing)
            seconds = self.costs.total_s(k, k if sparse else 0)
            worth = tokens / rows - rate * seconds
            if worth > best[0]:
                best = (worth, Plan(source, k))
        return best

    def guesses(self, match: int, most: int) -> int:
        """As many as are worth their row: each that stands saves a draft step."""
        chance = 1.0
        for i in range(most):
            chance *= self.looked_up.probability(lookup_features(match, i))
            if chance * self.costs.draft_s <= self.costs.row_s:
                return i
        return most

    def wants_more(self, drafted: Drafted) -> bool:
        """As long as the next token, if all before it stand, is worth a draft step and its row in the verify."""
        if not all(drafted):
            return True
        gain = 0.0
        for row in drafted:
            standing = self.sparse.probability(sparse_features(self.typical, len(row)))
            for depth, evidence in enumerate(row):
                standing *= self.sparse.probability(sparse_features(evidence, depth))
            gain += standing
        shortest = min(map(len, drafted))
        longest = K_MAX if self.costs.draft_is_known else 1  # one step shows what they cost
        more = (
            shortest < longest
            and gain / len(drafted) > self.rate * (self.costs.draft_s + self.costs.row_s)
            and self._could_take(shortest + 1, shortest + 1) <= self.affordable_s
        )
        self.k_star = shortest + more
        return more

    def observe(self, source: Source, draft: Sequence[Evidence], accepted: int) -> None:
        """Learn from every token whose predecessors all stood."""
        for depth, evidence in enumerate(draft[: accepted + 1]):
            stood = depth < accepted
            if source is Source.LOOKUP:
                self.looked_up.observe(lookup_features(evidence.match, depth), stood)
                continue
            self.sparse.observe(sparse_features(evidence, depth), stood)
            self.typical = Evidence(
                FADING * self.typical.entropy + (1 - FADING) * evidence.entropy,
                FADING * self.typical.margin + (1 - FADING) * min(evidence.margin, SURE),
                0,
                FADING * self.typical.coverage + (1 - FADING) * evidence.coverage,
            )

    def account(self, plan: Plan, rows: int, tokens: int, seconds: float) -> None:
        """Rates and losses."""
        self._tokens = FADING * self._tokens + tokens / rows
        self._seconds = FADING * self._seconds + seconds
        self.spent += seconds
        self._was_sparse = plan.source is Source.SPARSE
        if plan.source is not Source.PLAIN:
            self.lost += seconds - tokens / rows * self.costs.plain_s


def _lucky(_depth: int) -> float:
    return BEST_LUCK
