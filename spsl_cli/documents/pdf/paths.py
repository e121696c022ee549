"""A path as it is drawn -> the boxes around its outlines. Knows which of them are filled to their corners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spsl_cli.documents.pdf.runs import Box, Matrix, bounds

_CORNERS = 4
_SLACK = 0.01


@dataclass(frozen=True, slots=True)
class Outline:
    """`box` lies around the corners, `whole` says that it is an upright rectangle and nothing else."""

    box: Box
    whole: bool


class Path:
    """The path that is being drawn."""

    def __init__(self) -> None:
        self._outlines: list[Outline] = []
        self._extent: list[float] | None = None
        self._corners: list[tuple[float, float]] = []
        self._open: list[float] | None = None
        self._straight = True

    def rectangle(self, box: Box, matrix: Matrix) -> None:
        """Adds a rectangle."""
        self._close()
        placed = bounds(box, matrix)
        upright = (matrix[1] == matrix[2] == 0) or (matrix[0] == matrix[3] == 0)
        self._reach(placed[0], placed[1])
        self._reach(placed[2], placed[3])
        self._outlines.append(Outline(placed, upright))

    def point(self, place: Sequence[float], matrix: Matrix, *, start: bool = False) -> None:
        """Adds a corner of an outline; `start` begins another one."""
        x, y = _moved(place[0], place[1], matrix)
        if start or self._open is None:
            self._close()
            self._open = [x, y, x, y]
            self._corners, self._straight = [], True
        box = self._open
        box[:] = min(box[0], x), min(box[1], y), max(box[2], x), max(box[3], y)
        if len(self._corners) <= _CORNERS + 1:
            self._corners.append((x, y))
        if not start:
            self._reach(x, y)
            self._reach(*self._corners[0])

    def bend(self, points: Sequence[float], matrix: Matrix) -> None:
        """Adds a curve, whose points but the last only pull at it."""
        for x, y in zip(points[:-2:2], points[1:-2:2], strict=True):
            self._reach(*_moved(x, y, matrix))
        self.point(points[-2:], matrix)
        self._straight = False

    def take(self) -> tuple[list[Outline], Box | None]:
        """The outlines and a box that holds all of them, curves too; the path is empty then."""
        self._close()
        outlines, extent = self._outlines, self._extent
        self._outlines, self._extent = [], None
        return outlines, (extent[0], extent[1], extent[2], extent[3]) if extent else None

    def _close(self) -> None:
        if self._open is not None:
            box = self._open[0], self._open[1], self._open[2], self._open[3]
            self._outlines.append(Outline(box, self._straight and _is_rectangle(self._corners)))
            self._open = None

    def _reach(self, x: float, y: float) -> None:
        if self._extent is None:
            self._extent = [x, y, x, y]
        else:
            box = self._extent
            box[:] = min(box[0], x), min(box[1], y), max(box[2], x), max(box[3], y)


def _moved(x: float, y: float, matrix: Matrix) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _is_rectangle(corners: Sequence[tuple[float, float]]) -> bool:
    """Whether four corners, the first perhaps named again at the end, are those of an upright rectangle."""
    if len(corners) == _CORNERS + 1 and corners[0] == corners[-1]:
        corners = corners[:-1]
    if len(corners) != _CORNERS:
        return False
    (x1, y1), (x2, y2), (x3, y3), (x4, y4) = corners
    across = _near(y1, y2) and _near(x2, x3) and _near(y3, y4) and _near(x4, x1)
    return across or (_near(x1, x2) and _near(y2, y3) and _near(x3, x4) and _near(y4, y1))


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _SLACK
