"""Colours of a content stream -> amounts of red, green and blue, near enough to tell which look alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pypdf.generic import ArrayObject

from spsl_cli.documents.pdf.objects import entry, resolved
from spsl_cli.documents.pdf.tokens import number

Colour = tuple[float, float, float]
Space = Callable[[Sequence[float]], Colour | None]
"""Numbers as `sc` takes them -> a colour, or None where it is not known here."""

BLACK: Colour = (0.0, 0.0, 0.0)
WHITE: Colour = (1.0, 1.0, 1.0)
_SAME = 0.04
_DEEPEST = 4


def are_alike(first: Colour, second: Colour) -> bool:
    """Whether nobody can read letters of the one colour on the other."""
    return all(abs(one - other) <= _SAME for one, other in zip(first, second, strict=True))


def plain(numbers: Sequence[float]) -> Colour | None:
    """By how many there are: grey, red with green and blue, or four printing inks."""
    parts = [min(max(part, 0.0), 1.0) for part in numbers]
    if len(parts) == 1:
        return parts[0], parts[0], parts[0]
    if len(parts) == 3:  # noqa: PLR2004 - red, green, blue
        return parts[0], parts[1], parts[2]
    if len(parts) == 4:  # noqa: PLR2004 - cyan, magenta, yellow, black
        cyan, magenta, yellow, black = parts
        return (1 - cyan) * (1 - black), (1 - magenta) * (1 - black), (1 - yellow) * (1 - black)
    return None


def unknown(_: Sequence[float]) -> Colour | None:
    """The space of patterns, and of whatever is not known."""
    return None


def space(named: Any, spaces: Any) -> tuple[Space, Colour | None]:
    """A colour space by its name in `spaces`, or as it stands; and the colour that it begins with."""
    found, first = _space(named, spaces, 0)
    return found, found(first) if first else BLACK if found is not unknown else None


def _space(named: Any, spaces: Any, depth: int) -> tuple[Space, list[float]]:  # noqa: PLR0911 - one for each family
    """The space, and the numbers that it begins with; none for black."""
    named = resolved(named)
    if isinstance(named, str):
        own = entry(spaces, named)
        if own is not None and own != named and depth < _DEEPEST:
            return _space(own, spaces, depth + 1)
        return (unknown if named == "/Pattern" else plain), []
    if not isinstance(named, ArrayObject) or not named or depth >= _DEEPEST:
        return unknown, []
    family = resolved(named[0])
    if family in ("/ICCBased", "/CalRGB", "/CalGray", "/DeviceGray", "/DeviceRGB", "/DeviceCMYK"):
        return plain, []
    if family == "/Lab":
        return _lab, []
    if family == "/Indexed":
        base, _ = _space(named[1], spaces, depth + 1)
        return _indexed(base, int(number(resolved(named[2]))) + 1, resolved(named[3])), [0.0]
    if family in ("/Separation", "/DeviceN"):
        inks = resolved(named[1])
        other, _ = _space(named[2], spaces, depth + 1)
        size = len(inks) if isinstance(inks, ArrayObject) else 1
        return _inks(inks, other, resolved(named[3])), [1.0] * size
    return unknown, []


def _lab(numbers: Sequence[float]) -> Colour | None:
    """Lightness and two axes of hue; the white point is taken as that of daylight."""
    lightness, a, b = numbers
    middle = (lightness + 16) / 116
    x, y, z = (_unbent(part) for part in (middle + a / 500, middle, middle - b / 200))
    x, z = 0.95 * x, 1.09 * z
    linear = (3.24 * x - 1.54 * y - 0.5 * z, -0.97 * x + 1.88 * y + 0.04 * z, 0.06 * x - 0.2 * y + 1.06 * z)
    red, green, blue = (min(max(part, 0.0), 1.0) ** (1 / 2.2) for part in linear)
    return red, green, blue


def _unbent(part: float) -> float:
    return part**3 if part > 6 / 29 else 3 * (6 / 29) ** 2 * (part - 4 / 29)


def _indexed(base: Space, size: int, table: Any) -> Space:
    data = table.get_data() if hasattr(table, "get_data") else table
    if isinstance(data, str):
        data = data.encode("latin-1", "replace")
    parts = len(data) // size if isinstance(data, bytes) and size > 0 else 0

    def look_up(numbers: Sequence[float]) -> Colour | None:
        start = int(numbers[0]) * parts
        return base([byte / 255 for byte in data[start : start + parts]]) if parts else None

    return look_up


def _inks(names: Any, other: Space, function: Any) -> Space:
    def mixed(tints: Sequence[float]) -> Colour | None:
        if tints and all(tint <= _SAME / 2 for tint in tints):
            return WHITE
        if len(tints) != 1:
            return None
        if names in ("/Black", "/All"):
            return plain([1 - tints[0]])
        if entry(function, "/FunctionType") != 2:  # noqa: PLR2004 - from one colour to another
            return None
        none, full = entry(function, "/C0") or [0], entry(function, "/C1") or [1]
        part = max(tints[0], 0.0) ** number(entry(function, "/N"))
        return other([number(a) + part * (number(b) - number(a)) for a, b in zip(none, full, strict=False)])

    return mixed
