"""What annotations look like: the text that their appearance streams show, where they have no other."""

from __future__ import annotations

from typing import Any

from pypdf import PageObject
from pypdf.generic import ArrayObject, DictionaryObject, StreamObject

from spsl_cli.documents.pdf.columns import in_reading_order
from spsl_cli.documents.pdf.doubles import single
from spsl_cli.documents.pdf.faces import Faces
from spsl_cli.documents.pdf.interpreter import Interpreter
from spsl_cli.documents.pdf.layers import Layers
from spsl_cli.documents.pdf.objects import entry, resolved
from spsl_cli.documents.pdf.rows import rows
from spsl_cli.documents.pdf.runs import IDENTITY, Box, Matrix, bounds, finite
from spsl_cli.documents.pdf.surface import Surface
from spsl_cli.documents.pdf.visibility import seen

_MOST = 300
_MOST_OPERATORS = 200_000


class Appearances:
    """The appearances on one page; all of them together may cost so many operators, and no more."""

    def __init__(self, page: PageObject, area: Box, surface: Surface, faces: Faces, layers: Layers) -> None:
        self._page = page
        self._area = area
        self._surface = surface
        self._faces = faces
        self._layers = layers
        self._left = _MOST
        self._operators = _MOST_OPERATORS

    def text(self, annotation: DictionaryObject, box: Box) -> str:
        """The text that an annotation shows in its box; empty if there is none, or none that can be seen."""
        form = _normal(annotation)
        if form is None or self._left <= 0 or self._operators <= 0:
            return ""
        self._left -= 1
        drawing = Interpreter(
            self._page, self._area, self._faces, self._layers, appearance=(self._surface, self._operators)
        )
        drawing.draw_in(form, _fitted(form, box))
        self._operators = drawing.left
        visible = seen(single(drawing.runs), self._surface, self._area)
        return "\n".join(line.text for line in in_reading_order(rows(visible.runs)))


def _normal(annotation: DictionaryObject) -> StreamObject | None:
    """The appearance that is usually shown, of several that of the present state."""
    form = entry(entry(annotation, "/AP"), "/N")
    if isinstance(form, DictionaryObject) and not isinstance(form, StreamObject):
        form = entry(form, str(entry(annotation, "/AS")))
    return form if isinstance(form, StreamObject) else None


def _fitted(form: StreamObject, box: Box) -> Matrix:
    """The matrix by which a form fills a box."""
    inner, matrix = _numbers(entry(form, "/BBox"), 4), _numbers(entry(form, "/Matrix"), 6)
    if inner is None:
        return 1.0, 0.0, 0.0, 1.0, box[0], box[1]
    own: Matrix = (matrix[0], matrix[1], matrix[2], matrix[3], matrix[4], matrix[5]) if matrix else IDENTITY
    left, low, right, high = bounds((inner[0], inner[1], inner[2], inner[3]), own)
    across = (box[2] - box[0]) / (right - left) if right > left else 1.0
    up = (box[3] - box[1]) / (high - low) if high > low else 1.0
    return across, 0.0, 0.0, up, box[0] - left * across, box[1] - low * up


def _numbers(array: Any, length: int) -> list[float] | None:
    if not isinstance(array, ArrayObject) or len(array) != length:
        return None
    found = [float(resolved(value)) for value in array]
    return found if finite(*found) else None
