"""Paragraphs and runs of a Word document -> a flow of text. Knows how they look as text, not how they are marked up."""

from __future__ import annotations

import re

from spsl_cli.documents.invisible import without_invisible
from spsl_cli.documents.markup.flow import BLANK_LINE, NEW_LINE, Flow
from spsl_cli.documents.markup.inline import SUPERSCRIPTABLE, SUPERSCRIPTS
from spsl_cli.documents.word.context import Context
from spsl_cli.documents.word.labels import BULLET
from spsl_cli.documents.word.place import Paragraph, Place, Run

_MOST_MARKS = 6
_INDENT = "  "
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
        return self._places.pop().flow.finish()

    def finish(self) -> list[str]:
        """All lines of the outermost place."""
        return self._places[0].flow.finish()

    def text(self, text: str) -> None:
        """Text as it stands in the run that is open."""
        place, run = self.place, self.place.run
        text = _BREAKS.sub(" ", without_invisible(text))
        if run.hidden or not text:
            return
        self.begin()
        if run.struck != place.struck:
            place.flow.append(_STRIKE)
            place.struck = run.struck
        if run.raised and SUPERSCRIPTABLE.fullmatch(text):
            text = text.translate(SUPERSCRIPTS)
        place.flow.write(text)
        self._context.anchor(text)

    def line_break(self) -> None:
        """A new line within the paragraph."""
        paragraph = self.place.paragraph
        if self.place.run.hidden or paragraph is None or not paragraph.begun:
            return
        self.place.flow.write(" " if paragraph.heading else "\n")

    def start_paragraph(self) -> None:
        """What it is like is told before its text comes."""
        self.place.paragraph = Paragraph()
        self.place.run = Run()

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
