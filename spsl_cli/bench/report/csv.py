"""A report as comma-separated values (RFC 4180, but for line ends): a line for each system in each cell, one header."""

from __future__ import annotations

import csv
import io
from typing import Any

from spsl_cli.bench.records import CellRecord, Interval, Report, SystemRecord

_INTERVALS = ("tokens_per_s", "speedup", "speedup_eager")
_PLAIN = ("identical", "first_difference", "top2_margin", "acceptance", "accepted_length", "quality", "peak_bytes",
          "noisy", "unavailable")  # fmt: skip


def csv_text(report: Report) -> str:
    """The whole report; what a system or a cell does not have is empty. Columns end in `_s` for seconds.

    `setting_*` are those that vary between cells, `phase_*` the parts of the work that any system told.
    """
    settings = dict.fromkeys(name for cell in report.cells for name in cell.settings)
    phases = dict.fromkeys(name for cell in report.cells for system in cell.systems for name in system.phases)
    lines = [{**_cell(report, cell), **_system(system)} for cell in report.cells for system in cell.systems]
    columns = [
        "suite", "cell", *(f"setting_{name}" for name in settings), "batch", "prompt_tokens", "new_tokens", "repeats",
        "prefill_s", "system", *(f"{name}_{end}" for name in _INTERVALS for end in ("median", "low", "high")),
        *_PLAIN, *(f"phase_{name}_s" for name in phases),
    ]  # fmt: skip
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _cell(report: Report, cell: CellRecord) -> dict[str, Any]:
    return {
        "suite": report.suite,
        "cell": cell.name,
        **{f"setting_{name}": value for name, value in cell.settings.items()},
        "batch": cell.batch,
        "prompt_tokens": cell.prompt_tokens,
        "new_tokens": cell.new_tokens,
        "repeats": cell.repeats,
        "prefill_s": cell.prefill_s,
    }


def _system(system: SystemRecord) -> dict[str, Any]:
    intervals: dict[str, Interval | None] = {name: getattr(system, name) for name in _INTERVALS}
    return {
        "system": system.name,
        **{
            f"{name}_{end}": getattr(interval, end)
            for name, interval in intervals.items()
            if interval is not None
            for end in ("median", "low", "high")
        },
        **{name: getattr(system, name) for name in _PLAIN},
        **{f"phase_{name}_s": seconds for name, seconds in system.phases.items()},
    }
