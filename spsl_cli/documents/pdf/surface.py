"""What has been painted on a page besides text: whether white text can be seen, and how much of a page is image."""

from __future__ import annotations

from spsl_cli.documents.pdf.runs import Box, inside

_MOST_BOXES = 4_000


class Surface:
    """Remembers paths and images by the boxes around them."""

    def __init__(self) -> None:
        self.images: list[Box] = []
        self._painted: list[tuple[Box, bool]] = []
        self._path: list[Box] = []
        self._open: list[float] | None = None

    def rectangle(self, box: Box) -> None:
        """Adds a rectangle to the path."""
        self._path.append(box)

    def point(self, x: float, y: float, *, start: bool) -> None:
        """Adds a corner of an outline to the path; `start` begins another outline."""
        if start or self._open is None:
            self._close()
            self._open = [x, y, x, y]
            return
        box = self._open
        box[:] = min(box[0], x), min(box[1], y), max(box[2], x), max(box[3], y)

    def fill(self, *, white: bool) -> None:
        """Paints the path."""
        self._close()
        for box in self._path:
            self.paint(box, white=white)
        self._path.clear()

    def drop(self) -> None:
        """Ends the path without filling it."""
        self._path.clear()
        self._open = None

    def paint(self, box: Box, *, white: bool) -> None:
        """Paints a box."""
        if len(self._painted) < _MOST_BOXES:
            self._painted.append((box, white))

    def image(self, box: Box) -> None:
        """Paints an image, whose colours nobody knows here."""
        self.images.append(box)
        self.paint(box, white=False)

    def is_white(self, x: float, y: float) -> bool:
        """Whether what was painted last at a point is white, or nothing was. After very many boxes: no."""
        if len(self._painted) >= _MOST_BOXES:
            return False
        return next((white for box, white in reversed(self._painted) if inside(x, y, box)), True)

    def has_image(self, x: float, y: float) -> bool:
        """Whether a point lies on an image, be it above or below."""
        return any(inside(x, y, box) for box in self.images)

    def _close(self) -> None:
        if self._open is not None:
            self._path.append((self._open[0], self._open[1], self._open[2], self._open[3]))
            self._open = None
