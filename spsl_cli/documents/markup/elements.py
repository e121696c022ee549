"""What each HTML element means to a person who reads the page, written into a flow of text.

Knows nothing of parsing, of what is hidden, or of style sheets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from spsl_cli.documents.markup.flow import BLANK_LINE, NEW_LINE, Flow, Room
from spsl_cli.documents.markup.formulas import Formulas
from spsl_cli.documents.markup.grid import MOST_COLUMNS, MOST_ROWS, Cell, Grid
from spsl_cli.documents.markup.inline import BOXES, INLINE, Attributes, Undo
from spsl_cli.documents.markup.numbering import Numbering, integer
from spsl_cli.documents.source import UnreadableError

_BLOCKS = {
    **dict.fromkeys(("figure", "p"), BLANK_LINE),
    **dict.fromkeys(("address", "article", "aside", "body", "caption", "center", "details", "dialog", "div"), NEW_LINE),
    **dict.fromkeys(("dt", "fieldset", "figcaption", "footer", "form", "frameset", "header", "hgroup"), NEW_LINE),
    **dict.fromkeys(("html", "legend", "main", "noframes", "optgroup", "search", "section"), NEW_LINE),
    **dict.fromkeys(("select", "summary", "tbody", "text", "tfoot", "thead"), NEW_LINE),
}
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_VERBATIM = ("pre", "listing", "xmp", "plaintext", "textarea")
_LISTS = ("ul", "menu", "dir")
_INDENT = "  "
_QUOTED = "> "
_BLOCK_DISPLAY = re.compile(r"display\s*:\s*(?:block|flex|grid|list-item|table)\b(?!-)", re.IGNORECASE)
_KEPT_SPACE = re.compile(r"white-space\s*:\s*(?:pre|pre-wrap|break-spaces)\s*(?:;|!|$)", re.IGNORECASE)


@dataclass(slots=True)
class _Place:
    """Where elements are written: the document or a cell of a table, with the lists and tables open in it.

    `spread` says that what was written means something by how it is arranged, `defining` that a definition is open.
    """

    flow: Flow
    lists: list[Numbering] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    spread: bool = False
    defining: bool = False


class Elements:
    """Writes elements as they are opened; what `open` returns is called when the element is closed."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._place = _Place(Flow(room))
        self._tables = 0
        self._navigating = 0
        self._formulas = Formulas()
        self._handlers: dict[str, Callable[[Attributes], Undo]] = {
            "blockquote": self._quotation, "dd": self._definition, "dl": self._definitions, "hr": self._rule,
            "li": self._item, "option": self._option,
            "table": self._table, "td": self._cell, "th": self._cell, "tr": self._row,
            "nav": self._navigation,
            "ol": lambda attributes: self._list(Numbering() if self._navigating else Numbering.of(attributes)),
            **dict.fromkeys(_LISTS, lambda _: self._list(Numbering())), **dict.fromkeys(_VERBATIM, self._kept),
        }  # fmt: skip

    @property
    def flow(self) -> Flow:
        """What text is to be written into."""
        return self._place.flow

    def open(self, tag: str, attributes: Attributes) -> Undo:
        """Raises UnreadableError where lists, quotations or tables nest too deep."""
        if self._formulas or tag == "math":
            return self._formulas.open(tag, self.flow)
        if handler := self._handlers.get(tag):
            return handler(attributes)
        if inline := INLINE.get(tag):
            return inline(self.flow, attributes)
        if gap := _BLOCKS.get(tag):
            return self._block(gap)
        if marker := _HEADINGS.get(tag):
            return self._heading(marker)
        return self._styled(attributes["style"]) if "style" in attributes else None

    def _styled(self, style: str) -> Undo:
        if _BLOCK_DISPLAY.search(style):
            return self._block(NEW_LINE)
        if _KEPT_SPACE.search(style):
            self.flow.start_verbatim()
            return self.flow.end_verbatim
        return None

    # --------------------------------------------------------------------------------------------------------- blocks

    def _block(self, gap: int) -> Callable[[], None]:
        flow = self.flow
        flow.block(gap)
        return lambda: flow.block(gap)

    def _margin(self, gap: int, first: str, further: str) -> Callable[[], None]:
        flow = self.flow
        flow.block(gap)
        flow.indent(first, further)

        def close() -> None:
            flow.outdent()
            flow.block(gap)

        return close

    def _heading(self, marker: str) -> Undo:
        self._place.spread = True
        flow, end_margin = self.flow, self._margin(BLANK_LINE, marker, "")
        flow.start_title()

        def close() -> None:
            flow.end_title()
            end_margin()

        return close

    def _quotation(self, _: Attributes) -> Undo:
        return self._margin(BLANK_LINE, _QUOTED, _QUOTED)

    def _definitions(self, _: Attributes) -> Undo:
        place, before = self._place, self._place.defining
        place.defining = False
        place.flow.block(BLANK_LINE)

        def close() -> None:
            place.defining = before
            place.flow.block(BLANK_LINE)

        return close

    def _definition(self, _: Attributes) -> Undo:
        place = self._place
        if place.defining:  # the parser lets a `<dd>` without its end tag reach over the next one
            return self._block(NEW_LINE)
        place.defining = True
        end_margin = self._margin(NEW_LINE, _INDENT, _INDENT)

        def close() -> None:
            place.defining = False
            end_margin()

        return close

    def _kept(self, _: Attributes) -> Undo:
        place = self._place
        place.flow.block(BLANK_LINE)
        place.flow.start_verbatim()
        lines = len(place.flow.lines)

        def close() -> None:
            place.flow.block(BLANK_LINE)
            place.flow.end_verbatim()
            place.spread = place.spread or len(place.flow.lines) > lines + 1

        return close

    def _rule(self, _: Attributes) -> Undo:
        self.flow.block(BLANK_LINE)
        self.flow.put("---")
        return self._block(BLANK_LINE)

    # ---------------------------------------------------------------------------------------------------------- lists

    def _list(self, numbering: Numbering) -> Undo:
        place, gap = self._place, NEW_LINE if self._place.lists else BLANK_LINE
        place.flow.block(gap)
        place.lists.append(numbering)

        def close() -> None:
            place.lists.pop()
            place.flow.block(gap)

        return close

    def _navigation(self, _: Attributes) -> Undo:
        """Its lists are ordered, but only the numbers that stand in their text are shown."""
        end_block = self._block(NEW_LINE)
        self._navigating += 1

        def close() -> None:
            self._navigating -= 1
            end_block()

        return close

    def _item(self, attributes: Attributes) -> Undo:
        numbering = self._place.lists[-1] if self._place.lists else Numbering()
        if numbering.begun:
            self.flow.tighten()
        marker = numbering.marker(attributes.get("value"))
        return self._margin(NEW_LINE, marker, " " * len(marker))

    # --------------------------------------------------------------------------------------------------------- tables

    def _table(self, attributes: Attributes) -> Undo:
        if self._tables >= self._room.nesting:
            raise UnreadableError(f"tables nested deeper than the limit of {self._room.nesting:,}")
        place, grid = self._place, Grid(layout=attributes.get("role") in {"presentation", "none"})
        place.flow.block(NEW_LINE)
        place.grids.append(grid)
        self._tables += 1

        def close() -> None:
            self._tables -= 1
            place.grids.pop()
            grid.write(place.flow, self._room)
            place.spread = place.spread or grid.spread

        return close

    def _row(self, _: Attributes) -> Undo:
        if self._place.grids:
            self._place.grids[-1].start_row()
        return self._block(NEW_LINE)

    def _cell(self, attributes: Attributes) -> Undo:
        if not self._place.grids:
            return self._block(NEW_LINE)
        outer, grid = self._place, self._place.grids[-1]
        inner = self._place = _Place(Flow(self._room))
        columns = rows = 1
        if attributes:
            columns = min(max(integer(attributes.get("colspan"), 1), 1), MOST_COLUMNS)
            rows = min(max(integer(attributes.get("rowspan"), 1), 1), MOST_ROWS)

        def close() -> None:
            self._place = outer
            lines = inner.flow.finish()
            grid.add(Cell(lines, columns, rows, spread=inner.spread and len(lines) > 1))

        return close

    def _option(self, attributes: Attributes) -> Undo:
        return self._margin(NEW_LINE, f"{BOXES['selected' in attributes]} ", _INDENT)
