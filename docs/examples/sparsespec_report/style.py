"""The look of the report: colours, paragraph styles, tables, equations. Knows nothing of what the report says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reportlab.lib.colors import HexColor, white
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import Flowable, KeepTogether, Paragraph, Spacer, Table

INK = HexColor("#1d2733")
QUIET = HexColor("#5c6b7a")
DEEP = HexColor("#0f4c5c")
AMBER = HexColor("#d98324")
LEAF = HexColor("#5a8f5a")
PALE = HexColor("#eef3f5")
RULE = HexColor("#c8d3d9")

MARGIN = 24 * mm
TEXT_WIDTH = A4[0] - 2 * MARGIN

BODY = ParagraphStyle(
    "body",
    fontName="Times-Roman",
    fontSize=10.6,
    leading=14.4,
    textColor=INK,
    spaceAfter=6,
    allowWidows=0,
    allowOrphans=0,
)
LEAD = ParagraphStyle("lead", parent=BODY, keepWithNext=1)
BULLET = ParagraphStyle("bullet", parent=BODY, leftIndent=14, bulletIndent=3, spaceAfter=3)
TITLE = ParagraphStyle("title", fontName="Helvetica-Bold", fontSize=25, leading=30, textColor=DEEP, spaceAfter=4)
SUBTITLE = ParagraphStyle("subtitle", fontName="Helvetica", fontSize=12.5, leading=17, textColor=QUIET, spaceAfter=2)
HEADING = ParagraphStyle(
    "heading",
    fontName="Helvetica-Bold",
    fontSize=15,
    leading=19,
    textColor=DEEP,
    spaceBefore=14,
    spaceAfter=6,
    keepWithNext=1,
)
SUBHEADING = ParagraphStyle(
    "subheading",
    fontName="Helvetica-Bold",
    fontSize=11,
    leading=14,
    textColor=INK,
    spaceBefore=7,
    spaceAfter=3,
    keepWithNext=1,
)
# The contents list has a heading of its own that must not appear in itself.
PLAIN_HEADING = ParagraphStyle("plain heading", parent=HEADING)
CAPTION = ParagraphStyle(
    "caption", fontName="Helvetica", fontSize=8.6, leading=11.4, textColor=QUIET, spaceBefore=3, spaceAfter=9
)
CELL_SIZE = 8.8


def body(text: str) -> Paragraph:
    return Paragraph(text, BODY)


def lead(text: str) -> Paragraph:
    """A paragraph that must not be parted from what it announces."""
    return Paragraph(text, LEAD)


def heading(text: str) -> Paragraph:
    return Paragraph(text, HEADING)


def subheading(text: str) -> Paragraph:
    return Paragraph(text, SUBHEADING)


def bullets(*texts: str) -> list[Flowable]:
    """One paragraph for each text, with a dash before it and a little air after the last.

    A dash, because reportlab writes the round bullet of the standard fonts as a control character.
    """
    return [*(Paragraph(text, BULLET, bulletText="\u2013") for text in texts), Spacer(1, 4)]


def equation(text: str, number: int) -> Table:
    """A centred line of mathematics with its number (the numbers are those of the published method)."""
    margin = 18 * mm
    grid = Table([[text, f"(Eq. {number})"]], colWidths=[TEXT_WIDTH - margin, margin], spaceBefore=2, spaceAfter=7)
    grid.setStyle(
        [
            ("FONT", (0, 0), (-1, -1), "Times-Roman", 11),
            ("TEXTCOLOR", (0, 0), (-1, -1), INK),
            ("ALIGN", (0, 0), (0, 0), "CENTER"),
            ("ALIGN", (1, 0), (1, 0), "RIGHT"),
            ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
            ("BACKGROUND", (0, 0), (-1, -1), PALE),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 6),
        ]
    )
    return grid


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[float], caption: str, *, left: int = 1
) -> KeepTogether:
    """A ruled table with its caption; `widths` are shares of the text width, the first `left` columns are words.

    Cells are plain strings on one line: then each row is one line of text for whoever extracts it.
    """
    grid = Table([list(head), *map(list, rows)], colWidths=[share * TEXT_WIDTH for share in widths], spaceBefore=4)
    grid.setStyle(
        [
            *_rules(first=1),
            ("ALIGN", (left, 0), (-1, -1), "RIGHT"),
            ("BACKGROUND", (0, 0), (-1, 0), DEEP),
            ("TEXTCOLOR", (0, 0), (-1, 0), white),
            ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", CELL_SIZE),
        ]
    )
    return KeepTogether([grid, Paragraph(caption, CAPTION)])


def facts(rows: Sequence[tuple[str, str]], label_share: float) -> Table:
    """A table without a head: a bold label and what it stands for, on one line."""
    data = [[f"{label}:", text] for label, text in rows]
    grid = Table(data, colWidths=[label_share * TEXT_WIDTH, (1 - label_share) * TEXT_WIDTH], spaceAfter=4)
    grid.setStyle([*_rules(first=0), ("FONT", (0, 0), (0, -1), "Helvetica-Bold", CELL_SIZE)])
    return grid


def contents(sections: Sequence[tuple[str, int]]) -> Table:
    """Section headings and the pages on which they stand, each line a link."""
    grid = Table(
        [[title, str(page)] for title, page in sections] or [["", ""]],
        colWidths=[0.92 * TEXT_WIDTH, 0.08 * TEXT_WIDTH],
    )
    grid.setStyle([*_rules(first=0), ("ALIGN", (1, 0), (1, -1), "RIGHT")])
    return grid


def _rules(first: int) -> list[tuple[Any, ...]]:
    return [
        ("FONT", (0, 0), (-1, -1), "Helvetica", CELL_SIZE),
        ("TEXTCOLOR", (0, 0), (-1, -1), INK),
        ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
        ("TOPPADDING", (0, 0), (-1, -1), 3.4),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 4.2),
        ("ROWBACKGROUNDS", (0, first), (-1, -1), [white, PALE]),
        ("LINEBELOW", (0, 0), (-1, -1), 0.4, RULE),
    ]
