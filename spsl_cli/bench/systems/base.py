"""What a system under comparison is: something that decodes prompts which were prefilled once for all systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from spsl_cli.events import SpeculationStats


@dataclass(frozen=True)
class Round:
    """One round of speculation in one row: drafted and accepted tokens, and the entropies they were drafted with."""

    drafted: int
    accepted: int
    entropies: tuple[float, ...] = ()


@dataclass(frozen=True)
class Decoded:
    """What one decoding gave: the tokens of every row, and the seconds from the first of them to the last.

    The first token of a row comes from the prefill, and so the seconds count the others alone. `stats`: of all rows
    together; None for systems that are not ours. `rounds`: those of the first row that drafted, and `phases`: seconds
    by part of the work (draft, verify, refresh, controller, other), where the system tells them.
    """

    token_ids: list[list[int]]
    seconds: float
    stats: SpeculationStats | None = None
    rounds: tuple[Round, ...] = field(default=(), repr=False)
    phases: Mapping[str, float] = field(default_factory=dict)

    @property
    def tokens_per_s(self) -> float:
        """Of all rows together; 0 where nothing was timed."""
        timed = sum(len(ids) - 1 for ids in self.token_ids)
        return timed / self.seconds if self.seconds > 0 else 0.0


class System(Protocol):
    """Decodes the prompts again each time it is asked, from the prefill that all systems share."""

    name: str

    def decode(self, new_tokens: int) -> Decoded:
        """Greedily, up to `new_tokens` tokens a row; fewer where a stop token comes first."""
        ...


class UnavailableError(Exception):
    """The system does not run here; `str(error)` says why, for the report."""
