"""A report as rows of words: what every form that people read is made of. Knows figures and how they are written.

Both baselines stand in every table: the speedup over our own plain loop, and that over attention written out.
"""

from __future__ import annotations

from collections.abc import Iterator

from spsl_cli.bench.records import CellRecord, Interval, Report, SystemRecord
from spsl_cli.bench.theory import predictions

COLUMNS = (
    "system", "tokens/s", "speedup over ar", "over hf-eager", "same tokens", "acceptance", "accepted a round",
    "quality", "peak MB",
)  # fmt: skip
NARROW = ("system", "tok/s", "over ar", "eager", "same", "accept", "/round")
COMPARISON_COLUMNS = ("figure", "paper", "ours", "verdict", "why")
PREDICTION_COLUMNS = ("cell", "system", "k", "speedup by Eq. 1", "measured")
FINDING_COLUMNS = ("finding", "of", "in", "value")
PHASE_COLUMNS = ("cell", "system", "share of the time by part")


def cell_title(cell: CellRecord) -> str:
    """One line about a cell, to stand above its rows."""
    rows = f"{cell.batch} prompts, " if cell.batch > 1 else ""
    noisy = "; noise hides some effects" if cell.noisy else ""
    repeats = "repeat" if cell.repeats == 1 else "repeats"
    return (
        f"{cell.name}: {rows}{cell.prompt_tokens:,} prompt tokens, {cell.new_tokens} new, "
        f"{cell.repeats} {repeats}, prefill {cell.prefill_s:.1f} s{noisy}"
    )


def cell_table(cell: CellRecord, *, wide: bool = True) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The columns that anything stands in, and a row for each system that ran.

    `wide`: all figures, with their intervals; else what fits into 80 characters, with the interval over `ar` alone.
    """
    columns = COLUMNS if wide else NARROW
    rows = [_row(system, wide=wide) for system in cell.systems if system.unavailable is None]
    used = [at for at in range(len(columns)) if any(row[at] != "-" for row in rows)]
    return tuple(columns[at] for at in used), [tuple(row[at] for at in used) for row in rows]


def missing_lines(cell: CellRecord) -> list[str]:
    """Which systems did not run, and why."""
    return [f"not run: {each.name}: {each.unavailable}" for each in cell.systems if each.unavailable is not None]


def _row(system: SystemRecord, *, wide: bool) -> tuple[str, ...]:
    noise = (", noise" if wide else "?") if system.noisy else ""
    return (
        system.name,
        _interval(system.tokens_per_s, ".1f", wide=wide),
        interval_text(system.speedup, ".2f") + noise,
        _interval(system.speedup_eager, ".2f", wide=wide),
        _identity(system, wide=wide),
        "-" if system.acceptance is None else f"{system.acceptance:.1%}",
        "-" if system.accepted_length is None else f"{system.accepted_length:.2f}",
        "-" if system.quality is None else f"{system.quality:.2f}",
        "-" if system.peak_bytes is None else f"{system.peak_bytes / 1e6:,.0f}",
    )


def _interval(interval: Interval | None, form: str, *, wide: bool) -> str:
    if interval is None or wide:
        return interval_text(interval, form)
    return f"{interval.median:{form}}"


def interval_text(interval: Interval | None, form: str) -> str:
    """The median with the ends behind it."""
    if interval is None:
        return "-"
    return f"{interval.median:{form}} ({interval.low:{form}}-{interval.high:{form}})"


def _identity(system: SystemRecord, *, wide: bool) -> str:
    """Whether the tokens are those of `ar`; else from which on they are not, and how close the choice was there."""
    if system.identical is None:
        return "-"
    if system.identical:
        return "yes"
    margin = "" if system.top2_margin is None or not wide else f", margin {system.top2_margin:.2g}"
    return f"{'no, from' if wide else 'to'} {system.first_difference}{margin}"


def comparison_rows(report: Report) -> list[tuple[str, ...]]:
    """The paper's figures beside ours."""
    return [(each.what, _figure(each.paper), _figure(each.ours), each.verdict, each.why) for each in report.comparisons]


def comparison_lines(report: Report) -> list[str]:
    """The same for a narrow terminal, where a table would be all folds."""
    return [
        f"{verdict}: {what}: paper {paper}, ours {ours} ({why})"
        for what, paper, ours, verdict, why in comparison_rows(report)
    ]


def prediction_rows(report: Report) -> list[tuple[str, ...]]:
    """What Eq. 1 makes of measured costs and acceptance, beside the measured speedups."""
    return [
        (each.cell, each.system, str(each.k), f"{each.predicted:.2f}", _figure(each.measured))
        for each in predictions(report.cells)
    ]


def finding_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """Findings that have a value for each system or cell, and the bins of entropy."""
    for name, parts in report.findings.items():
        for part, value in parts.items() if isinstance(parts, dict) else ():
            inner = value if isinstance(value, dict) else {"": value}
            yield from ((name, part, where, _figure(each)) for where, each in inner.items())
    for each in report.findings.get("bins", ()):
        yield (
            "accepted",
            f"{each['tokens']:,} tokens",
            f"{each['low']:.2f}-{each['high']:.2f} nats",
            f"{each['accepted']:.1%}",
        )


def phase_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """Where the time of each system goes, in the order in which the parts were recorded."""
    for cell in report.cells:
        for system in cell.systems:
            total = sum(system.phases.values())
            if total > 0:
                shares = ", ".join(f"{name} {seconds / total:.1%}" for name, seconds in system.phases.items())
                yield cell.name, system.name, shares


def further_tables(report: Report) -> Iterator[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """What stands below the cells: title, columns and rows of each table that has any."""
    tables = (
        ("Beside the paper", COMPARISON_COLUMNS, comparison_rows(report)),
        ("Eq. 1 beside the measurements", PREDICTION_COLUMNS, prediction_rows(report)),
        ("Across cells", FINDING_COLUMNS, list(finding_rows(report))),
        ("Where the time goes", PHASE_COLUMNS, list(phase_rows(report))),
    )
    return (table for table in tables if table[2])


def headline(report: Report) -> str:
    """Model and machine, in one line."""
    model, machine = report.model, report.machine
    dtype = " ".join(str(model[key]) for key in ("device", "dtype", "quantization") if model.get(key))
    place = machine.get("gpu") or machine.get("processor") or "an unknown machine"
    cores = f", {machine['cores']} cores" if not machine.get("gpu") and machine.get("cores") else ""
    return f"{model.get('id', 'unknown model')}, {dtype}, {place}{cores}, {report.date}"


def summary_lines(report: Report) -> list[str]:
    """What belongs under the tables: findings that are single figures, notes, and what is missing."""
    found = [
        f"{name}: {_figure(value)}" for name, value in report.findings.items() if not isinstance(value, list | dict)
    ]
    unfinished = [] if report.complete else ["interrupted: these are the cells that were finished"]
    return [*found, *report.notes, *unfinished, f"made by: {report.command}"]


def _figure(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
