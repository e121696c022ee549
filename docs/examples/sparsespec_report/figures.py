"""The two figures of the report as vector drawings: a sparse index on a strip of positions, and speedup against k."""

from __future__ import annotations

from collections.abc import Sequence

from reportlab.graphics.shapes import Drawing, Line, PolyLine, Rect, String
from reportlab.lib.colors import Color

from sparsespec_report.arithmetic import best_speedup, ideal_speedup
from sparsespec_report.style import AMBER, DEEP, INK, LEAF, PALE, QUIET, RULE, TEXT_WIDTH

LABEL_SIZE = 8
STRIP_POSITIONS = 60
STRIP_SINK = (0, 1)
STRIP_IMPORTANT = (9, 10, 17, 28, 29, 30, 41, 47)
STRIP_RECENT = tuple(range(54, 60))

CURVES: tuple[tuple[float, Color], ...] = ((0.95, DEEP), (0.90, AMBER), (0.80, LEAF))
CURVE_COST = 0.30
LONGEST = 16


def _label(x: float, y: float, text: str, colour: Color = INK, anchor: str = "start") -> String:
    return String(x, y, text, fontName="Helvetica", fontSize=LABEL_SIZE, fillColor=colour, textAnchor=anchor)


def strip() -> Drawing:
    """Sixty positions of one KV head; those that a draft reads are coloured by the reason why."""
    drawing = Drawing(TEXT_WIDTH, 62)
    width = TEXT_WIDTH / STRIP_POSITIONS
    groups = ((STRIP_SINK, LEAF), (STRIP_IMPORTANT, AMBER), (STRIP_RECENT, DEEP))
    colours = {position: colour for positions, colour in groups for position in positions}
    for position in range(STRIP_POSITIONS):
        fill = colours.get(position, PALE)
        drawing.add(Rect(position * width, 22, width - 1, 22, fillColor=fill, strokeColor=RULE, strokeWidth=0.4))
    drawing.add(_label(0, 50, "first position", QUIET))
    drawing.add(_label(TEXT_WIDTH, 50, "newest position", QUIET, "end"))
    legend = (
        (LEAF, "sink"),
        (AMBER, "important"),
        (DEEP, "recent"),
        (PALE, "not read by the draft, kept for verification"),
    )
    x = 0.0
    for colour, text in legend:
        drawing.add(Rect(x, 3, 9, 9, fillColor=colour, strokeColor=RULE, strokeWidth=0.4))
        drawing.add(_label(x + 13, 4.5, text))
        x += 32 + 4.2 * len(text)
    return drawing


class _Axes:
    """Maps draft length and speedup to points of a drawing."""

    def __init__(self, left: float, bottom: float, width: float, height: float, top: float) -> None:
        self.left, self.bottom, self.width, self.height, self.top = left, bottom, width, height, top

    def x(self, k: float) -> float:
        return self.left + self.width * k / LONGEST

    def y(self, speedup: float) -> float:
        return self.bottom + self.height * (speedup - 0.5) / (self.top - 0.5)


def _grid(drawing: Drawing, axes: _Axes, levels: Sequence[float]) -> None:
    for level in levels:
        y = axes.y(level)
        even = level == 1.0
        drawing.add(
            Line(
                axes.left,
                y,
                axes.left + axes.width,
                y,
                strokeColor=QUIET if even else RULE,
                strokeWidth=0.5 + 0.4 * even,
            )
        )
        drawing.add(_label(axes.left - 6, y - 3, f"{level:.1f}", QUIET, "end"))
    for k in range(0, LONGEST + 1, 4):
        drawing.add(_label(axes.x(k), axes.bottom - 13, str(k), QUIET, "middle"))
    drawing.add(_label(axes.left + axes.width / 2, axes.bottom - 26, "draft length k", INK, "middle"))


def curves() -> Drawing:
    """Speedup against draft length for three per-token acceptances at one draft cost; each maximum is marked."""
    drawing = Drawing(TEXT_WIDTH, 190)
    axes = _Axes(left=34, bottom=32, width=TEXT_WIDTH - 150, height=140, top=2.5)
    _grid(drawing, axes, (0.5, 1.0, 1.5, 2.0, 2.5))
    drawing.add(_label(4, 180, "speedup", INK))
    for acceptance, colour in CURVES:
        values = [1.0, *(ideal_speedup(acceptance, CURVE_COST, k) for k in range(1, LONGEST + 1))]
        points = [coordinate for k, value in enumerate(values) for coordinate in (axes.x(k), axes.y(value))]
        drawing.add(PolyLine(points, strokeColor=colour, strokeWidth=1.8))
        peak = peak_k(acceptance)
        drawing.add(Rect(axes.x(peak) - 2.6, axes.y(values[peak]) - 2.6, 5.2, 5.2, fillColor=colour, strokeColor=None))
        drawing.add(_label(axes.x(LONGEST) + 6, axes.y(values[-1]) - 3, f"acceptance {acceptance:.2f}", colour))
    return drawing


def peak_k(acceptance: float) -> int:
    """The draft length at which the curve of this acceptance is highest."""
    return best_speedup(acceptance, CURVE_COST)[1]
