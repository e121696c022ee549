"""What a draft-length controller is: it plans a round, says when a draft is long enough, and learns what became of it.

Decisions from floats, no tensors and no token ids. A controller may look at the distribution that a token was drawn
from, and at the token's probability there, and a token once drawn stays in its draft whatever the controller wants
next: that keeps sampling lossless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Source(StrEnum):
    """Where the drafts of a round come from."""

    PLAIN = "plain"  # nowhere: one token from the target
    LOOKUP = "lookup"  # from earlier text, straight to the verify
    SPARSE = "sparse"  # from the model itself over its sparse view


@dataclass(frozen=True, slots=True)
class Plan:
    """What a round does. `length`: tokens to look up, or to expect from the sparse draft."""

    source: Source
    length: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a drafted token before it is verified.

    entropy: of the distribution it came from, in nats. margin: by how many nats the likeliest token there leads.
    match: how many tokens had stood before as they stand here, where lookup named this token; negative where it named
    another one; 0 where it named none. coverage: share of the attention mass that the view holds, in [0, 1].
    probability: that the distribution gave this token.
    """

    entropy: float
    margin: float = 0.0
    match: int = 0
    coverage: float = 1.0
    probability: float = 1.0


Drafted = Sequence[Sequence[Evidence]]
"""Of each row of the batch what is known of its draft so far."""


class Controller(Protocol):
    """Decides draft lengths.

    k_star: the length aimed at, as of the last decision. may_draft: whether a sparse draft may come soon, so that the
    attention mass is worth keeping up.
    """

    k_star: int
    may_draft: bool

    def plan(self, matches: Sequence[int], rooms: Sequence[int]) -> Plan:
        """What to do next, given the match lengths of lookup (0: none) and the room for drafts of every row."""
        ...

    def guesses(self, match: int, most: int) -> int:
        """How many of `most` tokens looked up by a match of that length the sparse model shall check at once."""
        ...

    def wants_more(self, drafted: Drafted) -> bool:
        """Whether to draft another token behind these."""
        ...

    def observe(self, source: Source, draft: Sequence[Evidence], accepted: int) -> None:
        """Of one row's draft the first `accepted` tokens stood, the next did not."""
        ...

    def account(self, plan: Plan, rows: int, tokens: int, seconds: float) -> None:
        """A round of so many rows has given so many tokens, all together, in so many seconds."""
        ...
