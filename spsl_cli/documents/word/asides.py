"""What a Word document refers to beside its text: notes, comments, page headers and footers, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spsl_cli.documents.word.context import ENDNOTE, FOOTNOTE, Context
from spsl_cli.documents.word.names import is_on
from spsl_cli.documents.wording import one_line

_LONGEST_NAME = 60

Attributes = Mapping[str, str]
Undo = Callable[[], object] | None


@dataclass(slots=True)
class _Section:
    """The headers and footers of a section (kind, pages, part), and whether its first page has its own."""

    margins: list[tuple[str, str, str]] = field(default_factory=list)
    first: bool = False


class Asides:
    """`handlers` are called where an element begins; what they return is called where it ends."""

    def __init__(self, context: Context, part: str, write: Callable[[str], None]) -> None:
        """`write` puts text where the reference stands."""
        self._context = context
        self._part = part
        self._write = write
        self._margins = _Section()
        self.handlers: dict[str, Callable[[Attributes], Undo]] = {
            "v:shape": self._picture, "v:textpath": self._word_art, "w:altChunk": self._imported,
            "o:OLEObject": self._object, "w:objectEmbed": self._object, "w:objectLink": self._object,
            "w:subDoc": self._imported,
            "w:commentRangeEnd": self._comment_end, "w:commentRangeStart": self._comment_start,
            "w:endnoteReference": self._endnote, "w:footerReference": self._margin("footer"),
            "w:footnoteReference": self._footnote, "w:headerReference": self._margin("header"),
            "w:sectPr": self._section, "w:titlePg": self._first_page, "wp:docPr": self._picture,
        }  # fmt: skip

    def _picture(self, named: Attributes) -> Undo:
        if alt := " ".join((named.get(":descr") or named.get(":alt") or "").split()):
            self._write(f"[image: {alt}]")
        return None

    def _word_art(self, named: Attributes) -> Undo:
        self._write(" ".join(named.get(":string", "").split()))
        return None

    def _imported(self, named: Attributes) -> Undo:
        part = self._context.package.target(self._part, named.get("r:id", ""))
        outside = self._context.package.outside(self._part, named.get("r:id", ""))
        what = part or (f"{one_line(outside)} (a link)" if outside else "it is missing")
        self._context.warn(f"another document inside this one is not read: {what}")
        return None

    def _object(self, named: Attributes) -> Undo:
        name = named.get(":ProgID") or named.get("w:progId") or "unknown"
        self._context.objects[one_line(name, _LONGEST_NAME)] += 1
        return None

    def _footnote(self, named: Attributes) -> Undo:
        return self._note(FOOTNOTE, named)

    def _endnote(self, named: Attributes) -> Undo:
        return self._note(ENDNOTE, named)

    def _note(self, kind: str, named: Attributes) -> Undo:
        own = "w:customMarkFollows" in named and is_on(named["w:customMarkFollows"])
        self._write(self._context.note_mark(kind, named.get("w:id", ""), own_mark=own))
        return None

    def _comment_start(self, named: Attributes) -> Undo:
        self._context.open_anchor(named.get("w:id", ""))
        return None

    def _comment_end(self, named: Attributes) -> Undo:
        self._context.open_anchors.discard(named.get("w:id", ""))
        return None

    def _section(self, _: Attributes) -> Undo:
        """Only those headers and footers count that some page of the section shows."""
        section = self._margins = _Section()

        def close() -> None:
            for kind, pages, part in section.margins:
                if (
                    pages == "default"
                    or (pages == "first" and section.first)
                    or (pages == "even" and self._context.even)
                ):
                    self._context.margins[kind][part] = None

        return close

    def _margin(self, kind: str) -> Callable[[Attributes], Undo]:
        def refer(named: Attributes) -> Undo:
            if part := self._context.package.target(self._part, named.get("r:id", "")):
                self._margins.margins.append((kind, named.get("w:type", "default"), part))
            return None

        return refer

    def _first_page(self, named: Attributes) -> Undo:
        self._margins.first = is_on(named.get("w:val"))
        return None
