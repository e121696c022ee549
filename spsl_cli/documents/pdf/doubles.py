"""Text that was drawn twice or more in one place, to look bold or to cast a shadow, stands once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil, log2

from spsl_cli.documents.pdf.runs import Run

# Parts of the font's size, and of the run's own width: two equal letters side by side are further apart.
_LARGEST_SHIFT = 0.12
_LARGEST_OVERLAP = 0.45
_SMALLEST_REACH = 0.05

_Spot = tuple[str, int, int, int]


def single(runs: Iterable[Run]) -> list[Run]:
    """The runs without repetitions; of one that can be seen and one that cannot, the one that can be seen is kept."""
    kept: list[Run] = []
    places: dict[_Spot, int] = {}
    for run in runs:
        text = run.text.strip()
        if not text:
            kept.append(run)
            continue
        reach = max(_reach(run), _SMALLEST_REACH)
        spots = _spots(text, run, reach)
        same = next((at for spot in spots if (at := places.get(spot, -1)) >= 0 and _covers(kept[at], run, reach)), None)
        if same is None:
            places[next(_spots(text, run, reach))] = len(kept)
            kept.append(run)
        elif kept[same].hidden and not run.hidden:
            kept[same] = run
    return kept


def _reach(run: Run) -> float:
    width = abs(run.end_x - run.x) + abs(run.end_y - run.y)
    return min(_LARGEST_SHIFT * run.size, _LARGEST_OVERLAP * width)


def _covers(first: Run, second: Run, reach: float) -> bool:
    return abs(first.x - second.x) <= reach and abs(first.y - second.y) <= reach


def _spots(text: str, run: Run, reach: float) -> Iterator[_Spot]:
    """The square of a grid on which a run begins, then those around it, where one within reach may begin."""
    power = ceil(log2(reach))
    unit = 2.0**power
    column, row = int(run.x // unit), int(run.y // unit)
    yield text, power, column, row
    for x in (column, column - 1, column + 1):
        for y in (row, row - 1, row + 1):
            if (x, y) != (column, row):
                yield text, power, x, y
