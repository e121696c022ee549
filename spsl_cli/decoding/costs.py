"""What a step costs on this machine, measured as it runs: C_d (a draft step), C_v (a verify), a plain step, a refresh.

Knows seconds only. Medians over the last few rounds: one slow step (a page fault, another process) moves nothing. What
was not measured yet is presumed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import torch

RECENT = 15
PRESUMED_WEIGHT = 0.5
"""Of each presumed verify among the measured ones, in the fit over draft lengths."""


class Shares(NamedTuple):
    """What a row of a verify and the mass cost, in the time that float32 weights, or keys and values, are read.

    layer: bytes that are read in the time that a layer takes for everything else.
    """

    row_of_weights: float
    row_of_kv: float
    mass_of_kv: float
    layer: int


SHARES = {"cpu": Shares(0.07, 0.22, 0.4, 3_300_000), "cuda": Shares(0.01, 0.01, 0.5, 0)}
"""What is presumed by kind of device, the CPU's for others. There a row over many keys is arithmetic (docs/log.md)."""


@dataclass(frozen=True)
class PresumedCosts:
    """What is presumed until it is measured, in plain steps: a draft step, refresh with mass, a row of a verify.

    entry: what a refresh after rounds without takes beyond the others, negative for less; None: as much again.
    """

    draft: float = 0.5
    refresh: float = 0.2
    row: float = 0.05
    entry: float | None = None

    @classmethod
    def by_bytes(
        cls,
        weights: int,
        kv: int,
        share: float,
        device: str,
        *,
        layers: int = 0,
        arithmetic: int | None = None,
        sequences: int = 1,
        viewed: bool = False,
    ) -> PresumedCosts:
        """For steps that take as long as memory takes to read them.

        weights, kv: bytes that a plain step reads. share: of the kv that a draft step reads, and a gather reads and
        writes. device: its kind, see `SHARES`. layers: of the model. arithmetic: bytes of the weights if they were
        float32, which a row of few bits has to compute all the same; None: as many as are read. sequences: each of them
        has a row more. viewed: a first view is there.
        """
        shares = SHARES.get(device, SHARES["cpu"])
        fixed = weights + layers * shares.layer
        everything = max(fixed + kv, 1)
        refresh = (shares.mass_of_kv + 2 * share) * kv / everything
        return cls(
            draft=(fixed + share * kv) / everything,
            refresh=refresh,
            entry=-refresh if viewed else None,
            row=(shares.row_of_weights * (arithmetic or weights) * sequences + shares.row_of_kv * kv) / everything,
        )


class RunningMedian:
    """The median of the last `RECENT` values, computed when one comes and read many times; None before the first."""

    def __init__(self) -> None:
        self._values: deque[float] = deque(maxlen=RECENT)
        self.value: float | None = None

    def add(self, value: float) -> None:
        """One more value."""
        self._values.append(value)
        self.value = median(self._values)


class StepCosts:
    """Running estimates in seconds of a plain step, a draft step, a refresh, and a verify of k drafts.

    Until a plain step is measured, it is the unit: all other costs are in plain steps then. `settled`: nothing will be
    measured, what is presumed holds.
    """

    def __init__(self, presumed: PresumedCosts | None = None, *, settled: bool = False) -> None:
        self.presumed = presumed or PresumedCosts()
        self.settled = settled
        self._plain, self._draft, self._refresh = RunningMedian(), RunningMedian(), RunningMedian()
        self._first_refresh = RunningMedian()
        self._verify: deque[tuple[int, float]] = deque(maxlen=2 * RECENT)
        self._line: tuple[float, float] | None = None

    def observe_plain(self, step_s: float) -> None:
        """A step without a draft, the attention mass not counted: what autoregressive decoding would pay."""
        self._plain.add(step_s)
        self._line = None

    def observe_draft(self, steps: int, seconds: float) -> None:
        """So many forwards over the sparse view."""
        self._draft.add(seconds / steps)

    def observe_refresh(self, seconds: float, *, first: bool = False) -> None:
        """Mass, index and gather of one round; `first`: after rounds without, so that more was left to do."""
        (self._first_refresh if first else self._refresh).add(seconds)

    def observe_verify(self, drafted: int, seconds: float) -> None:
        """A verify of the longest draft of so many tokens."""
        expected = self.verify_s(drafted)
        if len(self._verify) >= RECENT // 3:  # by then the line is known well enough to tell what is out of it
            seconds = min(max(seconds, expected / 2), expected * 2)
        self._verify.append((drafted, seconds))
        self._line = None

    @property
    def plain_step_s(self) -> float | None:
        """One token without speculation; None until one was measured."""
        return self._plain.value

    @property
    def draft_step_s(self) -> float | None:
        """C_d of Eq. 1 and 8; None until one was measured."""
        return self._draft.value

    @property
    def round_s(self) -> float | None:
        """C_v of Eq. 1 and 8, with what else a round costs whatever its length; None until one was measured."""
        if not self._verify:
            return None
        return median(seconds for _, seconds in self._verify) + (self._refresh.value or 0.0)

    @property
    def plain_s(self) -> float:
        """A plain step, measured or the unit."""
        return self.plain_step_s or 1.0

    @property
    def draft_s(self) -> float:
        """A draft step, measured or presumed."""
        return self.draft_step_s or self.presumed.draft * self.plain_s

    @property
    def draft_is_known(self) -> bool:
        """Whether a draft step was measured, or none will be."""
        return self.settled or self._draft.value is not None

    @property
    def refresh_s(self) -> float:
        """Mass, index and gather, measured or presumed."""
        measured = self._refresh.value
        return self.presumed.refresh * self.plain_s if measured is None else measured

    @property
    def entry_s(self) -> float:
        """What a refresh after rounds without takes beyond the others, measured or presumed."""
        first = self._first_refresh.value
        if first is not None:
            return first - self.refresh_s
        return self.refresh_s if self.presumed.entry is None else self.presumed.entry * self.plain_s

    @property
    def row_s(self) -> float:
        """What a verify takes longer for one more draft."""
        return self._fitted()[1]

    def verify_s(self, drafted: int) -> float:
        """A verify of that many drafts; a plain step for none."""
        if not drafted:
            return self.plain_s
        fixed, row = self._fitted()
        return fixed + row * drafted

    def total_s(self, drafted: int, draft_steps: int) -> float:
        """A round whose longest draft has so many tokens, from so many sparse forwards (0: looked up, or none)."""
        return self.verify_s(drafted) + (self.refresh_s + draft_steps * self.draft_s if draft_steps else 0.0)

    def _fitted(self) -> tuple[float, float]:
        """Intercept and slope of a verify over its drafts: least squares through what was measured and presumed."""
        if self._line is None:
            plain, row = self.plain_s, self.presumed.row * self.plain_s
            points = [(k, plain + row * k, PRESUMED_WEIGHT) for k in (1, 8)]
            points += [(k, seconds, 1.0) for k, seconds in self._verify]
            weight = sum(w for _, _, w in points)
            mean_k = sum(w * k for k, _, w in points) / weight
            mean_s = sum(w * s for _, s, w in points) / weight
            slope = sum(w * (k - mean_k) * (s - mean_s) for k, s, w in points) / sum(
                w * (k - mean_k) ** 2 for k, _, w in points
            )
            slope = max(slope, 0.0)
            self._line = (mean_s - slope * mean_k, slope)
        return self._line


def clock(device: torch.device) -> Callable[[], float]:
    """A clock that reads seconds once the device has done what it was given."""
    if device.type != "cuda":
        return time.perf_counter

    def synchronised() -> float:
        torch.cuda.synchronize(device)
        return time.perf_counter()

    return synchronised
