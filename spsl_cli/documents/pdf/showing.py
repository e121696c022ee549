"""Strings shown by a content stream -> runs, with blanks where the gap between two glyphs is one between words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import hypot
from statistics import median
from typing import Any

from spsl_cli.documents.pdf.faces import Face
from spsl_cli.documents.pdf.runs import Box, Matrix, Run, finite, inside, product
from spsl_cli.documents.pdf.state import Pen, State
from spsl_cli.documents.pdf.surface import Surface

INVISIBLE, TRANSPARENT, WHITE, TINY, OUTSIDE = "invisible", "transparent", "white on white", "tiny", "outside the page"
_STROKED, _INVISIBLE = (1, 2, 5, 6), 3
_SMALLEST = 0.75
# A gap this wide, in parts of the font's size, is one between two columns of something and ends the run.
_COLUMN_GAP = 1.2
_FEWEST_SPACED_LETTERS = 4
_WIDEST_SPACING = 0.5
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")

_Piece = tuple[Sequence[str], float, int]


class Showing:
    """Collects the runs of one page."""

    def __init__(self, surface: Surface, page: Box) -> None:
        self.runs: list[Run] = []
        self._surface = surface
        self._page = page

    def show(self, state: State, pen: Pen, items: Sequence[Any], *, layer_off: bool) -> None:
        """Shows the strings among `items`; a number moves the pen back by so many thousandths of the font's size."""
        face, size = state.face, state.size
        pieces: list[_Piece] = []
        gaps: list[float] = []
        gap = 0.0
        for item in items:
            if isinstance(item, int | float):
                gap -= item / 1000
            elif isinstance(item, bytes) and item:
                pieces.append(face.glyphs(item))
                gaps.append(gap)
                gap = 0.0
        characters = state.characters
        spacing = characters / size if size else 0.0
        if spacing > face.space and min(gaps, default=0.0) < -spacing / 2:
            pieces, gaps = _apart(pieces, gaps, spacing)
            characters = 0.0
        threshold = _threshold(face, pieces, gaps)
        vertical = face.vertical
        # Vertical text is never stretched.
        stretch = 1.0 if vertical else state.stretch
        at = start = 0.0
        parts: list[str] = []
        glyphs: list[str] = []
        for (signs, width, blanks), before in zip(pieces, gaps, strict=True):
            at += before * size * stretch
            if glyphs and abs(before) > _COLUMN_GAP and before > threshold:
                self._add(state, pen, parts, glyphs, start, at - before * size * stretch, layer_off=layer_off)
                parts, glyphs = [], []
            elif parts and before > threshold and not parts[-1].endswith(" "):
                parts.append(" ")
                glyphs.append(" ")
            if not glyphs:
                start = at
            parts.append("".join(signs))
            glyphs.extend(signs)
            at += (width * size + len(signs) * characters + blanks * state.words) * stretch
        if glyphs:
            self._add(state, pen, parts, glyphs, start, at, layer_off=layer_off)
        at += gap * size * stretch
        shift = (1.0, 0.0, 0.0, 1.0, 0.0, -at) if vertical else (1.0, 0.0, 0.0, 1.0, at, 0.0)
        pen.text = product(shift, pen.text)

    def _add(
        self,
        state: State,
        pen: Pen,
        parts: list[str],
        glyphs: list[str],
        start: float,
        end: float,
        *,
        layer_off: bool,
    ) -> None:
        a, b, c, d, e, f = product(pen.text, state.matrix)
        e, f = e + c * state.rise, f + d * state.rise
        face, size = state.face, state.size
        across, up = (-c, -d) if face.vertical else (a, b), hypot(c, d)
        x, y = e + across[0] * start, f + across[1] * start
        end_x, end_y = e + across[0] * end, f + across[1] * end
        if not finite(x, y, end_x, end_y, up):
            return
        length = hypot(*across)
        sign = -1.0 if size * state.stretch < 0 else 1.0
        direction = (sign * across[0] / length, sign * across[1] / length) if length else (1.0, 0.0)
        height = abs(size) * up * face.height
        run = Run(
            "".join(parts), x, y, end_x, end_y, height, abs(face.space * size * state.stretch) * length, direction
        )
        if not run.text.isascii() and _RIGHT_TO_LEFT.search(run.text):
            run.glyphs = glyphs
        run.hidden = self._why_hidden(state, run, layer_off=layer_off)
        self.runs.append(run)

    def _why_hidden(self, state: State, run: Run, *, layer_off: bool) -> str:  # noqa: PLR0911 - one for each reason
        if layer_off:
            return "on a layer that is switched off"
        if state.mode == _INVISIBLE:
            return INVISIBLE
        if not state.painted:
            return TRANSPARENT
        if run.size < _SMALLEST:
            return TINY
        middle_x, middle_y = (run.x + run.end_x) / 2, (run.y + run.end_y) / 2
        if not any(
            inside(x, y, self._page, run.size)
            for x, y in ((run.x, run.y), (middle_x, middle_y), (run.end_x, run.end_y))
        ):
            return OUTSIDE
        # Measured a little above the baseline, where the letters stand.
        lift = run.size * 0.3
        at = middle_x - run.direction[1] * lift, middle_y + run.direction[0] * lift
        if state.white and state.mode not in _STROKED and self._surface.is_white(*at):
            return WHITE
        return ""


def _threshold(face: Face, pieces: list[_Piece], gaps: list[float]) -> float:
    """The gap from which on two glyphs are two words, in parts of the size: letters may be spaced out evenly."""
    if len(pieces) < _FEWEST_SPACED_LETTERS:
        return face.space
    if not all(len(signs) == 1 and signs[0].isalpha() for signs, _, _ in pieces):
        return face.space
    usual = median(gaps[1:])
    return max(face.space, 1.6 * usual) if usual < _WIDEST_SPACING else face.space


def _apart(pieces: list[_Piece], gaps: list[float], spacing: float) -> tuple[list[_Piece], list[float]]:
    """Wide spacing that is taken back between some glyphs is a gap between the others."""
    single: list[_Piece] = []
    between: list[float] = []
    for (signs, width, blanks), gap in zip(pieces, gaps, strict=True):
        for at, sign in enumerate(signs):
            # Only the whole piece's width is known; its glyphs share it, and its blanks go with the first.
            single.append(([sign], width / len(signs), 0 if at else blanks))
            between.append(gap if not at else 0.0)
    return single, [gap + spacing if at else gap for at, gap in enumerate(between)]


def moved(matrix: Matrix, x: float, y: float) -> Matrix:
    """`matrix` after its origin was moved by a distance in its own units."""
    a, b, c, d, e, f = matrix
    return a, b, c, d, a * x + c * y + e, b * x + d * y + f
