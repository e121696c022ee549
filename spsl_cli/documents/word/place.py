"""Where a story is being written: its own flow, the tables open in it, and the paragraph that has begun."""

from __future__ import annotations

from dataclasses import dataclass, field

from spsl_cli.documents.markup.flow import Flow
from spsl_cli.documents.markup.grid import MOST_COLUMNS, Cell, Grid
from spsl_cli.documents.word.names import integer, is_on
from spsl_cli.documents.word.styles import PLAIN_OUTLINE, Style

# Half points; less serves to set text in line with something.
_RAISED = 4


@dataclass(slots=True)
class Paragraph:
    """What a paragraph says of itself before its text comes, and whether it has come."""

    style: str | None = None
    number: str | None = None
    depth: int | None = None
    level: int | None = None
    fill: str | None = None
    mark_deleted: bool = False
    joins: bool = False
    """Whether what follows goes on in it, for its end has been deleted."""
    begun: bool = False
    heading: bool = False
    margin: bool = False
    boxes: list[list[str]] = field(default_factory=list)
    """The lines of text boxes that are anchored in it."""

    def describe(self, name: str, value: str | None, fill: str | None) -> None:
        """Takes one of its properties; `fill` is that of a shading."""
        if name == "w:pStyle":
            self.style = value
        elif name == "w:numId":
            self.number = value
        elif name == "w:ilvl":
            self.depth = integer(value)
        elif name == "w:shd":
            self.fill = fill
        elif name == "w:outlineLvl":
            self.level = integer(value) + 1 if integer(value) < PLAIN_OUTLINE else 0


@dataclass(slots=True)
class Run:
    """How a piece of text looks; colours and size are written as in a `Style`."""

    hidden: bool = False
    struck: bool = False
    raised: bool = False
    colour: str | None = None
    fill: str | None = None
    size: int | None = None

    def take(self, style: Style) -> None:
        """Takes what a style says, beside what was said before."""
        self.hidden, self.struck = self.hidden or style.hidden, self.struck or style.struck
        self.raised = self.raised or style.raised
        self.colour, self.size = style.colour or self.colour, self.size if style.size is None else style.size
        self.fill = style.fill or self.fill

    def describe(self, name: str, value: str | None, fill: str | None) -> None:
        """Takes one of its properties; `fill` is that of a shading."""
        if name == "w:vanish":
            self.hidden = is_on(value)
        elif name in {"w:strike", "w:dstrike"}:
            self.struck = is_on(value)
        elif name == "w:vertAlign":
            self.raised = value == "superscript"
        elif name == "w:position":
            self.raised = self.raised or integer(value) >= _RAISED
        elif name == "w:color":
            self.colour = value
        elif name == "w:sz":
            self.size = integer(value)
        elif name == "w:shd":
            self.fill = fill
        elif name == "w:highlight" and value != "none":
            self.fill = value


@dataclass(slots=True)
class Table:
    """A table in the making. `above` are the cells that may reach down into the next row, by their column."""

    grid: Grid = field(default_factory=Grid)
    above: dict[int, Cell] = field(default_factory=dict)
    column: int = 0
    row_deleted: bool = False
    painted: bool = False
    """Whether a style or a colour of its own may lie behind its text."""

    def start_row(self) -> None:
        """What is added next stands in a new row."""
        self.grid.start_row()
        self.column = 0
        self.row_deleted = False

    def end_row(self) -> None:
        """A row whose deletion has been tracked is none."""
        if self.row_deleted:
            self.grid.rows.pop()

    def skip(self, columns: int) -> None:
        """Columns without a cell."""
        if columns > 0:
            self.grid.add(Cell([], columns))
            self.column += columns

    def add(self, cell: Cell, *, continues: bool) -> None:
        """The next cell of the row, or the continuation of the one above it."""
        above = self.above.get(self.column)
        if continues and above is not None and not self.row_deleted:
            above.rows += 1
        else:
            self.grid.add(cell)
            self.above[self.column] = cell
        self.column += cell.columns


@dataclass(slots=True)
class OpenCell:
    """What a cell says of itself before its text comes."""

    columns: int = 1
    continues: bool = False
    deleted: bool = False
    fill: str | None = None

    def describe(self, name: str, value: str | None, fill: str | None) -> None:
        """Takes one of its properties; `fill` is that of a shading."""
        if name == "w:shd":
            self.fill = fill
        elif name == "w:gridSpan":
            self.columns = min(max(integer(value, 1), 1), MOST_COLUMNS)
        elif name == "w:vMerge":
            self.continues = value != "restart"
        elif name == "w:cellDel":
            self.deleted = True


@dataclass(slots=True)
class Place:
    """The document, a cell, a text box, a note or a comment."""

    flow: Flow
    tables: list[Table] = field(default_factory=list)
    paragraph: Paragraph | None = None
    run: Run = field(default_factory=Run)
    struck: bool = False
    raised: tuple[int, int] | None = None
    """Where the raised text began that is being written."""
    boxed: bool = False
    """Whether it is a box, of whatever colour."""
    listed: bool = False
    """Whether the paragraph before belongs to a list."""
    spread: bool = False
    cell: OpenCell = field(default_factory=OpenCell)
