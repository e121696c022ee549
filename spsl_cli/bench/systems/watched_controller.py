"""A draft-length controller whose time is measured. Decides nothing: whatever it is asked, it asks another one."""

from __future__ import annotations

import time
from collections.abc import Sequence

from spsl_cli.decoding.controllers import Controller, Drafted, Evidence, Plan, Source


class WatchedController:
    """Another controller, and the seconds it took: by `planning`, while `drafting`, and in `learning` from a round.

    The decoder counts the first to the verify, the second to the draft, and the third not at all.
    """

    def __init__(self, inner: Controller) -> None:
        self._inner = inner
        self.k_star, self.may_draft = inner.k_star, inner.may_draft
        self.planning = self.drafting = self.learning = 0.0

    def _follow(self, begun: float) -> float:
        """What the decoder reads is that of the controller inside; the seconds since `begun`."""
        self.k_star, self.may_draft = self._inner.k_star, self._inner.may_draft
        return time.perf_counter() - begun

    def plan(self, matches: Sequence[int], rooms: Sequence[int]) -> Plan:
        """As the controller inside."""
        begun = time.perf_counter()
        plan = self._inner.plan(matches, rooms)
        self.planning += self._follow(begun)
        return plan

    def guesses(self, match: int, most: int) -> int:
        """As the controller inside."""
        begun = time.perf_counter()
        guesses = self._inner.guesses(match, most)
        self.drafting += self._follow(begun)
        return guesses

    def wants_more(self, drafted: Drafted) -> bool:
        """As the controller inside."""
        begun = time.perf_counter()
        more = self._inner.wants_more(drafted)
        self.drafting += self._follow(begun)
        return more

    def observe(self, source: Source, draft: Sequence[Evidence], accepted: int) -> None:
        """As the controller inside."""
        begun = time.perf_counter()
        self._inner.observe(source, draft, accepted)
        self.learning += self._follow(begun)

    def account(self, plan: Plan, rows: int, tokens: int, seconds: float) -> None:
        """As the controller inside."""
        begun = time.perf_counter()
        self._inner.account(plan, rows, tokens, seconds)
        self.learning += self._follow(begun)
