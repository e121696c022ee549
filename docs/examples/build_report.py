"""Builds `sparsespec-report.pdf`, one of the example documents, from the text and figures in `sparsespec_report/`.

    python docs/examples/build_report.py [FILE]

The same bytes come out of every run: no date, no random identifier, and no compression (whose output differs between
zlib builds). Needs reportlab, which `pip install '.[dev]'` brings.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageBreak, PageTemplate, Paragraph
from sparsespec_report import method, numbers
from sparsespec_report.front import NAME, SUBJECT, front
from sparsespec_report.style import HEADING, MARGIN, QUIET, RULE, TEXT_WIDTH

TARGET = Path(__file__).with_name("sparsespec-report.pdf")


class LineCanvas(Canvas):
    """A canvas whose strings do not end in a line feed, so that a table row is extracted as one line of text."""

    def drawString(self, x: float, y: float, text: str, **_: Any) -> None:  # noqa: N802 - reportlab's name
        line = self.beginText(x, y)
        line.textOut(text)
        self.drawText(line)

    def drawRightString(self, x: float, y: float, text: str, **_: Any) -> None:  # noqa: N802 - reportlab's name
        self.drawString(x - self.stringWidth(text), y, text)

    def drawCentredString(self, x: float, y: float, text: str, **_: Any) -> None:  # noqa: N802 - reportlab's name
        self.drawString(x - self.stringWidth(text) / 2, y, text)


class Report(BaseDocTemplate):
    """Pages with a number at the foot; `sections` collects the heading and page of each section."""

    def __init__(self, target: str | BytesIO) -> None:
        super().__init__(
            target, pagesize=A4, invariant=1, pageCompression=0, title=NAME, subject=SUBJECT, author="The spsl project"
        )
        self.sections: list[tuple[str, int]] = []
        frame = Frame(MARGIN, 22 * mm, TEXT_WIDTH, A4[1] - 42 * mm, 0, 0, 0, 0)
        self.addPageTemplates([PageTemplate("page", [frame], onPageEnd=_foot)])

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802 - reportlab's name
        """Note where a section begins, for the contents and the outline."""
        if isinstance(flowable, Paragraph) and flowable.style is HEADING:
            text = flowable.getPlainText()
            self.canv.bookmarkPage(text)
            self.canv.addOutlineEntry(text, text)
            self.sections.append((text, self.page))


def _foot(canvas: Canvas, document: Any) -> None:
    canvas.saveState()
    canvas.setStrokeColor(RULE)
    canvas.line(MARGIN, 16 * mm, A4[0] - MARGIN, 16 * mm)
    canvas.setFont("Helvetica", 8.5)
    canvas.setFillColor(QUIET)
    canvas.drawString(MARGIN, 11.5 * mm, NAME)
    canvas.drawRightString(A4[0] - MARGIN, 11.5 * mm, f"Page {document.page}")
    canvas.restoreState()


def story(sections: Sequence[tuple[str, int]]) -> list[Flowable]:
    """The whole report in order; `sections` fills the contents."""
    return [
        *front(sections),
        PageBreak(),
        *method.speculative_decoding(),
        *method.kv_cache(),
        *method.sparse_view(),
        *method.verification(),
        *numbers.draft_length(),
        *numbers.arithmetic(),
        *numbers.measurements(),
        *numbers.limits(),
        *numbers.glossary(),
    ]


def build(path: Path) -> None:
    """Write the report to `path`: once without contents to learn the pages, then in earnest."""
    trial = Report(BytesIO())
    trial.build(story([]), canvasmaker=LineCanvas)
    report = Report(str(path))
    report.build(story(trial.sections), canvasmaker=LineCanvas)
    if report.sections != trial.sections:
        raise RuntimeError("the contents moved the sections that they list: the first page is too full")


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
