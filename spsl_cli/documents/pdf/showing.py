"""Strings shown by a content stream -> runs, with blanks where the gap between two glyphs is one between words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import hypot
from statistics import median
from typing import Any

from spsl_cli.documents.pdf.faces import Face
from spsl_cli.documents.pdf.runs import Matrix, Run, finite, product
from spsl_cli.documents.pdf.sameline import FILLER
from spsl_cli.documents.pdf.sight import CLIPPED, Sight, is_within
from spsl_cli.documents.pdf.state import Pen, State

# A gap this wide, in parts of the font's size, is one between two columns of something and ends the run.
_COLUMN_GAP = 1.2
_FEWEST_SPACED_LETTERS = 4
_WIDEST_SPACING = 0.5
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")

_Piece = tuple[Sequence[str], float, int]
# How wide glyphs are for their height, at least.
_NARROWEST = 0.03
_STEPS = (1, 2)
_FILLERS, _SHORTEST_FILLER = ("_", ".", "\u2026", " "), 3


class Showing:
    """Collects the runs of one page."""

    def __init__(self, sight: Sight) -> None:
        self.runs: list[Run] = []
        self._sight = sight

    def show(self, state: State, pen: Pen, items: Sequence[Any], *, layer_off: bool) -> None:
        """Shows the strings among `items`; a number moves the pen back by so many thousandths of the font's size."""
        face, size = state.face, state.size
        one_by_one = state.clip is not None and self._is_cut(state, pen, items)
        pieces, gaps, gap = _pieces(face, items, one_by_one=one_by_one)
        characters = state.characters
        spacing = characters / size if size else 0.0
        taken_back = spacing > face.space and min(gaps, default=0.0) < -spacing / 2
        in_letters = all(sign.isalpha() for signs, _, _ in pieces for sign in signs)
        if taken_back or (spacing > _COLUMN_GAP and not in_letters):
            pieces, gaps = _apart(pieces, gaps, spacing)
            characters = 0.0
        threshold = _threshold(face, pieces, gaps)
        vertical = face.vertical
        # Vertical text is never stretched.
        stretch = 1.0 if vertical else state.stretch
        at = start = 0.0
        parts: list[str] = []
        glyphs: list[str] = []
        clipped_away = filler = False
        for (signs, width, blanks), before in zip(pieces, gaps, strict=True):
            at += before * size * stretch
            length = (width * size + len(signs) * characters + blanks * state.words) * stretch
            clipped_before, clipped_away = clipped_away, one_by_one and not self._shows(state, pen, at, at + length)
            filled_before, filler = filler, len(signs) >= _SHORTEST_FILLER and signs[0] in _FILLERS
            parted = clipped_before != clipped_away or filler or filled_before
            if glyphs and ((abs(before) > _COLUMN_GAP and before > threshold) or parted):
                end = at - before * size * stretch
                self._add(state, pen, parts, glyphs, start, end, layer_off=layer_off, clipped_away=clipped_before)
                parts, glyphs = [], []
            elif parts and before > threshold and not parts[-1].endswith(" "):
                parts.append(" ")
                glyphs.append(" ")
            if not glyphs:
                start = at
            parts.append("".join(signs))
            glyphs.extend(signs)
            at += length
        if glyphs:
            self._add(state, pen, parts, glyphs, start, at, layer_off=layer_off, clipped_away=clipped_away)
        at += gap * size * stretch
        shift = (1.0, 0.0, 0.0, 1.0, 0.0, -at) if vertical else (1.0, 0.0, 0.0, 1.0, at, 0.0)
        pen.text = product(shift, pen.text)

    def _is_cut(self, state: State, pen: Pen, items: Sequence[Any]) -> bool:
        """Whether a clip may run through what is shown."""
        pieces, gaps, _ = _pieces(state.face, items, one_by_one=False)
        length = sum(
            width * state.size + len(signs) * state.characters + blanks * state.words for signs, width, blanks in pieces
        )
        length = (length + sum(gaps) * state.size) * state.stretch
        if state.face.vertical or not self._shows(state, pen, 0.0, length):
            return False
        return not (self._shows(state, pen, 0.0, 0.0) and self._shows(state, pen, length, length))

    @staticmethod
    def _shows(state: State, pen: Pen, start: float, end: float) -> bool:
        """Whether anything between two points along the line lies within the clip."""
        a, b, c, d, e, f = product(pen.text, state.matrix)
        e, f = e + c * state.rise, f + d * state.rise
        size = abs(state.size) * hypot(c, d)
        return state.clip is None or is_within(
            (e + a * start, f + b * start), (e + a * end, f + b * end), (c, d), size, state.clip
        )

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
        clipped_away: bool,
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
        if clipped_away and not layer_off:
            run.hidden = CLIPPED
        else:
            flat = not face.vertical and length * abs(state.stretch) < _NARROWEST * up
            self._sight.judge(state, run, layer_off=layer_off, flat=flat)
        self.runs.append(run)


def _threshold(face: Face, pieces: list[_Piece], gaps: list[float]) -> float:
    """The gap from which on two glyphs are two words, in parts of the size: letters may be spaced out evenly."""
    if len(pieces) < _FEWEST_SPACED_LETTERS:
        return face.space
    if not all(len(signs) == 1 and signs[0].isalpha() for signs, _, _ in pieces):
        return face.space
    usual = median(gaps[1:])
    return max(face.space, 1.6 * usual) if usual < _WIDEST_SPACING else face.space


def _pieces(face: Face, items: Sequence[Any], *, one_by_one: bool) -> tuple[list[_Piece], list[float], float]:
    """Strings as glyphs, the gap before each, and the gap behind the last, in parts of the font's size."""
    pieces: list[_Piece] = []
    gaps: list[float] = []
    gap = 0.0
    for item in items:
        if isinstance(item, int | float):
            gap -= item / 1000
        elif isinstance(item, bytes) and item:
            found = face.glyphs(item)
            step, rest = divmod(len(item), len(found[0])) if found[0] else (0, 0)
            cuts = _cuts(found[0], one_by_one=one_by_one) if step in _STEPS and not rest else ()
            if cuts:
                pieces += [
                    face.glyphs(item[start * step : end * step]) for start, end in pairwise((*cuts, len(found[0])))
                ]
                gaps += [gap, *[0.0] * (len(cuts) - 1)]
            else:
                pieces.append(found)
                gaps.append(gap)
            gap = 0.0
    return pieces, gaps, gap


def _cuts(signs: Sequence[str], *, one_by_one: bool) -> Sequence[int]:
    """The first signs of the parts into which a string is cut: each sign, or each blank to be filled in."""
    if one_by_one:
        return range(len(signs))
    if len(signs) < _SHORTEST_FILLER or max(map(signs.count, _FILLERS)) < _SHORTEST_FILLER:
        return ()
    text = "".join(sign if len(sign) == 1 else "?" for sign in signs)
    return sorted({0, *(at for found in FILLER.finditer(text) for at in found.span())} - {len(signs)})


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
