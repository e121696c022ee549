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
from spsl_cli.documents.pdf.runs import IDENTITY, Box, Matrix, Run, bounds, finite, product
from spsl_cli.documents.pdf.showing import Showing, moved
from spsl_cli.documents.pdf.state import Pen, State, is_white
from spsl_cli.documents.pdf.surface import Surface
from spsl_cli.documents.pdf.tokens import IMAGE, number, operations

_MOST_OPERATORS = 3_000_000
_MOST_STATES = 1_000
_DEEPEST_FORM = 40
_UNIT: Box = (0.0, 0.0, 1.0, 1.0)


class Interpreter:
    """Draws one page without drawing it. `shown` counts the strings that the page shows, whatever they mean."""

    def __init__(self, page: PageObject, box: Box, faces: Faces, layers: Layers) -> None:
        self.surface = Surface()
        self.showing = Showing(self.surface, box)
        self.guessed = False
        self.shown = 0
        self.cut = ""
        self._faces = faces
        self._layers = layers
        self._marks = Marks(layers, self.showing.runs)
        self._state = State(IDENTITY, nameless())
        self._stack: list[State] = []
        self._pen = Pen()
        self._resources: Any = resolved(page.get_inherited("/Resources", DictionaryObject()))
        self._forms: list[int] = []
        self._streams: dict[int, bytes] = {}
        self._left = _MOST_OPERATORS
        self._handlers = self._all_handlers()

    @property
    def runs(self) -> list[Run]:
        """The runs in the order in which they were shown."""
        return self.showing.runs

    def run(self, data: bytes) -> None:
        """Follows a content stream. An operator whose operands make no sense is passed over."""
        handlers = self._handlers
        for operands, operator in operations(data):
            self._left -= 1
            if self._left < 0:
                self.cut = self.cut or f"more than {_MOST_OPERATORS:,} drawing operators"
                return
            handler = handlers.get(operator)
            if handler is not None:
                try:
                    handler(operands)
                except (TypeError, ValueError, IndexError, AttributeError, KeyError, OverflowError):
                    continue

    def _all_handlers(self) -> dict[bytes, Callable[[Any], None]]:
        state = {
            b"q": self._save,
            b"Q": self._restore,
            b"cm": self._concatenate,
            b"gs": self._graphics_state,
            b"Do": self._draw,
            IMAGE: lambda _: self.surface.image(bounds(_UNIT, self._state.matrix)),
            b"sh": lambda _: self.surface.paint((-1e9, -1e9, 1e9, 1e9), white=False),
            b"BMC": lambda _: self._marks.begin(None, None),
            b"BDC": self._begin_marked,
            b"EMC": lambda _: self._marks.end(),
        }
        return state | self._text_handlers() | self._path_handlers() | self._colour_handlers()

    def _text_handlers(self) -> dict[bytes, Callable[[Any], None]]:
        return {
            b"BT": lambda _: self._place(IDENTITY),
            b"Tf": self._font,
            b"Tc": lambda o: setattr(self._state, "characters", _number(o[0])),
            b"Tw": lambda o: setattr(self._state, "words", _number(o[0])),
            b"Tz": lambda o: setattr(self._state, "stretch", _number(o[0]) / 100),
            b"TL": lambda o: setattr(self._state, "leading", _number(o[0])),
            b"Ts": lambda o: setattr(self._state, "rise", _number(o[0])),
            b"Tr": lambda o: setattr(self._state, "mode", int(_number(o[0]))),
            b"Td": lambda o: self._move(_number(o[0]), _number(o[1])),
            b"TD": self._move_and_lead,
            b"Tm": lambda o: self._place(_matrix(o)),
            b"T*": lambda _: self._move(0.0, -self._state.leading),
            b"Tj": lambda o: self._show(o[:1]),
            b"TJ": lambda o: self._show(o[0] if isinstance(o[0], list) else ()),
            b"'": self._next_line,
            b'"': self._next_line_spaced,
        }

    def _path_handlers(self) -> dict[bytes, Callable[[Any], None]]:
        def fill(_: Any) -> None:
            self.surface.fill(white=self._state.white)

        def drop(_: Any) -> None:
            self.surface.drop()

        filling = dict.fromkeys((b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"), fill)
        dropping = dict.fromkeys((b"S", b"s", b"n"), drop)
        return (
            filling
            | dropping
            | {
                b"re": self._rectangle,
                b"m": lambda o: self._corner(o, start=True),
                b"l": lambda o: self._corner(o, start=False),
                b"c": lambda o: self._corner(o[4:], start=False),
                b"v": lambda o: self._corner(o[2:], start=False),
                b"y": lambda o: self._corner(o[2:], start=False),
            }
        )

    def _colour_handlers(self) -> dict[bytes, Callable[[Any], None]]:
        def plain(operands: Any) -> None:
            self._state.inks = False
            self._state.white = is_white([_number(o) for o in operands], inks=False)

        def chosen(operands: Any) -> None:
            named = any(isinstance(o, str) for o in operands)
            self._state.white = not named and is_white([_number(o) for o in operands], inks=self._state.inks)

        return {b"g": plain, b"rg": plain, b"k": plain, b"cs": self._colour_space, b"sc": chosen, b"scn": chosen}

    def _save(self, _: Any) -> None:
        if len(self._stack) < _MOST_STATES:
            self._stack.append(self._state.copy())

    def _restore(self, _: Any) -> None:
        if self._stack:
            self._state = self._stack.pop()

    def _concatenate(self, operands: Any) -> None:
        self._state.matrix = product(_matrix(operands), self._state.matrix)

    def _graphics_state(self, operands: Any) -> None:
        settings = self._resource("/ExtGState", operands[0])
        opacity = entry(settings, "/ca")
        if opacity is not None:
            self._state.painted = _number(opacity) > 0
        font = entry(settings, "/Font")
        if isinstance(font, ArrayObject) and len(font) > 1:
            self._state.face, self._state.size = self._faces.get(font[0]), _number(font[1])

    def _colour_space(self, operands: Any) -> None:
        self._state.white, self._state.inks = False, False
        space = entry(entry(self._resources, "/ColorSpace"), operands[0])
        if isinstance(space, ArrayObject):
            self._state.inks = space[0] in ("/Separation", "/DeviceN")

    def _font(self, operands: Any) -> None:
        self._state.size = _number(operands[1])
        self._state.face = self._faces.get(raw(entry(self._resources, "/Font"), operands[0]))

    def _place(self, matrix: Matrix) -> None:
        self._pen.text = self._pen.line = matrix

    def _move(self, x: float, y: float) -> None:
        self._place(moved(self._pen.line, x, y))

    def _move_and_lead(self, operands: Any) -> None:
        self._state.leading = -_number(operands[1])
        self._move(_number(operands[0]), _number(operands[1]))

    def _next_line(self, operands: Any) -> None:
        self._move(0.0, -self._state.leading)
        self._show(operands[:1])

    def _next_line_spaced(self, operands: Any) -> None:
        self._state.words, self._state.characters = _number(operands[0]), _number(operands[1])
        self._next_line(operands[2:])

    def _show(self, items: Any) -> None:
        self.shown += 1
        self.guessed = self.guessed or self._state.face.guessed
        self.showing.show(self._state, self._pen, items, layer_off=self._marks.hidden)

    def _rectangle(self, operands: Any) -> None:
        x, y, width, height = (_number(o) for o in operands[:4])
        self.surface.rectangle(bounds((x, y, x + width, y + height), self._state.matrix))

    def _corner(self, operands: Any, *, start: bool) -> None:
        x, y = float(operands[0]), float(operands[1])
        a, b, c, d, e, f = self._state.matrix
        self.surface.point(a * x + c * y + e, b * x + d * y + f, start=start)

    def _begin_marked(self, operands: Any) -> None:
        properties = operands[1]
        if isinstance(properties, str):
            properties = raw(entry(self._resources, "/Properties"), properties)
        self._marks.begin(operands[0], properties)

    def _draw(self, operands: Any) -> None:
        thing = self._resource("/XObject", operands[0])
        hidden = self._marks.hidden or self._layers.hides(raw(thing, "/OC"))
        if entry(thing, "/Subtype") == "/Image":
            if not hidden:
                self.surface.image(bounds(_UNIT, self._state.matrix))
        elif isinstance(thing, StreamObject) and id(thing) not in self._forms:
            if len(self._forms) >= _DEEPEST_FORM:
                self.cut = self.cut or f"forms nested deeper than {_DEEPEST_FORM}"
                return
            self._draw_form(thing, hidden=hidden)

    def _draw_form(self, form: StreamObject, *, hidden: bool) -> None:
        outer = self._state, self._stack, self._pen, self._resources
        self._state, self._stack, self._pen = self._state.copy(), [], Pen()
        matrix = entry(form, "/Matrix")
        if isinstance(matrix, ArrayObject):
            self._state.matrix = product(_matrix(matrix), self._state.matrix)
        own = entry(form, "/Resources")
        self._resources = own if isinstance(own, DictionaryObject) else self._resources
        self._forms.append(id(form))
        depth = self._marks.enter(hidden=hidden)
        try:
            if id(form) not in self._streams:
                self._streams[id(form)] = form.get_data()
            self.run(self._streams[id(form)])
        finally:
            self._marks.leave(depth)
            self._forms.pop()
            self._state, self._stack, self._pen, self._resources = outer

    def _resource(self, kind: str, name: str) -> DictionaryObject:
        found = entry(entry(self._resources, kind), name)
        if not isinstance(found, DictionaryObject):
            raise TypeError(kind)
        return found


def _number(value: Any) -> float:
    result = number(value)
    if not finite(result):
        raise ValueError(value)
    return result


def _matrix(operands: Any) -> Matrix:
    a, b, c, d, e, f = map(number, operands)
    if not finite(a + b + c + d + e + f):
        raise ValueError(operands)
    return a, b, c, d, e, f
