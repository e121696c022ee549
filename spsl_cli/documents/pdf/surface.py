"""What has been painted on a page besides text: whether text of a colour can be seen, and how much is image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from spsl_cli.documents.pdf.colours import WHITE, Colour, are_alike
from spsl_cli.documents.pdf.paths import Outline
from spsl_cli.documents.pdf.runs import Box, inside

# The page is looked at in so many squares each way; of each, what was painted last is remembered.
_SQUARES = 16
_MOST_BOXES = 1_000
_MOST_PAINTED = 10_000_000
_MOST_RULES = 5_000
_FEW = 12
_THICKEST_RULE, _SHORTEST_RULE = 2.5, 6.0
_LIKE_WHITE = 0.95

_Painted = tuple[Box, Colour | None, bool, bool]


class Surface:
    """Remembers paths and images by the boxes around them, and the lines that are ruled."""

    def __init__(self, page: Box) -> None:
        self.images: list[Box] = []
        self.scans: list[Box] = []
        self.rules: list[Box] = []
        self._page = page
        self._squares: dict[int, list[_Painted]] = {}
        self._overfull: set[int] = set()
        self._left = _MOST_PAINTED
        self._last: _Painted | None = None
        self._ground: Colour | None = WHITE

    def fill(self, outlines: Sequence[Outline], colour: Colour | None, clip: Box | None, *, clear: bool) -> None:
        """Paints outlines. `clear` says that the colour covers, and that `clip` is just what is clipped."""
        alone = len(outlines) == 1 or (len(outlines) <= _FEW and _are_apart(outlines))
        for outline in outlines:
            box = clipped(outline.box, clip)
            if box is not None:
                self.paint(box, colour, whole=clear and alone and outline.whole)
                self._rule(box)

    def stroke(self, outlines: Iterable[Outline], clip: Box | None) -> None:
        """Draws along outlines, whose sides are rules if they are straight."""
        for outline in outlines:
            box = clipped(outline.box, clip)
            if box is None:
                continue
            left, low, right, high = box
            if outline.whole and right - left > _THICKEST_RULE and high - low > _THICKEST_RULE:
                for side in ((left, low, right, low), (left, high, right, high)):
                    self._rule(side)
                for side in ((left, low, left, high), (right, low, right, high)):
                    self._rule(side)
            else:
                self._rule(box)

    def paint(self, box: Box, colour: Colour | None, *, whole: bool, image: bool = False) -> None:
        """Paints a box, `whole` if it is covered to its corners; None is a colour that is not known."""
        painted = box, colour, whole, image
        if painted == self._last or self._left < 0:
            return
        self._last = painted
        left, low, right, high = box
        if (
            whole
            and left <= self._page[0]
            and low <= self._page[1]
            and right >= self._page[2]
            and high >= self._page[3]
        ):
            # A ground for the whole page: nothing that was painted before is left of it.
            self._squares.clear()
            self._overfull.clear()
            self._ground = colour
            return
        columns, rows = self._places(left, right, 0), self._places(low, high, 1)
        self._left -= len(columns) * len(rows)
        for row in rows:
            for column in columns:
                at = row * _SQUARES + column
                square = self._squares.setdefault(at, [])
                if whole and self._holds_square(box, column, row):
                    square.clear()
                    self._overfull.discard(at)
                elif square and square[-1] == painted:
                    continue
                elif len(square) >= _MOST_BOXES:
                    del square[: _MOST_BOXES // 2]
                    self._overfull.add(at)
                square.append(painted)

    def image(self, box: Box, clip: Box | None, colour: Colour | None, *, scan: bool) -> None:
        """Paints an image: `colour` if it is all of one, `scan` if it is fine enough to be the picture of a text."""
        seen = clipped(box, clip)
        if seen is not None:
            self.images.append(seen)
            if scan:
                self.scans.append(seen)
            self.paint(seen, colour, whole=colour is not None, image=True)

    def hides(self, x: float, y: float, colour: Colour) -> bool | None:
        """Whether a sign of this colour cannot be seen at a point, for what was painted last there looks the same.

        None if that is not known: white on an image, or too much was painted.
        """
        at = self._place(y, 1) * _SQUARES + self._place(x, 0)
        for box, behind, whole, image in reversed(self._squares.get(at, ())) if self._left >= 0 else ():
            if inside(x, y, box):
                if behind is None:
                    return None if image and min(colour) >= _LIKE_WHITE else False
                if not are_alike(behind, colour):
                    return False
                if whole:
                    return True
        if at in self._overfull or self._left < 0:
            return None if min(colour) >= _LIKE_WHITE else False
        return self._ground is not None and are_alike(colour, self._ground)

    def has_scan(self, x: float, y: float) -> bool:
        """Whether a point lies on an image that may be a page's picture, be it above or below."""
        return any(inside(x, y, box) for box in self.scans)

    def _rule(self, box: Box) -> None:
        width, height = box[2] - box[0], box[3] - box[1]
        thin, long = min(width, height), max(width, height)
        if thin <= _THICKEST_RULE and long >= _SHORTEST_RULE and len(self.rules) < _MOST_RULES:
            self.rules.append(box)

    def _places(self, start: float, end: float, axis: int) -> range:
        low, high = self._page[axis], self._page[axis + 2]
        if end < low or start > high:
            return range(0)
        return range(self._place(start, axis), self._place(end, axis) + 1)

    def _place(self, value: float, axis: int) -> int:
        low, high = self._page[axis], self._page[axis + 2]
        part = (min(max(value, low), high) - low) / (high - low)
        return min(int(part * _SQUARES), _SQUARES - 1)

    def _holds_square(self, box: Box, column: int, row: int) -> bool:
        left, low, right, high = self._page
        width, height = (right - left) / _SQUARES, (high - low) / _SQUARES
        across = box[0] <= left + column * width and box[2] >= left + (column + 1) * width
        return across and box[1] <= low + row * height and box[3] >= low + (row + 1) * height


def clipped(box: Box, clip: Box | None) -> Box | None:
    """The part of a box within another; None if there is none."""
    if clip is None:
        return box
    both = max(box[0], clip[0]), max(box[1], clip[1]), min(box[2], clip[2]), min(box[3], clip[3])
    return both if both[0] <= both[2] and both[1] <= both[3] else None


def _are_apart(outlines: Sequence[Outline]) -> bool:
    """Whether no two overlap, for where they do, there may be a hole."""
    return not any(
        one.box[0] < other.box[2]
        and other.box[0] < one.box[2]
        and one.box[1] < other.box[3]
        and other.box[1] < one.box[3]
        for one, other in combinations(outlines, 2)
    )
