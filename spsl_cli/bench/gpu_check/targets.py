"""What the GPU path is meant to reach, and whether the figures of some cells do. Floats only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

LONG, MIDDLE = 131_072, 65_536

Figure = Callable[[Mapping[str, Any]], float | None]


def _worst_verify(cell: Mapping[str, Any]) -> float:
    return float(max(cell["verify_s"][k] for k in ("4", "8")) / cell["ar_s"])


def _over_ar(cell: Mapping[str, Any]) -> float | None:
    return cell["speedup_0.95"]["over_ar"] if _is_long(cell) else None


def _is_long(cell: Mapping[str, Any]) -> bool:
    return bool(cell["length"] == LONG and cell["batch"] == 1)


# What is wanted, the figure of a cell (None: the cell does not count), the limit, and whether more is better.
TARGETS: tuple[tuple[str, Figure, float, bool], ...] = (
    ("AR, share of the bandwidth floor", lambda cell: cell["of_floor"]["ar"], 0.80, True),
    ("draft step, share of the floor", lambda cell: cell["of_floor"]["draft"], 0.75, True),
    ("verify of up to 8 drafts, in AR steps", _worst_verify, 1.2, False),
    ("refresh, share of a verify of 8", lambda cell: cell["refresh_s"] / cell["verify_s"]["8"], 0.03, False),
    ("launch gaps, share of an AR step", lambda cell: cell["launch_gap"], 0.05, False),
    (
        "128K, batch 1, 16 bit: speedup over AR at 0.95",
        lambda cell: None if cell["weights"] == "4bit" else _over_ar(cell),
        1.4,
        True,
    ),
    (
        "128K, batch 1, 4 bit: speedup over AR at 0.95",
        lambda cell: _over_ar(cell) if cell["weights"] == "4bit" else None,
        2.2,
        True,
    ),
    (
        "64K, batch 1: speedup over eager Hugging Face at 0.95",
        lambda cell: cell["speedup_0.95"]["over_eager_hf"] if (cell["length"], cell["batch"]) == (MIDDLE, 1) else None,
        5.0,
        True,
    ),
)


def verdicts(cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each target with the worst figure among the cells it is about; met is None where there is none."""
    found = []
    for name, figure, limit, more in TARGETS:
        figures = [value for value in map(figure, cells) if value is not None]
        worst = (min if more else max)(figures, default=None)
        met = None if worst is None else (worst >= limit if more else worst <= limit)
        found.append({"target": name, "limit": limit, "worst": worst, "met": met})
    return found
