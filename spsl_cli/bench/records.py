"""What a benchmark found: plain values that go to JSON and back. Knows nothing of how they were measured.

A report has cells; a cell is one setting (a task at a length, a draft length, a budget ...), in which several systems
decoded the same prompts from one prefill, in turn, several times.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

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

    rates: tokens per second of every counted decoding. ratios: each of them over the mean of what `ar` made right
    before and behind it. tokens_per_s: the rates' median with least and greatest. speedup, speedup_eager: paired ratios
    over `ar` and over `hf-eager` with a bootstrap interval of 95 %; None for the baseline itself, where it did not run,
    and where its tokens are other ones (then no speedup may be told).
    identical: whether its tokens are those of `ar`; first_difference: the earliest index of any row, and top2_margin:
    how close the choice was there, in logits. acceptance: accepted / drafted; accepted_length: accepted a round;
    by_position: acceptance of the 1st, 2nd ... drafted token. phases: seconds by part of the work (draft, verify,
    refresh, other), of the median repeat, as are the counts. quality: mean score of the task, in [0, 1]. peak_bytes:
    memory at its highest. unavailable: why it did not run here; all figures are None then. noisy: its speedup cannot be
    told from none.
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
    noisy: bool = False
    ratios: tuple[float, ...] = ()


@dataclass(frozen=True)
class CellRecord:
    """One setting and what every system did in it. `settings`: what varies between cells (task, context, k ...).

    prompt_tokens, new_tokens: of all rows of a batch, and prefill_s seconds; on average where there were several
    batches. noisy: of some system in it the speedup cannot be told from none.
    """

    name: str
    settings: Mapping[str, Any]
    batch: int
    prompt_tokens: int
    new_tokens: int
    repeats: int
    prefill_s: float
    systems: tuple[SystemRecord, ...]
    noisy: bool = False

    @property
    def context(self) -> int:
        """Tokens of text asked for in `settings`, else those of an average prompt."""
        wanted = self.settings.get("context")
        return wanted if isinstance(wanted, int) else self.prompt_tokens // max(1, self.batch)

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
class SuiteOptions:
    """What a suite was asked for; what is empty or None the suite decides, in its short form if `quick`.

    contexts: tokens of text. systems, tasks: by name. data: files of the user's own, or of a published task.
    """

    quick: bool = False
    repeats: int | None = None
    contexts: tuple[int, ...] = ()
    systems: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    data: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """A whole suite. complete: False where it was interrupted; then the cells are those that were finished.

    findings: what a suite found across its cells; of `entropy` `auc`, and `bins`: objects with `low` and `high` (nats),
    `tokens` drafted and the share `accepted`.
    """

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


def report_from_json(data: Any) -> Report:
    """The report again. Raises ValueError, with what is wrong and where, for an object that is none."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or "suite" not in data:
        raise ValueError(f"this is no report of a suite ({SCHEMA}, with 'suite')")
    report: Report = _decoded(Report, {key: value for key, value in data.items() if key != "schema"}, "report")
    return report


def cell_from_json(data: Any) -> CellRecord:
    """A cell of a report again. Raises ValueError, with what is wrong and where, for an object that is none."""
    cell: CellRecord = _decoded(CellRecord, data, "cell")
    return cell


def _decoded(kind: Any, value: Any, where: str) -> Any:
    """`value` as `kind`, an annotation of a field above: what JSON makes lists of are tuples again."""
    origin, parts = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return _record(kind, value, where)
    if origin is tuple and isinstance(value, list):
        return tuple(_decoded(parts[0], item, f"{where}[{at}]") for at, item in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {key: _decoded(parts[1], item, f"{where}.{key}") for key, item in value.items()}
    if origin is UnionType:
        inner = next((part for part in parts if is_dataclass(part)), None)
        if value is not None and inner is not None:
            return _decoded(inner, value, where)
        if any(_is_plain(part, value) for part in parts):
            return value
    elif _is_plain(kind, value):
        return value
    raise ValueError(f"{where} is {reprlib.repr(value)}")


def _is_plain(kind: Any, value: Any) -> bool:
    if kind is Any:
        return True
    if isinstance(value, bool):
        return kind is bool
    kind = get_origin(kind) or kind  # `isinstance` takes no Mapping[str, Any]
    return isinstance(value, (int, float) if kind is float else kind)


def _record(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is {reprlib.repr(value)}, no object")  # noqa: TRY004 it is the value of a file
    known = {spec.name: spec for spec in fields(kind)}
    unknown = sorted(set(value) - set(known))
    needed = {name for name, spec in known.items() if spec.default is MISSING and spec.default_factory is MISSING}
    missing = sorted(needed - set(value))
    if unknown or missing:
        raise ValueError(f"{where} has {f'no {missing[0]}' if missing else f'an unknown part {unknown[0]!r}'}")
    hints = get_type_hints(kind)
    return kind(**{name: _decoded(hints[name], item, f"{where}.{name}") for name, item in value.items()})
