"""Paragraphs and runs of a Word document -> a flow of text. Knows how they look as text, not how they are marked up."""

from __future__ import annotations

import re

from spsl_cli.documents.invisible import without_invisible
from spsl_cli.documents.markup.flow import BLANK_LINE, NEW_LINE, Flow
from spsl_cli.documents.markup.raised import raise_since, raised
from spsl_cli.documents.unseen import MARKED, TINY, Colour, camouflage, of_hex
from spsl_cli.documents.word.context import Context
from spsl_cli.documents.word.labels import BULLET
from spsl_cli.documents.word.place import Paragraph, Place, Run
from spsl_cli.documents.word.styles import Style

_MOST_MARKS = 6
_INDENT = "  "
_TINY = 3  # half points
_AUTOMATIC = "auto"
_STRIKE = "~~"
_BREAKS = re.compile(r"[\n\r\f]+")


class Writer:
    """Writes into the innermost place that has been entered and not left."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._places = [Place(Flow(context.room))]

    @property
    def place(self) -> Place:
        """Where text goes."""
        return self._places[-1]

    def enter(self) -> Place:
        """A place of its own, such as a cell."""
        self._places.append(Place(Flow(self._context.room)))
        return self.place

    def leave(self) -> list[str]:
        """The lines of the place that was entered last, which is left."""
        self.end_paragraph()
        return self._places.pop().flow.finish()

    def finish(self) -> list[str]:
        """All lines of the outermost place."""
        self.end_paragraph()
        return self._places[0].flow.finish()

    def text(self, text: str) -> None:
        """Text as it stands in the run that is open."""
        place, run = self.place, self.place.run
        text = _BREAKS.sub(" ", without_invisible(text))
        if not text:
            return
        if why := self._why_hidden(run):
            self._context.unseen.add(why, text)
            return
        self.begin()
        if not run.raised or run.struck != place.struck:
            self.end_raised()
        if run.struck != place.struck:
            place.flow.append(_STRIKE)
            place.struck = run.struck
        if run.raised and place.raised is None:
            place.raised = place.flow.here()
        place.flow.write(text)
        self._context.anchor(raised(text, "1") if run.raised else text)

    def end_raised(self) -> None:
        """Raised text, if there is some, ends."""
        place = self.place
        if place.raised is not None:
            raise_since(place.flow, place.raised)
            place.raised = None

    def new_run(self) -> Run:
        """A run as the paragraph's style makes it."""
        run = Run()
        run.take(self._style())
        return run

    def _style(self) -> Style:
        styles, paragraph = self._context.styles, self.place.paragraph
        return styles[paragraph.style if paragraph and paragraph.style is not None else styles.usual]

    def _why_hidden(self, run: Run) -> str:
        """Why nobody sees what stands in the run; empty where it is seen."""
        if run.hidden:
            return MARKED
        if run.size is not None and 0 < run.size <= _TINY:
            return TINY
        colour = of_hex(run.colour)
        return camouflage(colour, self._background(run)) if colour else ""

    def _background(self, run: Run) -> Colour | None:
        """The colour behind a run; None where it is not known."""
        paragraph = self.place.paragraph
        for fill in (run.fill, paragraph.fill if paragraph else None):
            if fill and fill != _AUTOMATIC:
                return of_hex(fill)
        for place in reversed(self._places):
            if place.tables and place is not self.place and place.tables[-1].painted:
                return None
            if place.cell.fill and place.cell.fill != _AUTOMATIC:
                return of_hex(place.cell.fill)
            if place.boxed:
                return None
        return self._context.paper

    def line_break(self) -> None:
        """A new line within the paragraph."""
        paragraph = self.place.paragraph
        if self.place.run.hidden or paragraph is None or not paragraph.begun:
            return
        self.end_raised()
        self.place.flow.write(" " if paragraph.heading else "\n")

    def start_paragraph(self) -> None:
        """What it is like is told before its text comes. It goes on in the one before whose end has been deleted."""
        before = self.place.paragraph
        if before is not None and before.joins:
            before.joins = before.mark_deleted = False
        else:
            self.end_paragraph()  # only a damaged document has one inside another
            self.place.paragraph = Paragraph()
        self.place.run = Run()

    def close_paragraph(self) -> None:
        """Its element ends; it is ended too, unless its end has been deleted."""
        paragraph = self.place.paragraph
        if paragraph is not None and paragraph.begun and paragraph.mark_deleted:
            paragraph.joins = True
        else:
            self.end_paragraph()

    def begin(self) -> None:
        """The paragraph's first text is about to come; one without text is never begun."""
        place, paragraph = self.place, self.place.paragraph
        if paragraph is None:
            paragraph = place.paragraph = Paragraph()
        if paragraph.begun:
            return
        paragraph.begun = True
        style, label, depth = self._context.styles[paragraph.style], *self._label(paragraph)
        level = paragraph.level if paragraph.level is not None else style.level
        flow, listed = place.flow, False
        if level:
            flow.block(BLANK_LINE)
            label = "" if label == BULLET else label
            flow.indent(
                f"{'#' * min(level, _MOST_MARKS)} {label} " if label else f"{'#' * min(level, _MOST_MARKS)} ", ""
            )
            paragraph.heading = paragraph.margin = place.spread = True
        elif label or style.contents:
            listed = True
            first = _INDENT * (depth if label else (style.contents or 1) - 1) + (f"{label} " if label else "")
            flow.block(NEW_LINE if place.listed else BLANK_LINE)
            if place.listed:
                flow.tighten()
            flow.indent(first, " " * len(first))
            paragraph.margin = True
        else:
            flow.block(BLANK_LINE)
        place.listed = listed
        flow.start_verbatim()

    def end_paragraph(self) -> None:
        """Ends it, and writes the text boxes that are anchored in it."""
        place, paragraph = self.place, self.place.paragraph
        place.paragraph = None
        if paragraph is None:
            return
        if paragraph.begun:
            self.end_raised()
            if place.struck:
                place.flow.append(_STRIKE)
                place.struck = False
            place.flow.block(NEW_LINE)
            place.flow.end_verbatim()
            if paragraph.margin:
                place.flow.outdent()
        elif not paragraph.mark_deleted:
            self._label(paragraph)  # an empty paragraph is counted too
        if paragraph.heading:
            place.flow.block(BLANK_LINE)
        for lines in paragraph.boxes:
            place.flow.add(lines, BLANK_LINE)
            place.flow.block(BLANK_LINE)
            place.listed = False

    def set_apart(self, lines: list[str]) -> None:
        """Lines of a text box or a drawing: they follow the paragraph that is open."""
        place = self.place
        if not lines:
            return
        if place.paragraph is None:
            place.flow.add(lines, BLANK_LINE)
        else:
            place.paragraph.boxes.append(lines)

    def _label(self, paragraph: Paragraph) -> tuple[str, int]:
        """Its number as Word writes it, and how deep it stands."""
        style, labels = self._context.styles[paragraph.style], self._context.labels
        if paragraph.number is not None:
            number: str | None = paragraph.number
            depth = paragraph.depth or 0
        else:
            number, own = style.number, style.depth if paragraph.depth is None else paragraph.depth
            depth = labels.depth_of_style(number, paragraph.style) if own is None else own
        return labels.following(number, depth), depth
