"""The state of drawing that text depends on, as the operators of a content stream change it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

from spsl_cli.documents.pdf.colours import BLACK, Colour, Space, plain
from spsl_cli.documents.pdf.faces import Face
from spsl_cli.documents.pdf.runs import IDENTITY, Box, Matrix, Run

_FAINT = 0.05


@dataclass(slots=True)
class State:
    """Lengths as the operators give them.

    `fill` and `stroke` are colours, None where they are not known. `opacity` is that of fills, `under` that of the
    groups around. Nothing shows outside of `clip`, which is the clipped area itself if `clip_exact`, or else around
    it. `outlines` is text that so far only cuts out what will be painted.
    """

    matrix: Matrix
    face: Face
    size: float = 1.0
    characters: float = 0.0
    words: float = 0.0
    stretch: float = 1.0
    leading: float = 0.0
    rise: float = 0.0
    mode: int = 0
    fill: Colour | None = BLACK
    stroke: Colour | None = BLACK
    fill_space: Space = plain
    stroke_space: Space = plain
    line_width: float = 1.0
    opacity: float = 1.0
    stroke_opacity: float = 1.0
    under: float = 1.0
    blended: bool = False
    clip: Box | None = None
    clip_exact: bool = True
    outlines: tuple[Run, ...] = ()

    def copy(self) -> State:
        """What `q` sets aside."""
        return copy(self)

    @property
    def fills(self) -> bool:
        """Whether a fill can be seen at all."""
        return self.opacity * self.under >= _FAINT

    @property
    def strokes(self) -> bool:
        """Whether a stroke can be seen at all."""
        return self.stroke_opacity * self.under >= _FAINT


@dataclass(slots=True)
class Pen:
    """Where text goes on: the text matrix, that of the line's start, and the former joined with the state's matrix."""

    text: Matrix = IDENTITY
    line: Matrix = IDENTITY
