"""What controllers share that draft every round: lookup is a matter of match lengths alone, and nothing is weighed."""

from __future__ import annotations

from collections.abc import Sequence

from spsl_cli.decoding.controllers.base import Plan, Source

LONG_MATCH = 8
"""A match of so many tokens goes straight to the verify; a shorter one is left to the sparse model to check."""


class AlwaysDrafting:
    """Drafts every round; with lookup on, from earlier text where every row has a long match."""

    may_draft = True
    k_star: int

    def plan(self, matches: Sequence[int], rooms: Sequence[int]) -> Plan:  # noqa: ARG002 all rooms are alike to it
        """Lookup for long matches, else the sparse draft."""
        if min(matches) >= LONG_MATCH:
            return Plan(Source.LOOKUP, self.lookup_length)
        return Plan(Source.SPARSE, self.k_star)

    @property
    def lookup_length(self) -> int:
        """How many tokens are looked up for the verify."""
        return self.k_star

    def guesses(self, match: int, most: int) -> int:  # noqa: ARG002 any match is worth it
        """All of them."""
        return most

    def account(self, plan: Plan, rows: int, tokens: int, seconds: float) -> None:
        """Nothing to learn from times."""
