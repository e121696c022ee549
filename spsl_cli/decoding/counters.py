"""The counters of one decoding while it runs; `snapshot` freezes them for whoever wants to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.events import SpeculationStats


@dataclass
class RoundTimes:
    """Seconds of one round by phase, and how many sparse forwards its drafts took."""

    mass: float = 0.0
    refresh: float = 0.0
    draft: float = 0.0
    verify: float = 0.0
    draft_steps: int = 0

    @property
    def total(self) -> float:
        """The whole round."""
        return self.mass + self.refresh + self.draft + self.verify


def joined(rows: Sequence[SpeculationStats]) -> SpeculationStats:
    """The rows of a batch together: tokens and rounds summed, times of the row that ran longest."""
    longest = max(rows, key=lambda row: row.decode_s)
    names = ("new_tokens", "rounds", "drafted", "accepted", "bonus", "lookup_drafted", "lookup_accepted")
    sums = {name: sum(getattr(row, name) for row in rows) for name in names}
    histogram = sum((Counter(row.k_histogram) for row in rows), Counter[int]())
    return replace(longest, **sums, k_histogram=dict(sorted(histogram.items())), sequences=len(rows))


@dataclass
class Counters:
    """Sums over the rounds so far."""

    config: DecodeConfig
    new_tokens: int = 0
    drafted: int = 0
    accepted: int = 0
    bonus: int = 0
    lookup_drafted: int = 0
    lookup_accepted: int = 0
    k_histogram: Counter[int] = field(default_factory=Counter)
    prefill_s: float = 0.0
    times: RoundTimes = field(default_factory=RoundTimes)

    def add_round(self, drafted: int, accepted: int, bonus: int, times: RoundTimes, *, looked_up: bool = False) -> None:
        """One round: of `drafted` tokens `accepted` entered the output, then `bonus` (0 or 1) tokens of the target.

        `looked_up`: the draft came straight from earlier text.
        """
        self.new_tokens += accepted + bonus
        self.drafted += drafted
        self.accepted += accepted
        self.bonus += bonus
        if looked_up:
            self.lookup_drafted += drafted
            self.lookup_accepted += accepted
        self.k_histogram[drafted] += 1
        self.times.mass += times.mass
        self.times.refresh += times.refresh
        self.times.draft += times.draft
        self.times.verify += times.verify

    def snapshot(self, plain_step_s: float | None) -> SpeculationStats:
        """The counters as they stand."""
        speculates = self.config.speculation
        return SpeculationStats(
            enabled=speculates,
            controller=self.config.controller_name if speculates else "none",
            budget=self.config.budget,
            index=self.config.index,
            new_tokens=self.new_tokens,
            rounds=sum(self.k_histogram.values()),
            drafted=self.drafted,
            accepted=self.accepted,
            bonus=self.bonus,
            lookup_drafted=self.lookup_drafted,
            lookup_accepted=self.lookup_accepted,
            k_histogram=dict(sorted(self.k_histogram.items())),
            prefill_s=self.prefill_s,
            decode_s=self.times.total,
            draft_s=self.times.draft,
            verify_s=self.times.verify,
            mass_s=self.times.mass,
            refresh_s=self.times.refresh,
            plain_step_s=plain_step_s,
        )
