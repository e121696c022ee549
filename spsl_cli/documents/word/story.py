"""A part of a Word document as events -> text. Knows what Word's elements mean; follows the document as it looks when
all its tracked changes have been accepted.
"""

from __future__ import annotations

from collections.abc import Callable

from spsl_cli.documents.markup.grid import MOST_COLUMNS, Cell
from spsl_cli.documents.markup.xml import send
from spsl_cli.documents.word.asides import Asides, Attributes, Undo
from spsl_cli.documents.word.context import Context, attempt
from spsl_cli.documents.word.drawings import lines_of
from spsl_cli.documents.word.equations import Equations
from spsl_cli.documents.word.fields import Fields
from spsl_cli.documents.word.names import filling, integer, short
from spsl_cli.documents.word.place import Run, Table
from spsl_cli.documents.word.symbols import UNKNOWN, symbol
from spsl_cli.documents.word.writer import Writer

_DELETED = frozenset({"w:del", "w:moveFrom"})
_LEFT_OUT = frozenset({
    "w:delInstrText", "w:delText", "w:instrText", "w:numberingChange", "w:pPrChange", "w:rPrChange", "w:sectPrChange",
    "w:tblGridChange", "w:tblPrChange", "w:tblPrExChange", "w:tcPrChange", "w:trPrChange",
})  # fmt: skip
_TEXT = frozenset({"w:t", "m:t"})


class Story:
    """Takes the events of one part. `entries` are the notes or comments in it: author and lines by identifier."""

    def __init__(self, context: Context, part: str) -> None:
        self.writer = Writer(context)
        self.entries: dict[str, tuple[str, list[str]]] = {}
        self._context = context
        self._part = part
        self._path: list[str] = []
        self._open: list[Undo] = []
        self._hidden = 0
        self._alternatives: list[bool] = []
        self._fields = Fields()
        self._equations = Equations()
        self._ruby: list[str] = []
        self._asides = Asides(context, part, self._write)
        self._handlers: dict[str, Callable[[Attributes], Undo]] = {
            **self._asides.handlers,
            "mc:AlternateContent": self._alternate, "m:oMath": self._formula,
            "c:chart": self._drawn, "dgm:relIds": self._drawn,
            "w:br": self._line, "w:cr": self._line, "w:fldChar": self._field, "w:noBreakHyphen": self._hyphen,
            "w:p": self._paragraph, "w:ptab": self._tab, "w:r": self._run, "w:rt": self._reading,
            "w:rubyBase": self._read, "w:sym": self._symbol, "w:tab": self._tab, "w:tbl": self._table,
            "w:tc": self._cell, "w:tr": self._row, "w:txbxContent": self._box,
            **dict.fromkeys(("w:footnote", "w:endnote", "w:comment"), self._entry),
        }  # fmt: skip

    def read(self) -> Story:
        """Takes the whole part. Raises UnreadableError where it is missing, damaged or too deep."""
        data = self._context.package.archive.read(self._part)
        send(data, self, name=self._part, limits=self._context.limits)
        if self._fields.unfinished:
            self._context.warn(f"{self._part}: a field without an end, so text in it may be missing")
        return self

    # --------------------------------------------------------------------------------------------------------- events

    def start(self, tag: str, attributes: Attributes) -> None:
        """An element begins."""
        name, parent = short(tag), self._path[-1] if self._path else ""
        self._path.append(name)
        if self._hidden or name in _LEFT_OUT or (name in _DELETED and self._is_deletion(name, parent)):
            self._hidden += 1
            return
        if name in {"mc:Choice", "mc:Fallback"} and not self._is_chosen():
            self._hidden = 1
            return
        named = {short(key): value for key, value in attributes.items()} if attributes else {}
        if handler := self._handlers.get(name):
            self._open.append(handler(named))
        elif name.startswith("m:"):
            self._open.append(self._equations.open(name, named, parent, self.writer.place.flow))
        else:
            self._describe(name, parent, named)
            self._open.append(None)

    def end(self, _: str) -> None:
        """The element that began last ends."""
        self._path.pop()
        if self._hidden:
            self._hidden -= 1
        elif undo := self._open.pop():
            undo()

    def data(self, text: str) -> None:
        """Text counts in a few elements only; elsewhere it is indentation."""
        if self._hidden or self._path[-1] not in _TEXT or self._fields.hides:
            return
        if "w:rt" in self._path:
            self._ruby.append(text)
        else:
            self.writer.text(text)

    def _is_deletion(self, name: str, parent: str) -> bool:
        """Whether it holds deleted text, not the note that a paragraph's end or a row has been deleted."""
        place = self.writer.place
        if parent == "w:trPr" and place.tables:
            place.tables[-1].row_deleted = place.tables[-1].row_deleted or name == "w:del"
        elif parent == "w:rPr" and place.paragraph:
            place.paragraph.mark_deleted = True
        return parent not in {"w:rPr", "w:trPr"}

    # ---------------------------------------------------------------------------------------------------- descriptions

    def _describe(self, name: str, parent: str, named: Attributes) -> None:
        """What a paragraph, a run, a row or a cell says of itself before its text comes."""
        place, value = self.writer.place, named.get("w:val")
        fill = filling(value, named.get("w:fill")) if name == "w:shd" else None
        if parent in {"w:pPr", "w:numPr"} and place.paragraph:
            place.paragraph.describe(name, value, fill)
        elif parent == "w:rPr" and self._path[-3:-2] == ["w:r"]:
            if name == "w:rStyle":
                place.run.take(self._context.styles[value])
            place.run.describe(name, value, fill)
        elif parent == "w:tcPr":
            place.cell.describe(name, value, fill)
        elif parent == "w:tblPr" and name in {"w:tblStyle", "w:shd"} and place.tables:
            place.tables[-1].painted = True
        elif parent == "w:trPr" and name == "w:gridBefore" and place.tables:
            place.tables[-1].skip(min(integer(value), MOST_COLUMNS))
        elif parent in {"w:ffData", "w:checkBox", "w:ddList"}:
            self._fields.describe(name, parent, named)

    # --------------------------------------------------------------------------------------------- paragraphs and runs

    def _paragraph(self, _: Attributes) -> Undo:
        self.writer.start_paragraph()
        return self.writer.close_paragraph

    def _run(self, _: Attributes) -> Undo:
        place = self.writer.place
        place.run = self.writer.new_run()

        def close() -> None:
            place.run = Run()

        return close

    def _line(self, _: Attributes) -> Undo:
        self.writer.line_break()
        return None

    def _tab(self, _: Attributes) -> Undo:
        if self._path[-2] == "w:r":  # elsewhere it tells where a tab leads to
            self._write("\t")
        return None

    def _hyphen(self, _: Attributes) -> Undo:
        self._write("-")
        return None

    def _symbol(self, named: Attributes) -> Undo:
        sign = symbol(named.get("w:font", ""), named.get("w:char", ""))
        if sign == UNKNOWN:
            self._context.warn(f"a sign of the font {named.get('w:font', '')[:40]!r} is not known, shown as U+FFFD")
        self._write(sign)
        return None

    def _field(self, named: Attributes) -> Undo:
        self._write(self._fields.mark(named.get("w:fldCharType")))
        return None

    def _reading(self, _: Attributes) -> Undo:
        """How the characters that follow are read aloud; it is written after them."""
        self._ruby = []
        return None

    def _read(self, _: Attributes) -> Undo:
        return lambda: self._write(f"({''.join(self._ruby)})" if self._ruby else "")

    def _formula(self, _: Attributes) -> Undo:
        self.writer.begin()
        self.writer.end_raised()
        return None

    def _write(self, text: str) -> None:
        if text and not self._fields.hides:
            self.writer.text(text)

    # --------------------------------------------------------------------------------------------------------- tables

    def _table(self, _: Attributes) -> Undo:
        writer, place, table = self.writer, self.writer.place, Table()
        writer.end_paragraph()
        place.tables.append(table)

        def close() -> None:
            place.tables.pop()
            table.grid.write(place.flow, self._context.room)
            place.spread = place.spread or table.grid.spread
            place.listed = False

        return close

    def _row(self, _: Attributes) -> Undo:
        tables = self.writer.place.tables
        if not tables:
            return None
        tables[-1].start_row()
        return tables[-1].end_row

    def _cell(self, _: Attributes) -> Undo:
        table = self.writer.place.tables[-1] if self.writer.place.tables else None
        inner = self.writer.enter()

        def close() -> None:
            lines, cell = self.writer.leave(), inner.cell
            if table is None:
                self.writer.set_apart(lines)
            else:
                lines = [] if cell.deleted else lines
                table.add(Cell(lines, cell.columns, spread=inner.spread and len(lines) > 1), continues=cell.continues)

        return close

    # ------------------------------------------------------------------------------------------- beside the paragraphs

    def _box(self, _: Attributes) -> Undo:
        self.writer.enter().boxed = True
        return lambda: self.writer.set_apart(self.writer.leave())

    def _entry(self, named: Attributes) -> Undo:
        self.writer.enter()
        identifier, author = named.get("w:id", ""), named.get("w:author", "")
        separator = named.get("w:type", "normal") != "normal"

        def close() -> None:
            lines = self.writer.leave()
            if not separator:
                self.entries[identifier] = (author, lines)

        return close

    def _drawn(self, named: Attributes) -> Undo:
        part = self._context.package.target(self._part, named.get("r:dm") or named.get("r:id", ""))
        if part:
            attempt(self._context, f"a drawing ({part})", lambda: self.writer.set_apart(lines_of(self._context, part)))
        return None

    def _alternate(self, _: Attributes) -> Undo:
        self._alternatives.append(False)
        return self._alternatives.pop

    def _is_chosen(self) -> bool:
        """Whether it is the first alternative, which is the one that shows."""
        if not self._alternatives:
            return True
        chosen, self._alternatives[-1] = not self._alternatives[-1], True
        return chosen
