"""Drafts of one length, whatever comes of them."""

from __future__ import annotations

from collections.abc import Sequence

from spsl_cli.decoding.controllers.always import AlwaysDrafting
from spsl_cli.decoding.controllers.base import Drafted, Evidence, Source


class FixedController(AlwaysDrafting):
    """Always k tokens."""

    def __init__(self, k: int) -> None:
        self.k_star = k

    def wants_more(self, drafted: Drafted) -> bool:
        """Until k are drafted in every row."""
        return min(map(len, drafted)) < self.k_star

    def observe(self, source: Source, draft: Sequence[Evidence], accepted: int) -> None:
        """Nothing to learn."""
