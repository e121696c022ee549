"""A page -> its content stream and its visible area. A part that cannot be unpacked costs that part only."""

from __future__ import annotations

from pypdf import PageObject
from pypdf.generic import ArrayObject, StreamObject

from spsl_cli.documents.pdf.objects import entry, resolved
from spsl_cli.documents.pdf.runs import Box, finite
from spsl_cli.documents.wording import failure

_MOST_PARTS = 20_000
_LETTER: Box = (0.0, 0.0, 612.0, 792.0)
_MOST_BYTES = 75_000_000


def content(page: PageObject) -> tuple[bytes, str]:
    """The parts of the stream as one, and why some of it is missing (empty if none is).

    Raises whatever the unpacking runs into where nothing at all is left.
    """
    whole = entry(page, "/Contents")
    if isinstance(whole, StreamObject):
        return whole.get_data(), ""
    if not isinstance(whole, ArrayObject):
        return b"", ""
    parts: list[bytes] = []
    missing: Exception | None = None
    length = 0
    for part in whole[:_MOST_PARTS]:
        try:
            stream = resolved(part)
            data = stream.get_data() if isinstance(stream, StreamObject) else b""
        except Exception as error:  # noqa: BLE001 - a damaged part raises whatever its unpacking runs into
            missing = missing or error
            continue
        length += len(data)
        if length > _MOST_BYTES:
            return b"\n".join(parts), f"more than {_MOST_BYTES:,} bytes of drawing operators"
        parts.append(data)
    if missing and not any(parts):
        raise missing
    return b"\n".join(parts), failure(missing) if missing else ""


def visible_area(page: PageObject) -> Box:
    """The part of the page that viewers show, in the units of its content; a usual page if the file tells none."""
    try:
        outer, inner = _box(page, "/MediaBox"), _box(page, "/CropBox")
    except (TypeError, ValueError, AttributeError):
        return _LETTER
    if outer is None:
        return inner or _LETTER
    if inner is None:
        return outer
    both = max(outer[0], inner[0]), max(outer[1], inner[1]), min(outer[2], inner[2]), min(outer[3], inner[3])
    return both if both[0] < both[2] and both[1] < both[3] else outer


def _box(page: PageObject, name: str) -> Box | None:
    array = resolved(page.get_inherited(name, None))
    if not isinstance(array, ArrayObject) or len(array) != 4:  # noqa: PLR2004 - two corners
        return None
    x, y, other_x, other_y = (float(resolved(value)) for value in array)
    if not finite(x, y, other_x, other_y) or x == other_x or y == other_y:
        return None
    return min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y)
