"""What is filled in on a page's form, and what is noted on it: values and remarks with the places where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pypdf import PageObject
from pypdf.generic import ArrayObject, DictionaryObject

from spsl_cli.documents.pdf.objects import entry, resolved
from spsl_cli.documents.pdf.runs import Box, finite

_MOST_ANNOTATIONS = 20_000
_DEEPEST_FIELD = 50
_INVISIBLE = 1 << 1 | 1 << 5  # hidden, and not to be shown
_PASSWORD, _PUSH_BUTTON, _RADIO = 1 << 13, 1 << 16, 1 << 15
_REMARKS = frozenset({"/Text", "/Highlight", "/Underline", "/StrikeOut", "/Squiggly", "/Caret", "/Square", "/Circle"})


@dataclass(frozen=True, slots=True)
class Entry:
    """`label` is the field's name in words, `value` its text; `box` is where it stands. A remark has `label` "note"."""

    label: str
    value: str
    box: Box
    remark: bool = False


def entries(page: PageObject) -> Iterator[Entry]:
    """The filled fields and the remarks in the file's order. What is damaged is passed over."""
    annotations = entry(page, "/Annots")
    for item in annotations[:_MOST_ANNOTATIONS] if isinstance(annotations, ArrayObject) else ():
        try:
            found = _entry(resolved(item))
        except (TypeError, ValueError, AttributeError, KeyError, IndexError):
            continue
        if found is not None and found.value.strip():
            yield found


def _entry(annotation: Any) -> Entry | None:
    if not isinstance(annotation, DictionaryObject) or _flags(annotation, "/F") & _INVISIBLE:
        return None
    kind = entry(annotation, "/Subtype")
    if kind == "/Widget":
        return _field(annotation)
    text = _text(entry(annotation, "/Contents"))
    if kind == "/FreeText":
        return Entry("", text, _box(annotation))
    if kind in _REMARKS:
        author = _text(entry(annotation, "/T"))
        return Entry(f"note by {author}" if author else "note", text, _box(annotation), remark=True)
    return None


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
    if kind == "/Sig" or (kind == "/Tx" and flags & _PASSWORD):
        return None
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
