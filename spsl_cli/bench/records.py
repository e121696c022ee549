"""What a benchmark found: plain values that go to JSON and back. Knows nothing of how they were measured.

A report has cells; a cell is one setting (a task at a length, a draft length, a budget ...), in which several systems
decoded the same prompts from one prefill, in turn, several times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SCHEMA = "spsl.bench/1"


@dataclass(frozen=True)
class Interval:
    """A median of repeats with the ends of its interval; what interval it is, the report says."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class SystemRecord:
    """One system in one cell.

    rates: tokens per second of every counted repeat. tokens_per_s: their median with least and greatest. speedup,
    speedup_eager: paired ratios over `ar` and over `hf-eager` with a bootstrap interval of 95 %; None for the baseline
    itself, where it did not run, and where its tokens are other ones (then no speedup may be told).
    identical: whether its tokens are those of `ar`; first_difference: the earliest index of any row, and top2_margin:
    how close the choice was there, in logits. acceptance: accepted / drafted; accepted_length: accepted a round;
    by_position: acceptance of the 1st, 2nd ... drafted token. phases: seconds by part of the work (draft, verify,
    refresh, other), of the last repeat. quality: mean score of the task, in [0, 1]. peak_bytes: memory at its highest.
    unavailable: why it did not run here; all figures are None then.
    """

    name: str
    rates: tuple[float, ...] = ()
    tokens_per_s: Interval | None = None
    speedup: Interval | None = None
    speedup_eager: Interval | None = None
    identical: bool | None = None
    first_difference: int | None = None
    top2_margin: float | None = None
    acceptance: float | None = None
    accepted_length: float | None = None
    by_position: tuple[float, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)
    quality: float | None = None
    peak_bytes: int | None = None
    speculation: Mapping[str, Any] | None = None
    unavailable: str | None = None


@dataclass(frozen=True)
class CellRecord:
    """One setting and what every system did in it. `settings`: what varies between cells (task, context, k ...)."""

    name: str
    settings: Mapping[str, Any]
    batch: int
    prompt_tokens: int
    new_tokens: int
    repeats: int
    prefill_s: float
    systems: tuple[SystemRecord, ...]
    noisy: bool = False

    def system(self, name: str) -> SystemRecord | None:
        """The system of that name, if it is in this cell."""
        return next((system for system in self.systems if system.name == name), None)


@dataclass(frozen=True)
class Comparison:
    """A figure of the paper beside ours. verdict: "confirmed", "not confirmed" or "not comparable", and why."""

    what: str
    paper: float | str
    ours: float | str | None
    verdict: str
    why: str


@dataclass(frozen=True)
class Report:
    """A whole suite. complete: False where it was interrupted; then the cells are those that were finished."""

    suite: str
    title: str
    command: str
    date: str
    model: Mapping[str, Any]
    machine: Mapping[str, Any]
    settings: Mapping[str, Any]
    cells: tuple[CellRecord, ...]
    comparisons: tuple[Comparison, ...] = ()
    findings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    complete: bool = True


def report_json(report: Report) -> dict[str, Any]:
    """The object of `spsl bench SUITE --json`."""
    return {"schema": SCHEMA, **asdict(report)}


def report_from_json(data: Mapping[str, Any]) -> Report:
    """The report again. Raises ValueError, with what is wrong, for an object that is none."""
    if data.get("schema") != SCHEMA or "suite" not in data:
        raise ValueError(f"this is no report of a suite ({SCHEMA}, with 'suite')")
    try:
        cells = tuple(_cell(cell) for cell in data["cells"])
        comparisons = tuple(Comparison(**comparison) for comparison in data["comparisons"])
        rest = {key: value for key, value in data.items() if key not in ("schema", "cells", "comparisons", "notes")}
        return Report(**rest, cells=cells, comparisons=comparisons, notes=tuple(data["notes"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"a report with missing or unknown parts ({error})") from error


def _cell(data: Mapping[str, Any]) -> CellRecord:
    systems = tuple(_system(system) for system in data["systems"])
    return CellRecord(**{**data, "systems": systems})


def _system(data: Mapping[str, Any]) -> SystemRecord:
    intervals = {
        key: Interval(**data[key]) for key in ("tokens_per_s", "speedup", "speedup_eager") if data.get(key) is not None
    }
    tuples = {key: tuple(data[key]) for key in ("rates", "by_position") if key in data}
    return SystemRecord(**{**data, **intervals, **tuples})
