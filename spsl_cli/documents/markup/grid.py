"""Rows of cells -> lines: one line a row where the table holds data, the cells one after another where it is layout.

Knows nothing of tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from spsl_cli.documents.markup.flow import BLANK_LINE, NEW_LINE, Flow, Room

SEPARATOR = " | "
# Browsers take no more columns than this for one cell.
MOST_COLUMNS = 1_000
MOST_ROWS = 65_534
# A cell that stands beside several rows is repeated in each of them, unless it is prose.
_REPEATED_CHARACTERS = 100
# In characters; it bounds how many columns a few bytes of markup can ask for.
_COLUMN_COST = 8
# A row with paragraphs in it that would give a longer line is layout.
_LONGEST_PROSE_ROW = 1_000


@dataclass(slots=True)
class Cell:
    """The lines of one cell, and over how many columns and rows it reaches.

    `spread` says that its lines mean something by their arrangement (a table, a heading, code), so that they are kept.
    """

    lines: list[str]
    columns: int = 1
    rows: int = 1
    spread: bool = False

    @property
    def text(self) -> str:
        """All of it on one line."""
        return " ".join(line.strip() for line in self.lines if line)


@dataclass(slots=True)
class Grid:
    """A table in the making."""

    layout: bool = False
    rows: list[list[Cell]] = field(default_factory=list)

    def start_row(self) -> None:
        """What is added next stands in a new row."""
        self.rows.append([])

    def add(self, cell: Cell) -> None:
        """The next cell of the row."""
        if not self.rows:
            self.start_row()
        self.rows[-1].append(cell)

    @property
    def spread(self) -> bool:
        """Whether more than one cell has something in it."""
        return sum(bool(cell.lines) for row in self.rows for cell in row) > 1

    def write(self, flow: Flow, room: Room) -> None:
        """Writes all rows, set off from what surrounds them if there is more than one line."""
        gap = BLANK_LINE if self.spread else NEW_LINE
        hanging: dict[int, tuple[int, str]] = {}
        rows = [self._columns(row, hanging, room) for row in self.rows]
        used = sorted({at for columns in rows if columns for at, text in enumerate(columns) if text})
        flow.block(gap)
        for row, columns in zip(self.rows, rows, strict=True):
            line = _line(columns, used) if columns and any(cell.lines for cell in row) else ""
            if columns is None or (len(line) > _LONGEST_PROSE_ROW and any("" in cell.lines for cell in row)):
                for cell in row:
                    flow.block(BLANK_LINE if "" in cell.lines else NEW_LINE)
                    flow.add(cell.lines)
                    flow.block(BLANK_LINE if "" in cell.lines else NEW_LINE)
            elif line:
                flow.add([line])
        flow.block(gap)

    def _columns(self, row: list[Cell], hanging: dict[int, tuple[int, str]], room: Room) -> list[str] | None:
        """The row by columns, or None where its cells are to stand one after another."""
        filled = [cell for cell in row if cell.lines]
        if self.layout or any(cell.spread for cell in filled) or (len(filled) == 1 and len(filled[0].lines) > 1):
            hanging.clear()
            return None
        return list(_columns(row, hanging, room))


def _line(columns: list[str], used: list[int]) -> str:
    """The row's text in those columns that hold something in any row; others are there for their width only."""
    kept = [columns[at] if at < len(columns) else "" for at in used]
    while kept and not kept[-1]:
        kept.pop()
    return SEPARATOR.join(kept).strip()


def _columns(row: list[Cell], hanging: dict[int, tuple[int, str]], room: Room) -> Iterator[str]:
    """The text of every column, with what hangs down into this row from cells above.

    `hanging` tells by column for how many rows more a text stands there; it is brought up to date.
    """
    room.take(_COLUMN_COST * (len(hanging) + sum(cell.columns for cell in row)))
    column = 0
    before, cells = dict(hanging), iter(row)
    cell = next(cells, None)
    while cell is not None or before:
        if column in before:
            rows, text = before.pop(column)
            room.take(len(text))
            yield text
            _hang(hanging, column, rows - 1, text)
        elif cell is None:
            room.take(1)
            yield ""
        else:
            text = cell.text
            yield text
            _hang(hanging, column, cell.rows - 1, text if len(text) <= _REPEATED_CHARACTERS else "")
            for _ in range(cell.columns - 1):
                column += 1
                before.pop(column, None)
                yield ""
                _hang(hanging, column, cell.rows - 1, "")
            cell = next(cells, None)
        column += 1


def _hang(hanging: dict[int, tuple[int, str]], column: int, rows: int, text: str) -> None:
    if rows > 0:
        hanging[column] = (rows, text)
    else:
        hanging.pop(column, None)
