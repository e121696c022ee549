"""Columns that are those of a table, whose rows are read one after the other: where those rows begin.

Two signs tell it: lines ruled between the rows, or cells that begin at the same heights in all columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from spsl_cli.documents.pdf.rows import Cell
from spsl_cli.documents.pdf.runs import Box

_FEWEST_RULED, _FEWEST_STARTS = 3, 4
_SHARED = 0.85
_SAME_HEIGHT = 0.3
# Parts of a rule's length, or of the table's width.
_SPANNED = 0.6
_THICKEST = 3.0
# A gap is one between rows by the usual gap of lines, or by the size of the letters.
_WIDER, _LOOSE = 1.3, 1.4
_BEGINNINGS = 0.7


def row_tops(columns: Sequence[Sequence[Cell]], rules: Sequence[Box]) -> list[float]:
    """The heights under which rows of the table begin, from the top; empty where the columns are no table's.

    `columns` holds the cells of each, in any order; `rules` are the lines that are drawn on the page.
    """
    if len(columns) < 2 or not all(columns):  # noqa: PLR2004 - one column is no table
        return []
    ordered = [sorted(column, key=lambda cell: -cell.height) for column in columns]
    return _ruled(ordered, rules) or _aligned(ordered)


def _ruled(columns: Sequence[Sequence[Cell]], rules: Sequence[Box]) -> list[float]:
    left = min(cell.start for column in columns for cell in column)
    right = max(cell.end for column in columns for cell in column)
    size = median(cell.size for column in columns for cell in column)
    lines: list[list[float]] = []  # height, and the length of what is ruled there
    for x, y, end, top in sorted(rules, key=lambda rule: -rule[1]):
        length = min(end, right + size) - max(x, left - size)
        if top - y > _THICKEST or length <= 0:
            continue
        if lines and lines[-1][0] - y <= _THICKEST:
            lines[-1][1] += length
        else:
            lines.append([y, length])
    tops = [height for height, length in lines if length >= _SPANNED * (right - left)]
    bands = sum(
        sum(any(low < cell.height < high for cell in column) for column in columns) > 1 for high, low in pairwise(tops)
    )
    within = [cell for column in columns for cell in column if tops and tops[-1] < cell.height < tops[0]]
    most = sum(map(len, columns))
    return tops if bands >= _FEWEST_RULED and 2 * len(within) >= most else []


def _aligned(columns: Sequence[Sequence[Cell]]) -> list[float]:
    size = median(cell.size for column in columns for cell in column)
    starts = [_starts(column) for column in columns]
    if min(map(len, starts)) < _FEWEST_STARTS:
        return []
    first = [cell.height for cell in starts[0]]
    for column in starts[1:]:
        heights = [cell.height for cell in column]
        if min(_share(first, heights, size), _share(heights, first, size)) < _SHARED:
            return []
    return [height + 0.8 * size for height in first]


def _starts(column: Sequence[Cell]) -> list[Cell]:
    """The cells that stand below a wide gap, and the first; none where lines follow one another as in running text."""
    gaps = [above.height - below.height for above, below in pairwise(column)]
    gaps = [gap for gap in gaps if gap > 0]
    if not gaps:
        return []
    usual = sorted(gaps)[len(gaps) // 5]
    wide = max(_WIDER * usual, 1.05 * median(cell.size for cell in column))
    starts = [column[0]]
    starts += [below for above, below in pairwise(column) if above.height - below.height > wide]
    if len(starts) >= _FEWEST_STARTS:
        return starts
    loose = usual >= _LOOSE * median(cell.size for cell in column)
    begin = sum(_begins(cell.text) for cell in column) >= _BEGINNINGS * len(column)
    return list(column) if loose and begin else []


def _begins(text: str) -> bool:
    sign = text.lstrip()[:1]
    return sign.isupper() or sign.isdigit()


def _share(heights: Sequence[float], others: Sequence[float], size: float) -> float:
    """Which part of the heights is among the others."""
    return sum(any(abs(one - other) <= _SAME_HEIGHT * size for other in others) for one in heights) / len(heights)
