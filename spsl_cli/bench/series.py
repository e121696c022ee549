"""Systems over what varies between cells: context, draft length, budget or batch. Knows records, no drawing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from spsl_cli.bench.records import CellRecord, Report, SystemRecord

_FIXED = re.compile(r"-k(\d+)$")


@dataclass(frozen=True)
class Axis:
    """What a line runs over: its name, its label with the unit, and where a system in a cell stands on it."""

    name: str
    label: str
    place: Callable[[CellRecord, SystemRecord], float | None]


@dataclass(frozen=True)
class Place:
    """A system in a cell, and where on the axis it stands."""

    x: float
    cell: CellRecord
    system: SystemRecord


def draft_length(cell: CellRecord, system: SystemRecord) -> int | None:
    """The fixed draft length of a system: by its name (`fixed-k4`), else by the cell's; None for one that adapts it."""
    named = _FIXED.search(system.name)
    if named:
        return int(named[1])
    k = cell.settings.get("k")
    fixed = (system.speculation or {}).get("controller") == "fixed"
    return k if fixed and isinstance(k, int) else None


def budget_share(cell: CellRecord, system: SystemRecord) -> float | None:
    """The share of positions that drafts read, in percent; None for systems that draft over none."""
    counts = system.speculation or {}
    budget = cell.settings.get("budget", counts.get("budget")) if counts.get("enabled") else None
    if not isinstance(budget, int | float):
        return None
    return 100 * (budget if isinstance(budget, float) else budget / max(1, cell.context))


CONTEXT = Axis("context", "context (tokens)", lambda cell, _: cell.context)
LENGTH = Axis("k", "draft length k (tokens)", draft_length)
BUDGET = Axis("budget", "budget (% of the positions)", budget_share)
BATCH = Axis("batch", "batch (prompts)", lambda cell, _: cell.batch)


def base_name(system: SystemRecord) -> str:
    """A system's name without its draft length."""
    return _FIXED.sub("", system.name)


def lines(report: Report, axis: Axis) -> dict[str, list[Place]]:
    """For each system that stands on the axis its places in order; tasks are told apart where there are several."""
    tasks = {cell.settings.get("task") for cell in report.cells}
    found: dict[str, list[Place]] = {}
    for cell in report.cells:
        for system in cell.systems:
            x = axis.place(cell, system)
            if x is None or system.unavailable is not None:
                continue
            name = base_name(system) if axis is LENGTH else system.name
            label = name if len(tasks) == 1 else f"{name}, {cell.settings.get('task', cell.name)}"
            found.setdefault(label, []).append(Place(x, cell, system))
    return {label: sorted(places, key=lambda place: place.x) for label, places in found.items()}
