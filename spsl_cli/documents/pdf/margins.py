"""Which lines of a page stand above or below its body, set apart by a gap. Judges one page, not what others repeat."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from spsl_cli.documents.pdf.columns import Line

_MOST_LEVELS = 3
_FEWEST_LEVELS = 3
_SAME_LEVEL = 0.3
# A gap is wide by the usual distance of lines, where enough of them show what is usual, and by the size of the letters.
_FEWEST_GAPS = 6
_WIDE, _OF_SIZE = 1.4, 1.6
_USUAL_OF_SIZE = 1.3
# What is larger is a title; what has more parts is a row of a table.
_LARGEST = 1.4
_MOST_PARTS = 3


def margin_lines(lines: Sequence[Line]) -> list[int]:
    """The indexes of those lines, in ascending order; of a page of few lines, none."""
    levels = _levels(lines)
    if len(levels) < _FEWEST_LEVELS:
        return []
    size = median(line.size for line in lines)
    gaps = [above[0] - below[0] for above, below in pairwise(levels)]
    usual = median(gaps) if len(gaps) >= _FEWEST_GAPS else _USUAL_OF_SIZE * size
    least = max(_WIDE * usual, _OF_SIZE * size)
    outer = levels[: _set_apart(gaps, least)] + levels[len(levels) - _set_apart(gaps[::-1], least) :]
    return sorted(
        at for _, indexes in outer for at in indexes if lines[at].size <= _LARGEST * size and _is_short(lines[at])
    )


def _levels(lines: Sequence[Line]) -> list[tuple[float, list[int]]]:
    """The heights at which lines stand, from the top, each with the lines there."""
    placed = sorted((-line.height, at) for at, line in enumerate(lines) if line.height is not None)
    levels: list[tuple[float, list[int]]] = []
    for depth, at in placed:
        if levels and levels[-1][0] + depth <= _SAME_LEVEL * lines[at].size:
            levels[-1][1].append(at)
        else:
            levels.append((-depth, [at]))
    return levels


def _set_apart(gaps: Sequence[float], least: float) -> int:
    """How many levels, from the outermost, stand before the first wide gap, if it is near the edge."""
    few = min(_MOST_LEVELS, len(gaps) // 2)
    return next((at + 1 for at, gap in enumerate(gaps[:few]) if gap > least), 0)


def _is_short(line: Line) -> bool:
    return line.parts <= _MOST_PARTS
