"""The operators of a page's content stream, followed as far as text depends on them -> runs, images, what was cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypdf import PageObject
from pypdf.generic import ArrayObject, DictionaryObject, StreamObject

from spsl_cli.documents.pdf.faces import Faces, nameless
from spsl_cli.documents.pdf.layers import Layers
from spsl_cli.documents.pdf.marked import Marks
from spsl_cli.documents.pdf.objects import entry, raw, resolved
from spsl_cli.documents.pdf.painting import Painting, numbers
from spsl_cli.documents.pdf.runs import IDENTITY, Box, Matrix, Run, finite, product
from spsl_cli.documents.pdf.showing import Showing, moved
from spsl_cli.documents.pdf.sight import Sight
from spsl_cli.documents.pdf.state import Pen, State
from spsl_cli.documents.pdf.surface import Surface
from spsl_cli.documents.pdf.tokens import IMAGE, number, operations

_MOST_OPERATORS = 3_000_000
_MOST_STATES = 1_000
_DEEPEST_FORM = 40


class Interpreter:
    """Draws one page without drawing it.

    `shown` counts the strings that the page shows, whatever they mean; `left` is how many operators are still followed.
    An appearance is drawn on the surface of its page, with so many operators.
    """

    def __init__(
        self, page: PageObject, box: Box, faces: Faces, layers: Layers, *, appearance: tuple[Surface, int] | None = None
    ) -> None:
        surface, most = appearance or (Surface(box), _MOST_OPERATORS)
        self.surface = surface
        self.showing = Showing(Sight(self.surface, box, _unit(page)))
        self.guessed = False
        self.shown = 0
        self.cut = ""
        self._faces = faces
        self._layers = layers
        self._marks = Marks(layers, self.showing.runs)
        self.state = State(IDENTITY, nameless())
        self._stack: list[State] = []
        self._pen = Pen()
        self.resources: Any = resolved(page.get_inherited("/Resources", DictionaryObject()))
        self._forms: list[int] = []
        self._streams: dict[int, bytes] = {}
        self.left = most
        self._painting = Painting(self, self.surface)
        self._handlers = self._all_handlers()

    @property
    def hidden(self) -> bool:
        """Whether what is drawn now lies on a layer that is off."""
        return self._marks.hidden

    @property
    def runs(self) -> list[Run]:
        """The runs in the order in which they were shown."""
        return self.showing.runs

    def run(self, data: bytes) -> None:
        """Follows a content stream. An operator whose operands make no sense is passed over."""
        handlers = self._handlers
        for operands, operator in operations(data):
            self.left -= 1
            if self.left < 0:
                self.cut = self.cut or f"more than {_MOST_OPERATORS:,} drawing operators"
                return
            handler = handlers.get(operator)
            if handler is not None:
                try:
                    handler(operands)
                except (TypeError, ValueError, IndexError, AttributeError, KeyError, OverflowError):
                    continue

    def draw_in(self, form: StreamObject, matrix: Matrix) -> None:
        """Draws a form alone, as it is placed by a matrix."""
        self.state.matrix = product(matrix, self.state.matrix)
        self._draw_form(form, hidden=False)

    def _all_handlers(self) -> dict[bytes, Callable[[Any], None]]:
        state = {
            b"q": self._save,
            b"Q": self._restore,
            b"cm": self._concatenate,
            b"gs": self._graphics_state,
            b"Do": self._draw,
            IMAGE: lambda _: self._painting.image(None),
            b"BMC": lambda _: self._marks.begin(None, None),
            b"BDC": self._begin_marked,
            b"EMC": lambda _: self._marks.end(),
        }
        return state | self._text_handlers() | self._painting.handlers()

    def _text_handlers(self) -> dict[bytes, Callable[[Any], None]]:
        return {
            b"BT": lambda _: self._place(IDENTITY),
            b"Tf": self._font,
            b"Tc": lambda o: setattr(self.state, "characters", _number(o[0])),
            b"Tw": lambda o: setattr(self.state, "words", _number(o[0])),
            b"Tz": lambda o: setattr(self.state, "stretch", _number(o[0]) / 100),
            b"TL": lambda o: setattr(self.state, "leading", _number(o[0])),
            b"Ts": lambda o: setattr(self.state, "rise", _number(o[0])),
            b"Tr": lambda o: setattr(self.state, "mode", int(_number(o[0]))),
            b"Td": lambda o: self._move(_number(o[0]), _number(o[1])),
            b"TD": self._move_and_lead,
            b"Tm": lambda o: self._place(_matrix(o)),
            b"T*": lambda _: self._move(0.0, -self.state.leading),
            b"Tj": lambda o: self._show(o[:1]),
            b"TJ": lambda o: self._show(o[0] if isinstance(o[0], list) else ()),
            b"'": self._next_line,
            b'"': self._next_line_spaced,
        }

    def _save(self, _: Any) -> None:
        if len(self._stack) < _MOST_STATES:
            self._stack.append(self.state.copy())

    def _restore(self, _: Any) -> None:
        if self._stack:
            self.state = self._stack.pop()

    def _concatenate(self, operands: Any) -> None:
        self.state.matrix = product(_matrix(operands), self.state.matrix)

    def _graphics_state(self, operands: Any) -> None:
        settings = self._resource("/ExtGState", operands[0])
        self._painting.settings(settings)
        font = entry(settings, "/Font")
        if isinstance(font, ArrayObject) and len(font) > 1:
            self.state.face, self.state.size = self._faces.get(font[0]), _number(font[1])

    def _font(self, operands: Any) -> None:
        self.state.size = _number(operands[1])
        self.state.face = self._faces.get(raw(entry(self.resources, "/Font"), operands[0]))

    def _place(self, matrix: Matrix) -> None:
        self._pen.text = self._pen.line = matrix

    def _move(self, x: float, y: float) -> None:
        self._place(moved(self._pen.line, x, y))

    def _move_and_lead(self, operands: Any) -> None:
        self.state.leading = -_number(operands[1])
        self._move(_number(operands[0]), _number(operands[1]))

    def _next_line(self, operands: Any) -> None:
        self._move(0.0, -self.state.leading)
        self._show(operands[:1])

    def _next_line_spaced(self, operands: Any) -> None:
        self.state.words, self.state.characters = _number(operands[0]), _number(operands[1])
        self._next_line(operands[2:])

    def _show(self, items: Any) -> None:
        self.shown += 1
        self.guessed = self.guessed or self.state.face.guessed
        self.showing.show(self.state, self._pen, items, layer_off=self._marks.hidden)

    def _begin_marked(self, operands: Any) -> None:
        properties = operands[1]
        if isinstance(properties, str):
            properties = raw(entry(self.resources, "/Properties"), properties)
        self._marks.begin(operands[0], properties)

    def _draw(self, operands: Any) -> None:
        thing = self._resource("/XObject", operands[0])
        hidden = self._marks.hidden or self._layers.hides(raw(thing, "/OC"))
        if entry(thing, "/Subtype") == "/Image":
            if not hidden:
                self._painting.image(thing)
        elif isinstance(thing, StreamObject) and id(thing) not in self._forms:
            if len(self._forms) >= _DEEPEST_FORM:
                self.cut = self.cut or f"forms nested deeper than {_DEEPEST_FORM}"
                return
            self._draw_form(thing, hidden=hidden)

    def _draw_form(self, form: StreamObject, *, hidden: bool) -> None:
        outer = self.state, self._stack, self._pen, self.resources
        self.state, self._stack, self._pen = self.state.copy(), [], Pen()
        matrix = entry(form, "/Matrix")
        if isinstance(matrix, ArrayObject):
            self.state.matrix = product(_matrix(matrix), self.state.matrix)
        box = entry(form, "/BBox")
        if isinstance(box, ArrayObject):
            self._painting.clip_to(_box(box))
        if entry(form, "/Group") is not None:
            self.state.under *= self.state.opacity
            self.state.opacity = self.state.stroke_opacity = 1.0
        own = entry(form, "/Resources")
        self.resources = own if isinstance(own, DictionaryObject) else self.resources
        self._forms.append(id(form))
        depth = self._marks.enter(hidden=hidden)
        try:
            if id(form) not in self._streams:
                self._streams[id(form)] = form.get_data()
            self.run(self._streams[id(form)])
        finally:
            self._marks.leave(depth)
            self._forms.pop()
            self.state, self._stack, self._pen, self.resources = outer

    def _resource(self, kind: str, name: str) -> DictionaryObject:
        found = entry(entry(self.resources, kind), name)
        if not isinstance(found, DictionaryObject):
            raise TypeError(kind)
        return found


def _number(value: Any) -> float:
    return numbers([value])[0]


def _matrix(operands: Any) -> Matrix:
    a, b, c, d, e, f = map(number, operands)
    if not finite(a + b + c + d + e + f):
        raise ValueError(operands)
    return a, b, c, d, e, f


def _box(corners: ArrayObject) -> Box:
    x, y, other_x, other_y = numbers(resolved(corner) for corner in corners)
    return min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y)


def _unit(page: PageObject) -> float:
    """How many points the units of the page are."""
    unit = entry(page, "/UserUnit")
    return float(unit) if isinstance(unit, int | float) and unit > 0 else 1.0
