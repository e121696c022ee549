"""A run: glyphs that were shown together, and where they stand. Also the little geometry that runs need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Matrix = tuple[float, float, float, float, float, float]
Box = tuple[float, float, float, float]

IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(slots=True)
class Run:
    """`x`, `y` is where the baseline begins and `end_x`, `end_y` where the pen stood afterwards, in points.

    `size` is the height of the font, `space` the gap from which on the next run is another word, `direction` the unit
    vector along which the run reads, `hidden` why nobody sees it (empty if it can be seen), `doubtful` whether that it
    can is not sure. `glyphs` is given only where their order is not yet that of reading.
    """

    text: str
    x: float
    y: float
    end_x: float
    end_y: float
    size: float
    space: float
    direction: tuple[float, float]
    hidden: str = ""
    doubtful: bool = False
    glyphs: Sequence[str] | None = None

    def along(self, direction: tuple[float, float]) -> tuple[float, float]:
        """Its start and end, measured along a direction."""
        dx, dy = direction
        return self.x * dx + self.y * dy, self.end_x * dx + self.end_y * dy

    def height(self, direction: tuple[float, float]) -> float:
        """Its baseline, measured across a direction: the larger, the nearer to the top of what reads that way."""
        dx, dy = direction
        return self.y * dx - self.x * dy


def product(first: Matrix, second: Matrix) -> Matrix:
    """The matrix that applies `first` and then `second`."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def bounds(box: Box, matrix: Matrix) -> Box:
    """The upright box around `box` after `matrix` was applied to it."""
    a, b, c, d, e, f = matrix
    corners = [(x, y) for x in (box[0], box[2]) for y in (box[1], box[3])]
    xs = [a * x + c * y + e for x, y in corners]
    ys = [b * x + d * y + f for x, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def inside(x: float, y: float, box: Box, margin: float = 0.0) -> bool:
    """Whether a point lies in `box`, or at most `margin` outside of it."""
    return box[0] - margin <= x <= box[2] + margin and box[1] - margin <= y <= box[3] + margin


def finite(*numbers: float) -> bool:
    """Whether all are numbers that can be calculated with."""
    return all(map(math.isfinite, numbers))
