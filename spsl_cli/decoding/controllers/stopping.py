"""What published stopping rules share: a draft goes on until what a token was drawn from says that it is enough.

The token that ends a draft stays in it. Its forward is paid, and a token once drawn may not be dropped: that would
change the distribution of the output. Where a paper leaves it out, its rule is adapted in this.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from spsl_cli.decoding.config import K_MAX
from spsl_cli.decoding.controllers.always import AlwaysDrafting
from spsl_cli.decoding.controllers.base import Drafted, Evidence, Source


class StoppingRule(AlwaysDrafting, ABC):
    """Drafts of 1 to `K_MAX` tokens; the rows of a batch have one length, where most of them have come to their end."""

    def __init__(self) -> None:
        self.k_star = 1

    @property
    def lookup_length(self) -> int:
        """The longest: nothing is known of looked-up tokens that could end their draft."""
        return K_MAX

    @abstractmethod
    def goes_on(self, evidence: Evidence) -> bool:
        """Whether another token is drafted behind this one."""

    def wants_more(self, drafted: Drafted) -> bool:
        """Until most rows hold a token that ends their draft."""
        going = sum(all(map(self.goes_on, row)) for row in drafted)
        more = 2 * going >= len(drafted)
        self.k_star = min(min(map(len, drafted)) + more, K_MAX)
        return more

    def observe(self, source: Source, draft: Sequence[Evidence], accepted: int) -> None:
        """Nothing to learn, unless a rule says otherwise."""
