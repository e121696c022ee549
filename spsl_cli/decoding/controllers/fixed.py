"""Drafts of one length, whatever comes of them."""

from __future__ import annotations

from collections.abc import Sequence

from spsl_cli.decoding.controllers.base import Drafted, Evidence, Plan, Source

LONG_MATCH = 8
"""A match of so many tokens goes straight to the verify; a shorter one is left to the sparse model to check."""


class FixedController:
    """Always k tokens. With lookup on, from earlier text where every row has a long match."""

    may_draft = True

    def __init__(self, k: int) -> None:
        self.k_star = k

    def plan(self, matches: Sequence[int], rooms: Sequence[int]) -> Plan:  # noqa: ARG002 all rooms are alike to it
        """Lookup for long matches, else the sparse draft."""
        return Plan(Source.LOOKUP if min(matches) >= LONG_MATCH else Source.SPARSE, self.k_star)

    def guesses(self, match: int, most: int) -> int:  # noqa: ARG002 any match is worth it
        """All of them."""
        return most

    def wants_more(self, drafted: Drafted) -> bool:
        """Until k are drafted in every row."""
        return min(map(len, drafted)) < self.k_star

    def observe(self, source: Source, draft: Sequence[Evidence], accepted: int) -> None:
        """Nothing to learn."""

    def account(self, plan: Plan, rows: int, tokens: int, seconds: float) -> None:
        """Nothing to learn."""
