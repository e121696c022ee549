"""Prompt lookup alone (A. Saxena 2023): drafts come from earlier text or not at all; the sparse model never runs."""

from __future__ import annotations

from collections.abc import Sequence

from spsl_cli.decoding.controllers.base import Drafted, Evidence, Plan, Source

LENGTH = 10
"""Tokens looked up a round, as many as Hugging Face's documentation proposes."""


class LookupOnlyController:
    """Looks up `LENGTH` tokens wherever a row has a match of two tokens or more; otherwise one plain step."""

    may_draft = False

    def __init__(self) -> None:
        self.k_star = 0

    def plan(self, matches: Sequence[int], rooms: Sequence[int]) -> Plan:
        """Lookup, if any row with room has a match."""
        found = any(match and room for match, room in zip(matches, rooms, strict=True))
        self.k_star = LENGTH if found else 0
        return Plan(Source.LOOKUP, LENGTH) if found else Plan(Source.PLAIN)

    def guesses(self, match: int, most: int) -> int:  # noqa: ARG002 there is no sparse model to check any
        """None."""
        return 0

    def wants_more(self, drafted: Drafted) -> bool:  # noqa: ARG002 as above
        """Never: nothing is drafted."""
        return False

    def observe(self, source: Source, draft: Sequence[Evidence], accepted: int) -> None:
        """Nothing to learn."""

    def account(self, plan: Plan, rows: int, tokens: int, seconds: float) -> None:
        """Nothing to learn from times."""
