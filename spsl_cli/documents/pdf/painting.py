"""The operators that draw paths, choose colours and clip: what they leave on the surface, and in the state."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot
from typing import Any, Protocol

from pypdf.generic import DictionaryObject

from spsl_cli.documents.pdf.colours import Colour, plain, space
from spsl_cli.documents.pdf.objects import entry, resolved
from spsl_cli.documents.pdf.paths import Outline, Path
from spsl_cli.documents.pdf.runs import Box, Matrix, bounds, finite
from spsl_cli.documents.pdf.state import State
from spsl_cli.documents.pdf.surface import Surface, clipped
from spsl_cli.documents.pdf.tokens import number

Handler = Callable[[Any], None]

_UNIT: Box = (0.0, 0.0, 1.0, 1.0)
_EVERYWHERE: Box = (-1e9, -1e9, 1e9, 1e9)
_NOWHERE: Box = (-2e9, -2e9, -2e9, -2e9)
_COVERS = 0.95
_THICK = 3.0
_PLAIN_BLENDS = ("/Normal", "/Compatible")
# Fewer pixels than this for each point, and nobody could read a picture of text.
_COARSEST = 0.5
_MOST_PIXELS = 64


class _Drawing(Protocol):
    """What an interpreter has: where it stands in its stream."""

    state: State
    resources: Any

    @property
    def hidden(self) -> bool:
        """Whether what is drawn now lies on a layer that is off."""


class Painting:
    """Paints for one drawing."""

    def __init__(self, drawing: _Drawing, surface: Surface) -> None:
        self._drawing = drawing
        self._surface = surface
        self._path = Path()
        self._clips = False

    def handlers(self) -> dict[bytes, Handler]:
        """The function for each of the operators."""
        return self._path_handlers() | self._colour_handlers() | {b"sh": self._shade}

    def _path_handlers(self) -> dict[bytes, Handler]:
        def end(*, filled: bool, stroked: bool) -> Handler:
            return lambda _: self._end(filled=filled, stroked=stroked)

        def clip(_: Any) -> None:
            self._clips = True

        found = dict.fromkeys((b"f", b"F", b"f*"), end(filled=True, stroked=False))
        found |= dict.fromkeys((b"B", b"B*", b"b", b"b*"), end(filled=True, stroked=True))
        found |= dict.fromkeys((b"S", b"s"), end(filled=False, stroked=True))
        found |= {b"n": end(filled=False, stroked=False), b"W": clip, b"W*": clip}
        return found | {
            b"re": self._rectangle,
            b"m": lambda o: self._path.point(numbers(o[:2]), self._drawing.state.matrix, start=True),
            b"l": lambda o: self._path.point(numbers(o[:2]), self._drawing.state.matrix),
            b"c": lambda o: self._path.bend(numbers(o[:6]), self._drawing.state.matrix),
            b"v": lambda o: self._path.bend(numbers(o[:4]), self._drawing.state.matrix),
            b"y": lambda o: self._path.bend(numbers(o[:4]), self._drawing.state.matrix),
        }

    def _colour_handlers(self) -> dict[bytes, Handler]:
        def fill(operands: Any) -> None:
            self._drawing.state.fill_space = plain
            self._drawing.state.fill = plain(numbers(operands))

        def stroke(operands: Any) -> None:
            self._drawing.state.stroke_space = plain
            self._drawing.state.stroke = plain(numbers(operands))

        def chosen_fill(operands: Any) -> None:
            self._drawing.state.fill = _colour(self._drawing.state.fill_space, operands)

        def chosen_stroke(operands: Any) -> None:
            self._drawing.state.stroke = _colour(self._drawing.state.stroke_space, operands)

        return {
            **dict.fromkeys((b"g", b"rg", b"k"), fill),
            **dict.fromkeys((b"G", b"RG", b"K"), stroke),
            **dict.fromkeys((b"sc", b"scn"), chosen_fill),
            **dict.fromkeys((b"SC", b"SCN"), chosen_stroke),
            b"cs": self._fill_space,
            b"CS": self._stroke_space,
            b"w": lambda o: setattr(self._drawing.state, "line_width", abs(numbers(o[:1])[0])),
        }

    def _fill_space(self, operands: Any) -> None:
        state = self._drawing.state
        state.fill = None
        state.fill_space, state.fill = space(operands[0], entry(self._drawing.resources, "/ColorSpace"))

    def _stroke_space(self, operands: Any) -> None:
        state = self._drawing.state
        state.stroke = None
        state.stroke_space, state.stroke = space(operands[0], entry(self._drawing.resources, "/ColorSpace"))

    def settings(self, given: DictionaryObject) -> None:
        """Takes over opacity and the way of blending from a graphics state."""
        state = self._drawing.state
        if (opacity := entry(given, "/ca")) is not None:
            state.opacity = number(opacity)
        if (opacity := entry(given, "/CA")) is not None:
            state.stroke_opacity = number(opacity)
        if (blend := entry(given, "/BM")) is not None:
            state.blended = blend not in _PLAIN_BLENDS

    def clip_to(self, box: Box) -> None:
        """Clips to a box in the units of the state."""
        path = Path()
        path.rectangle(box, self._drawing.state.matrix)
        self._clip(*path.take())

    def image(self, picture: Any) -> None:
        """Draws an image, or None for one that stands in the stream itself."""
        state = self._drawing.state
        if self._drawing.hidden or not state.fills:
            return
        self._uncover()
        box = bounds(_UNIT, state.matrix)
        a, b, c, d, _, _ = state.matrix
        wide, high = (entry(picture, key) for key in ("/Width", "/Height"))
        fine = isinstance(wide, int) and isinstance(high, int)
        fine = fine and wide >= _COARSEST * hypot(a, b) and high >= _COARSEST * hypot(c, d)
        covers = state.opacity * state.under >= _COVERS and state.clip_exact and not state.blended
        colour = _single_colour(picture) if covers and (b == c == 0 or a == d == 0) else None
        self._surface.image(box, state.clip, colour, scan=bool(fine))

    def _shade(self, _: Any) -> None:
        state = self._drawing.state
        if state.fills and not self._drawing.hidden:
            self._uncover()
            self._surface.paint(clipped(_EVERYWHERE, state.clip) or _EVERYWHERE, None, whole=False)

    def _rectangle(self, operands: Any) -> None:
        x, y, width, height = numbers(operands[:4])
        self._path.rectangle((x, y, x + width, y + height), self._drawing.state.matrix)

    def _end(self, *, filled: bool, stroked: bool) -> None:
        outlines, extent = self._path.take()
        clips, self._clips = self._clips, False
        state = self._drawing.state
        if not self._drawing.hidden:
            if filled and state.fills and outlines:
                self._uncover()
                covers = state.opacity * state.under >= _COVERS and not state.blended
                self._surface.fill(
                    outlines, state.fill if covers else None, state.clip, clear=covers and state.clip_exact
                )
            if stroked and state.strokes and outlines:
                self._uncover()
                self._surface.stroke(outlines, state.clip)
                self._draw_thick(outlines)
        if clips:
            self._clip(outlines, extent)

    def _draw_thick(self, outlines: list[Outline]) -> None:
        state = self._drawing.state
        half = state.line_width * _scale(state.matrix) / 2
        if 2 * half >= _THICK:
            for outline in outlines:
                left, low, right, high = outline.box
                box = clipped((left - half, low - half, right + half, high + half), state.clip)
                if box is not None:
                    self._surface.paint(box, state.stroke, whole=False)

    def _clip(self, outlines: list[Outline], extent: Box | None) -> None:
        state = self._drawing.state
        if extent is None:
            return
        state.clip = clipped(extent, state.clip) or _NOWHERE
        state.clip_exact = state.clip_exact and len(outlines) == 1 and outlines[0].whole

    def _uncover(self) -> None:
        """Text that only cut out what is painted can be seen now."""
        for run in self._drawing.state.outlines:
            run.hidden = ""
        self._drawing.state.outlines = ()


def numbers(operands: Any) -> list[float]:
    """Operands as numbers that can be calculated with. Raises ValueError."""
    found = [number(operand) for operand in operands]
    if not finite(*found):
        raise ValueError(operands)
    return found


def _colour(found: Callable[[list[float]], Colour | None], operands: Any) -> Colour | None:
    # A pattern goes by its name.
    return None if any(isinstance(operand, str) for operand in operands) else found(numbers(operands))


def _scale(matrix: Matrix) -> float:
    return max(hypot(matrix[0], matrix[1]), hypot(matrix[2], matrix[3]))


def _single_colour(picture: Any) -> Colour | None:
    """The colour of an image of a few pixels that are all alike, as it is used to fill an area."""
    wide, high, bits = (entry(picture, key) for key in ("/Width", "/Height", "/BitsPerComponent"))
    if not isinstance(wide, int) or not isinstance(high, int) or not 0 < wide * high <= _MOST_PIXELS or bits != 8:  # noqa: PLR2004
        return None
    masks = ("/SMask", "/Mask", "/Decode", "/ImageMask")
    if entry(picture, "/Filter") not in (None, "/FlateDecode") or any(entry(picture, key) for key in masks):
        return None
    data = picture.get_data()
    parts = len(data) // (wide * high)
    pixel = data[:parts]
    if not parts or data[: parts * wide * high] != pixel * (wide * high):
        return None
    found, _ = space(resolved(entry(picture, "/ColorSpace")), None)
    return found([byte / 255 for byte in pixel])
