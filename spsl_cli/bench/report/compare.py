"""Two reports side by side: which figures agree within their intervals, which differ, and which cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from spsl_cli.bench.records import CellRecord, Interval, Report, SystemRecord
from spsl_cli.bench.report.table import interval_text
from spsl_cli.bench.statistics import FEWEST, agree

Verdict = Literal["agree", "differ", "not comparable"]
COLUMNS = ("cell", "system", "figure", "first", "second", "ratio", "verdict", "why")
_MODEL = ("id", "revision", "dtype", "device", "quantization")
_MACHINE = ("system", "processor", "cores", "threads", "gpu")
_FIGURES = (("tokens_per_s", "tokens/s", ".1f"), ("speedup", "speedup over ar", ".2f"),
            ("speedup_eager", "over hf-eager", ".2f"))  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """A figure of a system in both reports. ratio: the second median as a multiple of the first, where both exist."""

    cell: str
    system: str
    figure: str
    first: Interval | None
    second: Interval | None
    verdict: Verdict
    why: str
    form: str = ".2f"

    @property
    def ratio(self) -> float | None:
        """None where a side is missing or zero."""
        if self.first is None or self.second is None or self.first.median <= 0:
            return None
        return self.second.median / self.first.median


def compare_reports(first: Report, second: Report) -> list[Pair]:
    """Every figure that either report has, cells matched by name and settings, systems by name.

    Rates are compared only where model and machine are the same; speedups are ratios on one machine, so another
    machine makes them incomparable too, and so do other settings.
    """
    why = _obstacle(first, second)
    others = {_key(cell): cell for cell in second.cells}
    pairs: list[Pair] = []
    for cell in first.cells:
        other = others.pop(_key(cell), None)
        pairs += _cells(cell, other, why)
    for cell in others.values():
        pairs += _cells(cell, None, why, only="second")
    return pairs


def _key(cell: CellRecord) -> str:
    settings = sorted((name, repr(value)) for name, value in cell.settings.items())
    return f"{cell.name} {cell.batch} {settings}"


def _obstacle(first: Report, second: Report) -> str | None:
    """What makes the whole reports incomparable."""
    if first.suite != second.suite:
        return f"another suite ({first.suite}, {second.suite})"
    for what, one, other, names in (
        ("model", first.model, second.model, _MODEL),
        ("machine", first.machine, second.machine, _MACHINE),
    ):
        for name in names:
            if one.get(name) != other.get(name):
                return f"another {what} ({name}: {one.get(name)}, {other.get(name)})"
    return None


def _cells(cell: CellRecord, other: CellRecord | None, why: str | None, only: str = "first") -> Iterator[Pair]:
    names = dict.fromkeys(system.name for each in (cell, other) if each is not None for system in each.systems)
    for name in names:
        sides = (cell.system(name), None if other is None else other.system(name))
        if only == "second":
            sides = (sides[1], sides[0])
        yield from _systems(cell, other, name, sides, why)


def _systems(
    cell: CellRecord,
    other: CellRecord | None,
    name: str,
    sides: tuple[SystemRecord | None, SystemRecord | None],
    why: str | None,
) -> Iterator[Pair]:
    for attribute, figure, form in _FIGURES:
        one, two = (None if side is None else getattr(side, attribute) for side in sides)
        if one is None and two is None:
            continue
        verdict, reason = _judged(one, two, why or _lengths(cell, other) or _repeats(sides))
        yield Pair(cell.name, name, figure, one, two, verdict, reason, form)


def _judged(one: Interval | None, two: Interval | None, obstacle: str | None) -> tuple[Verdict, str]:
    if one is None or two is None:
        return "not comparable", f"not in the {'first' if one is None else 'second'} report"
    if obstacle is not None:
        return "not comparable", obstacle
    return ("agree", "the intervals meet") if agree(one, two) else ("differ", "the intervals are apart")


def _lengths(cell: CellRecord, other: CellRecord | None) -> str | None:
    if other is not None and (cell.prompt_tokens, cell.new_tokens) != (other.prompt_tokens, other.new_tokens):
        return "other prompts or other lengths"
    return None


def _repeats(sides: tuple[SystemRecord | None, SystemRecord | None]) -> str | None:
    few = any(side is not None and side.unavailable is None and len(side.rates) < FEWEST for side in sides)
    return f"fewer than {FEWEST} repeats" if few else None


def pair_rows(pairs: list[Pair]) -> list[tuple[str, ...]]:
    """A row of `COLUMNS` for each."""
    return [
        (
            pair.cell, pair.system, pair.figure, interval_text(pair.first, pair.form),
            interval_text(pair.second, pair.form), "-" if pair.ratio is None else f"{pair.ratio:.2f}", pair.verdict,
            pair.why,
        )
        for pair in pairs
    ]  # fmt: skip
