"""Short names for the elements and attributes of Word's markup, one for both editions of the standard."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_TRANSITIONAL = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
_LONGEST_NUMBER = 9
_PREFIXES = {
    _TRANSITIONAL + "wordprocessingml/2006/main": "w",
    _STRICT + "wordprocessingml/main": "w",
    _TRANSITIONAL + "officeDocument/2006/math": "m",
    _STRICT + "officeDocument/math": "m",
    _TRANSITIONAL + "officeDocument/2006/relationships": "r",
    _STRICT + "officeDocument/relationships": "r",
    _TRANSITIONAL + "drawingml/2006/wordprocessingDrawing": "wp",
    _STRICT + "drawingml/wordprocessingDrawing": "wp",
    _TRANSITIONAL + "drawingml/2006/main": "a",
    _STRICT + "drawingml/main": "a",
    _TRANSITIONAL + "drawingml/2006/diagram": "dgm",
    _STRICT + "drawingml/diagram": "dgm",
    _TRANSITIONAL + "drawingml/2006/chart": "c",
    _STRICT + "drawingml/chart": "c",
    _TRANSITIONAL + "markup-compatibility/2006": "mc",
    "urn:schemas-microsoft-com:vml": "v",
    "urn:schemas-microsoft-com:office:office": "o",
}


@lru_cache(maxsize=4096)
def short(name: str) -> str:
    """`{namespace}name` as `w:name`; a name of an unknown namespace or of none as `:name`."""
    namespace, closed, local = name[1:].rpartition("}") if name.startswith("{") else ("", "", name)
    return f"{_PREFIXES.get(namespace, '') if closed else ''}:{local}"


def is_on(value: str | None) -> bool:
    """What an on/off property says; one without a value is on."""
    return value not in {"0", "false", "off", "none"}


def integer(text: str | None, default: int = 0) -> int:
    """A number as an attribute gives it; `default` where it is none, or beyond all sense."""
    return int(text) if text and len(text) <= _LONGEST_NUMBER and text.removeprefix("-").isdecimal() else default


def attribute(element: Any, name: str) -> str | None:
    """An attribute of a tree's element, in the namespace of the element."""
    return element.get(f"{element.tag.rpartition('}')[0]}}}{name}")  # type: ignore[no-any-return]


def filling(pattern: str | None, fill: str | None) -> str | None:
    """What a shading puts behind text: a colour as Word writes it, None for nothing, or another word for a pattern."""
    return fill if pattern in {None, "clear", "nil"} else pattern


def value(element: Any, path: str) -> str | None:
    """What the element at `path` below says as its value; None where there is none."""
    found = element.find(path)
    return None if found is None else attribute(found, "val")
