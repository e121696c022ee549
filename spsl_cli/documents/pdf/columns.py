"""Rows -> lines in reading order. Files mostly draw text as it reads, and that order is kept where it can be true.

Two signs speak against it: columns of running text drawn line by line across the page, and rows drawn in no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from statistics import median

from spsl_cli.documents.pdf.rows import CELL_GAP, Cell, Direction, Row, rows
from spsl_cli.documents.pdf.runs import Box
from spsl_cli.documents.pdf.sameline import joined
from spsl_cli.documents.pdf.tables import row_tops

_FEWEST_ROWS = 6
_BINS = 1_000
_SAME_DIRECTION = 0.03
# Parts of the usual coverage: where fewer cells stand over one another, columns may part.
_GUTTER_COVERAGE = 0.15
_NARROWEST_GUTTER = 0.4
_WORDS_OF_A_LINE, _CHARACTERS_OF_A_LINE = 3, 14
_FILLED = 0.55
_MOST_UPWARD = 0.3
_LEAST_CHANGES = 0.25


@dataclass(frozen=True, slots=True)
class _Column:
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text. `height` is where it stands on the page, None if it reads in another direction than most.

    `size` is that of its letters, `parts` the number of cells, with wide gaps between them.
    """

    text: str
    height: float | None
    size: float
    parts: int = 1


def in_reading_order(drawn: Sequence[Row], rules: Sequence[Box] = ()) -> list[Line]:
    """A line for each row, or for each row of a column. `rules` are the lines that are drawn on the page."""
    if not drawn:
        return []
    direction = _main_direction(drawn)
    main = [row for row in drawn if _is_close(row.direction, direction)]
    aside = [row for row in drawn if not _is_close(row.direction, direction)]
    if not _is_scattered(main):
        line = joined(main, direction)
        gone = {id(row) for row in main} - {id(row) for row in line}
        main, drawn = line, [row for row in drawn if id(row) not in gone]
    if len(drawn) < _FEWEST_ROWS:
        return _lines(drawn, direction)
    if _is_scattered(main):
        runs = [run for row in main for run in row.runs]
        main = rows(sorted(runs, key=lambda run: (-round(run.height(direction), 1), run.along(direction)[0])))
        drawn = main + aside
    cells = [cell for row in main for cell in row.cells()]
    columns = _columns(cells)
    if len(columns) < 2 or not _is_interleaved(cells, columns):  # noqa: PLR2004 - one column is none
        return _lines(drawn, direction)
    placed = [[cell for cell in cells if _place(cell, columns) == at] for at in range(len(columns))]
    if tops := row_tops(placed, rules):
        return _by_row(cells, columns, tops) + _lines(aside, direction)
    return _by_column(cells, columns) + _lines(aside, direction)


def _lines(drawn: Sequence[Row], direction: Direction) -> list[Line]:
    lines = []
    for row in drawn:
        texts = row.texts()
        if text := CELL_GAP.join(texts):
            height = row.height if _is_close(row.direction, direction) else None
            lines.append(Line(text, height, row.size, len(texts)))
    return lines


def _main_direction(drawn: Sequence[Row]) -> Direction:
    amounts: dict[Direction, int] = {}
    for row in drawn:
        rounded = round(row.direction[0], 2), round(row.direction[1], 2)
        amounts[rounded] = amounts.get(rounded, 0) + sum(len(run.text) for run in row.runs)
    return max(amounts, key=lambda direction: amounts[direction])


def _is_close(first: Direction, second: Direction) -> bool:
    return abs(first[0] - second[0]) + abs(first[1] - second[1]) < _SAME_DIRECTION


def _is_scattered(main: Sequence[Row]) -> bool:
    """Whether a great part of the rows stands higher than the row drawn before."""
    if len(main) < _FEWEST_ROWS:
        return False
    upward = sum(after.height > before.height + 1.5 * max(after.size, before.size) for before, after in pairwise(main))
    return upward > _MOST_UPWARD * len(main) and upward >= _FEWEST_ROWS - 1


def _columns(cells: Sequence[Cell]) -> list[_Column]:
    """Columns of running text; an empty list where there are none, or where a table has them."""
    if len(cells) < 2 * _FEWEST_ROWS:
        return []
    found = _between_gutters(cells)
    merged: list[_Column] = []
    for column in reversed(found):
        # Numbers or signs before a column's lines belong to that column.
        if merged and not _holds_text(column, cells) and not _is_wide(column, merged[-1]):
            merged[-1] = _Column(column.start, merged[-1].end)
        else:
            merged.append(column)
    merged.reverse()
    return merged if all(_holds_text(column, cells) for column in merged) else []


def _between_gutters(cells: Sequence[Cell]) -> list[_Column]:
    left, right = min(cell.start for cell in cells), max(cell.end for cell in cells)
    if right - left <= 0:
        return []
    scale = _BINS / (right - left)
    steps = [0] * (_BINS + 2)
    for cell in cells:
        steps[int((cell.start - left) * scale)] += 1
        steps[int((cell.end - left) * scale) + 1] -= 1
    coverage, total = [], 0
    for step in steps[: _BINS + 1]:
        total += step
        coverage.append(total)
    usual = sorted(coverage)[int(0.8 * len(coverage))]
    narrowest = _NARROWEST_GUTTER * median(cell.size for cell in cells) * scale
    edges, start = [left], None
    for at, covered in enumerate(coverage):
        if covered <= _GUTTER_COVERAGE * usual:
            start = at if start is None else start
        else:
            if start and at - start >= narrowest:
                edges.append(left + (start + at) / 2 / scale)
            start = None
    return [_Column(*pair) for pair in pairwise([*edges, right])]


def _within(cell: Cell, column: _Column) -> bool:
    return cell.start >= column.start - 0.5 * cell.size and cell.end <= column.end + 0.5 * cell.size


def _is_wide(column: _Column, neighbour: _Column) -> bool:
    return column.end - column.start > 0.35 * (neighbour.end - neighbour.start)


def _holds_text(column: _Column, cells: Sequence[Cell]) -> bool:
    """Whether most lines in a column are of several words and fill it, as those of running text do."""
    own = [cell for cell in cells if _within(cell, column)]
    if len(own) < _FEWEST_ROWS:
        return False
    widths = sorted(cell.end - cell.start for cell in own)
    full = widths[int(0.9 * len(widths))]
    wordy = sum(_is_wordy(cell.text) for cell in own)
    return full > 0 and median(widths) >= _FILLED * full and wordy > 0.6 * len(own)


def _is_wordy(text: str) -> bool:
    return len(text.split()) >= _WORDS_OF_A_LINE or (len(text) >= _CHARACTERS_OF_A_LINE and not text.isascii())


def _is_interleaved(cells: Sequence[Cell], columns: Sequence[_Column]) -> bool:
    """Whether the order of drawing goes to and fro between the columns."""
    places = [at for cell in cells if (at := _place(cell, columns)) is not None]
    changes = sum(before != after for before, after in pairwise(places))
    return changes >= _FEWEST_ROWS and changes > _LEAST_CHANGES * len(places)


def _place(cell: Cell, columns: Sequence[_Column]) -> int | None:
    return next((at for at, column in enumerate(columns) if _within(cell, column)), None)


def _by_column(cells: Sequence[Cell], columns: Sequence[_Column]) -> list[Line]:
    """From top to bottom, column after column; what stands across several of them parts what is above from below."""
    lines: list[Line] = []
    band: list[list[Cell]] = [[] for _ in columns]
    for cell in sorted(cells, key=lambda cell: (-cell.height, cell.start)):
        place = _place(cell, columns)
        if place is None:
            lines += _flushed(band)
            lines.append(Line(cell.text.strip(), cell.height, cell.size))
        else:
            band[place].append(cell)
    return lines + _flushed(band)


def _by_row(cells: Sequence[Cell], columns: Sequence[_Column], tops: Sequence[float]) -> list[Line]:
    """From top to bottom, the rows of a table cell after cell; what stands above and below it as in columns."""
    lines = _by_column([cell for cell in cells if cell.height >= tops[0]], columns)
    for top, bottom in pairwise([*tops, -inf]):
        row = [cell for cell in cells if bottom <= cell.height < top]
        across = [cell for cell in row if _place(cell, columns) is None]
        parts = [_flushed([[cell for cell in row if _place(cell, columns) == at]]) for at in range(len(columns))]
        lines += [Line(cell.text.strip(), cell.height, cell.size) for cell in across]
        first: Line | None = None
        for part in parts:
            for number, line in enumerate(part):
                whole = line
                if first is not None and not number:
                    parts_of_line = first.parts + line.parts
                    whole = replace(first, text=f"{first.text}{CELL_GAP}{line.text}", parts=parts_of_line)
                    lines.pop()
                lines.append(whole)
            # Only a cell of one line goes on with the next one on that line.
            first = lines[-1] if len(part) == 1 else None if part else first
    return lines


def _flushed(band: list[list[Cell]]) -> list[Line]:
    lines: list[Line] = []
    for column in band:
        last: Cell | None = None
        for cell in column:
            if last is not None and abs(last.height - cell.height) < 0.3 * cell.size:
                text, parts = f"{lines[-1].text}{CELL_GAP}{cell.text.strip()}", lines[-1].parts + 1
                lines[-1] = replace(lines[-1], text=text, parts=parts)
            else:
                lines.append(Line(cell.text.strip(), cell.height, cell.size))
            last = cell
        column.clear()
    return lines
