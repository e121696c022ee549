"""What is filled in on a page's form, and what is noted on it: values and remarks with the places where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pypdf import PageObject
from pypdf.generic import ArrayObject, DictionaryObject

from spsl_cli.documents.pdf.colours import BLACK, Colour, plain
from spsl_cli.documents.pdf.objects import entry, resolved
from spsl_cli.documents.pdf.runs import Box, finite
from spsl_cli.documents.pdf.tokens import number, operations

_MOST_ANNOTATIONS = 20_000
_DEEPEST_FIELD = 50
_INVISIBLE = 1 << 1 | 1 << 5  # hidden, and not to be shown
_PASSWORD, _PUSH_BUTTON, _RADIO = 1 << 13, 1 << 16, 1 << 15
_DAMAGE = (TypeError, ValueError, AttributeError, KeyError, IndexError)
_STAMPS = {"/Stamp": "stamp", "/Watermark": "watermark"}
_REMARKS = frozenset({"/Text", "/Highlight", "/Underline", "/StrikeOut", "/Squiggly", "/Caret", "/Square", "/Circle"})

Look = Callable[[DictionaryObject, Box], str]
"""An annotation and its box -> the text that its appearance shows there."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`label` is the field's name in words, `value` its text; `box` is where it stands. A remark has `label` "note".

    `ink` is the colour of a text on the page as it is, if that is known.
    """

    label: str
    value: str
    box: Box
    remark: bool = False
    ink: Colour | None = None


def shown_annotations(page: PageObject) -> Iterator[DictionaryObject]:
    """What is laid over a page and shown, in the file's order. What is damaged is passed over."""
    listed = entry(page, "/Annots")
    for item in listed[:_MOST_ANNOTATIONS] if isinstance(listed, ArrayObject) else ():
        try:
            annotation = resolved(item)
            if isinstance(annotation, DictionaryObject) and not _flags(annotation, "/F") & _INVISIBLE:
                yield annotation
        except _DAMAGE:
            continue


def entries(page: PageObject, look: Look) -> Iterator[Entry]:
    """The filled fields and the remarks. `look` gives what an annotation's appearance shows in a box."""
    for annotation in shown_annotations(page):
        try:
            found = _entry(annotation, look)
        except _DAMAGE:
            continue
        if found is not None and found.value.strip():
            yield found


def _entry(annotation: DictionaryObject, look: Look) -> Entry | None:
    kind = entry(annotation, "/Subtype")
    if kind == "/Widget":
        found = _field(annotation)
        if found is not None and not found.value.strip():
            found = replace(found, value=look(annotation, found.box))
        return found and replace(found, ink=_ink(annotation, found.box, look))
    text, box = _text(entry(annotation, "/Contents")), _box(annotation)
    if kind == "/FreeText":
        return Entry("", text.strip() or look(annotation, box), box, ink=_ink(annotation, box, look))
    if kind in _STAMPS:
        name = _text(entry(annotation, "/Name"))
        shown = look(annotation, box).strip() or text.strip() or (name if name.isalpha() else "")
        return Entry(_STAMPS[kind], shown, box, remark=True)
    if kind in _REMARKS:
        author = _text(entry(annotation, "/T"))
        return Entry(f"note by {author}" if author else "note", text, box, remark=True)
    return None


def _ink(annotation: DictionaryObject, box: Box, look: Look) -> Colour | None:
    """The colour in which a text is written on the page; None where it has a ground of its own, or can be seen."""
    appearance = _inherited(annotation, "/DA")
    found = None
    for operands, operator in (
        operations(appearance.encode("latin-1", "replace")) if isinstance(appearance, str) else ()
    ):
        if operator in (b"g", b"rg", b"k"):
            found = plain([number(operand) for operand in operands])
    ground = entry(entry(annotation, "/MK"), "/BG")
    if found in (None, BLACK) or (isinstance(ground, ArrayObject) and ground) or look(annotation, box).strip():
        return None
    return found


def _field(widget: DictionaryObject) -> Entry | None:
    flags = _inherited(widget, "/Ff")
    flags = flags if isinstance(flags, int) else 0
    kind = _inherited(widget, "/FT")
    label = _text(_inherited(widget, "/TU")) or _name(widget)
    if kind == "/Btn":
        if flags & _PUSH_BUTTON:
            return None
        state = entry(widget, "/AS") or _inherited(widget, "/V")
        on = isinstance(state, str) and state not in ("/Off", "Off", "")
        mark = ("(x)" if on else "( )") if flags & _RADIO else ("[x]" if on else "[ ]")
        return Entry(label, mark, _box(widget))
    if kind == "/Tx" and flags & _PASSWORD:
        return None
    if kind == "/Sig":
        return Entry(label, "", _box(widget))
    value = _inherited(widget, "/V")
    chosen = value if isinstance(value, ArrayObject) else [value]
    shown = [_shown(_text(resolved(one)), _inherited(widget, "/Opt")) for one in chosen]
    return Entry(label, ", ".join(text for text in shown if text), _box(widget))


def _shown(value: str, options: Any) -> str:
    """What a list of choices shows for the value that it stores."""
    for option in options if isinstance(options, ArrayObject) else ():
        pair = resolved(option)
        if isinstance(pair, ArrayObject) and len(pair) > 1 and _text(resolved(pair[0])) == value:
            return _text(resolved(pair[1]))
    return value


def _name(widget: DictionaryObject) -> str:
    """The field's own name, or the nearest one above it."""
    return _text(_inherited(widget, "/T"))


def _inherited(widget: DictionaryObject, key: str) -> Any:
    node: Any = widget
    for _ in range(_DEEPEST_FIELD):
        value = entry(node, key)
        if value is not None or not isinstance(node, DictionaryObject):
            return value
        node = entry(node, "/Parent")
    return None


def _text(value: Any) -> str:
    """A text of the file's, or of a stream that holds a long one."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, str):
        return value.removeprefix("/") if type(value).__name__ == "NameObject" else str(value)
    if hasattr(value, "get_data"):
        return str(value.get_data().decode("utf-8", "replace"))
    return ""


def _flags(annotation: DictionaryObject, key: str) -> int:
    value = entry(annotation, key)
    return value if isinstance(value, int) else 0


def _box(annotation: DictionaryObject) -> Box:
    x, y, other_x, other_y = (float(resolved(value)) for value in entry(annotation, "/Rect"))
    if not finite(x, y, other_x, other_y):
        raise ValueError("/Rect")
    return min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y)


def has_xfa(root: Any) -> bool:
    """Whether the file's form is one of XML, whose own text and values no PDF reader but one shows."""
    form = entry(root, "/AcroForm")
    return entry(form, "/XFA") is not None
