"""What a report has to set against the paper: figures of our systems, averaged over tasks. Knows no verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import fmean

from spsl_cli.bench.records import CellRecord, Interval, Report, SystemRecord
from spsl_cli.bench.series import Axis, base_name

ADAPTIVE, FIXED, RIVAL = "sparsespec-l", "fixed", "snapkv"
"""The paper's system, its index with drafts of one length, and the paper's MagicDec-SnapKV."""

Value = Callable[[SystemRecord | None], Interval | None]
"""A figure of a system; None of None, and where it was not measured."""


def speedup(system: SystemRecord | None) -> Interval | None:
    """Over our plain loop."""
    return None if system is None else system.speedup


def speedup_eager(system: SystemRecord | None) -> Interval | None:
    """Over attention written out, which is the paper's baseline."""
    return None if system is None else system.speedup_eager


def acceptance(system: SystemRecord | None) -> Interval | None:
    """A share, without an interval of its own."""
    return exact(None if system is None else system.acceptance)


def accepted_length(system: SystemRecord | None) -> Interval | None:
    """Accepted tokens a round, likewise."""
    return exact(None if system is None else system.accepted_length)


def exact(value: float | None) -> Interval | None:
    """A figure that is not repeated."""
    return None if value is None else Interval(value, value, value)


def mean(intervals: Iterable[Interval | None]) -> Interval | None:
    """End by end, of those that there are; None of none."""
    known = [interval for interval in intervals if interval is not None]
    if not known:
        return None
    return Interval(*(fmean(getattr(interval, end) for interval in known) for end in ("low", "median", "high")))


def over_cells(report: Report, name: str, value: Value) -> list[Interval]:
    """A system's figure in every cell that has it."""
    found = (value(fastest(cell, name)) for cell in report.cells)
    return [interval for interval in found if interval is not None]


def fastest(cell: CellRecord, name: str) -> SystemRecord | None:
    """The system of that name, whatever draft length it carries; the fastest if there are several."""
    measured = [system for system in cell.systems if base_name(system) == name and system.tokens_per_s is not None]
    return max(measured, key=lambda system: system.tokens_per_s.median if system.tokens_per_s else 0.0, default=None)


def longest(report: Report) -> CellRecord | None:
    """The cell of the longest context."""
    return max(report.cells, key=lambda cell: cell.context, default=None)


def along(
    report: Report, axis: Axis, value: Value, names: tuple[str, ...] = (ADAPTIVE, FIXED)
) -> dict[float, Interval]:
    """Along an axis the figure of the first of `names` that stands there, averaged over tasks; in order of the axis."""
    for name in names:
        places: dict[float, list[Interval | None]] = {}
        for cell in report.cells:
            for system in cell.systems:
                x = axis.place(cell, system) if base_name(system) == name else None
                if x is not None:
                    places.setdefault(x, []).append(value(system))
        means = {x: mean(intervals) for x, intervals in sorted(places.items())}
        known = {x: interval for x, interval in means.items() if interval is not None}
        if len(known) > 1:
            return known
    return {}


def lead_over_fixed(report: Report) -> Interval | None:
    """The adaptive system's speed as a multiple of the best fixed length's, cell by cell; the ends are of all cells.

    Speeds are speedups over the plain loop: those are paired.
    """
    ratios = []
    for cell in report.cells:
        adaptive, fixed = fastest(cell, ADAPTIVE), fastest(cell, FIXED)
        if adaptive is None or fixed is None or adaptive.speedup is None or fixed.speedup is None:
            continue
        ratios.append(adaptive.speedup.median / fixed.speedup.median)
    return Interval(min(ratios), fmean(ratios), max(ratios)) if ratios else None


def phase_share(system: SystemRecord, phase: str) -> float | None:
    """A phase's share of the time of all; None where it was not timed."""
    total = sum(system.phases.values())
    return system.phases[phase] / total if phase in system.phases and total > 0 else None
