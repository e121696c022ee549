"""Whether a reader sees what an element holds, by its own style and the rules of the page. Knows nothing of text.

Looked at are `hidden`, `display`, `visibility`, `opacity`, the size of letters and of boxes that cut off what does not
fit, positions far outside the page, and colours that are those of a declared background. What scripts or animations
show in the end counts as seen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from spsl_cli.documents.markup.css import Sheet, Style, Values, declarations
from spsl_cli.documents.unseen import MARKED, OUTSIDE, TINY, TRANSPARENT, Colour, camouflage, of_hex

_SIDES = ("left", "top", "right", "bottom")
_BOXES = ("height", "max-height", "width", "max-width")
WANTED = frozenset({
    "animation", "animation-name", "background", "background-color", "background-image", "color", "display", "font",
    "font-size", "margin-left", "opacity", "overflow", "padding", "padding-bottom", "padding-top", "position",
    "text-indent", "text-shadow", "transition", "vertical-align", "visibility", *_SIDES, *_BOXES,
})  # fmt: skip
_ATTRIBUTES = frozenset({"background", "bgcolor", "class", "color", "hidden", "id", "style", "text"})
# Pages that fade in are hidden as a whole until their scripts have run.
_NEVER_HIDDEN = frozenset({"html", "body"})
_OWN_COLOURS = frozenset({"a", "button", "input", "mark", "option", "select", "textarea"})
_LENGTH = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(px|pt|em|rem|ex|ch|cm|in|mm|pc|vw|vh|%)?")
_PIXELS = {"px": 1.0, "pt": 1.34, "ex": 8.0, "ch": 8.0, "cm": 38.0, "in": 96.0, "mm": 3.8, "pc": 16.0, "%": 2.0}
_PIXELS_OF_A_LETTER = 16.0  # or of a hundredth of the window, roughly
_FAR_OUTSIDE = -999.0
_SMALLEST = 1.0
_FAINTEST = 0.02
_RELATIVE = frozenset({"em", "%", "ex", "ch"})
_SAME_SIZE = frozenset({"inherit", "unset", "larger", "smaller"})
_SIZE_IN_FONT = re.compile(r"(?:^|\s)(0|[\d.]+(?:px|pt|em|rem|%))(?=/|\s)")
_NOTHING = frozenset({"", "none", "0s", "initial", "transparent", "inherit"})
_RGB = re.compile(r"rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)(?:[\s,/]+([\d.]+)%?)?\s*\)")
_NAMED = {
    "white": "ffffff", "black": "000000", "red": "ff0000", "green": "008000", "blue": "0000ff", "yellow": "ffff00",
    "gray": "808080", "grey": "808080", "silver": "c0c0c0", "navy": "000080", "maroon": "800000", "lime": "00ff00",
    "snow": "fffafa", "ivory": "fffff0", "whitesmoke": "f5f5f5", "ghostwhite": "f8f8ff",
}  # fmt: skip
_SHORT_HEX = 3
_CLEAR = "transparent"
_INSTEAD_OF_COLOUR = frozenset({"background", "background-image", "text-shadow"})


@dataclass(frozen=True, slots=True)
class Sight:
    """How what an element holds is seen: `gone` for good, or `veiled` or `tiny` as long as nothing in it says else.

    `colour` and `background` are None where they are not known.
    """

    gone: str = ""
    veiled: bool = False
    tiny: bool = False
    colour: Colour | None = None
    background: Colour | None = None

    @property
    def why(self) -> str:
        """Why nobody sees it; empty where it is seen."""
        if self.gone or self.veiled:
            return self.gone or MARKED
        return TINY if self.tiny else camouflage(self.colour, self.background)


class Eye:
    """Looks at the elements of one page. `elsewhere` is to be set where it has style sheets that are not at hand."""

    def __init__(self) -> None:
        self.sheet = Sheet(WANTED)
        self.elsewhere = False

    def concerns(self, tag: str, attributes: Mapping[str, str]) -> bool:
        """Whether an element may look otherwise than what is around it."""
        return bool(self.sheet) or tag in _OWN_COLOURS or not _ATTRIBUTES.isdisjoint(attributes)

    def look(self, outer: Sight, tag: str, attributes: Mapping[str, str]) -> tuple[Sight, bool]:
        """How an element in one that is seen as `outer` is seen, and whether its text is raised."""
        own = declarations(attributes["style"]) if "style" in attributes else {}
        style = self.sheet.style(tag, attributes) if self.sheet else Style()
        values = {**style.values, **own}
        might = {name: told for name, told in style.might.items() if name not in own}
        sight = outer
        if tag not in _NEVER_HIDDEN:
            sight = replace(sight, gone=_gone(values, might, attributes), veiled=_is_veiled(values, might, outer))
            sight = replace(sight, tiny=_is_tiny(values, might, outer))
        colour, background = self._colours(outer, tag, attributes, values, might)
        return replace(sight, colour=colour, background=background), values.get("vertical-align") == "super"

    def _colours(
        self, outer: Sight, tag: str, attributes: Mapping[str, str], values: Values, might: dict[str, list[str]]
    ) -> tuple[Colour | None, Colour | None]:
        named = values.get("color") or attributes.get("color" if tag == "font" else "text" if tag == "body" else "", "")
        colour = _colour(named) if named and named != "inherit" else None if tag in _OWN_COLOURS else outer.colour
        background = None if tag in _OWN_COLOURS else outer.background
        drawn = " ".join(values.get(name, "") for name in ("background", "background-image"))
        paint = values.get("background-color") or values.get("background") or attributes.get("bgcolor", "")
        unknown = self.elsewhere and not attributes.keys().isdisjoint({"class", "id"})
        if paint.strip() not in _NOTHING:
            background = next((found for each in _words(paint) if (found := _colour(each))), None)
        elif unknown:
            background = None
        if "(" in drawn.replace("rgb(", "").replace("rgba(", "") or "background" in attributes:
            background = None  # a picture
        if "color" in might:
            colour = None
        if not might.keys().isdisjoint({"background", "background-color", "background-image"}):
            background = None
        return colour, background


def _gone(values: Values, might: dict[str, list[str]], attributes: Mapping[str, str]) -> str:
    """Why nobody sees an element, whatever those in it say."""
    shown = values.get("display") != "none" or any(told != "none" for told in might.get("display", ()))
    if attributes.get("hidden", "until-found").lower() != "until-found" or not shown:
        return MARKED
    moves = any(values.get(name, "") not in _NOTHING for name in ("transition", "animation", "animation-name"))
    if moves:
        return ""
    if _is_faint(values.get("opacity")) and all(map(_is_faint, might.get("opacity", ()))):
        return TRANSPARENT
    if values.get("color") == _CLEAR and "color" not in might and values.keys().isdisjoint(_INSTEAD_OF_COLOUR):
        return TRANSPARENT
    if _is_outside(values) and might.keys().isdisjoint({*_SIDES, "position", "text-indent", "margin-left"}):
        return OUTSIDE
    return TINY if _is_shut(values) and might.keys().isdisjoint({*_BOXES, "overflow"}) else ""


def _is_veiled(values: Values, might: dict[str, list[str]], outer: Sight) -> bool:
    said = values.get("visibility", "")
    if said in {"hidden", "collapse"}:
        moves = any(values.get(name, "") not in _NOTHING for name in ("animation", "animation-name"))
        return not moves and "visible" not in might.get("visibility", ())
    return outer.veiled and said not in {"visible", "initial"}


def _is_tiny(values: Values, might: dict[str, list[str]], outer: Sight) -> bool:
    said = values.get("font-size", "")
    if not said and (found := _SIZE_IN_FONT.search(values.get("font", ""))):
        said = found[1]
    if not said or said in _SAME_SIZE:
        return outer.tiny and "font-size" not in might
    length = _LENGTH.fullmatch(said)
    if not length:
        return False  # a name or a formula
    if length[2] in _RELATIVE and float(length[1]):
        return outer.tiny
    return abs(_pixels(said) or 0.0) <= _SMALLEST and not {"font-size", "font"} & might.keys()


def _is_faint(value: str | None) -> bool:
    found = _LENGTH.fullmatch(value or "")
    return found is not None and float(found[1]) * (0.01 if found[2] else 1.0) <= _FAINTEST


def _is_outside(values: Values) -> bool:
    moved = values.get("position", "static") != "static"
    names = ("text-indent", "margin-left", *(_SIDES if moved else ()))
    return any((_pixels(values.get(name, "")) or 0.0) <= _FAR_OUTSIDE for name in names)


def _is_shut(values: Values) -> bool:
    """A box without a size that cuts off what does not fit; padding gives it one."""
    if values.get("overflow") not in {"hidden", "clip"} or any(name.startswith("padding") for name in values):
        return False
    return any(_pixels(values.get(name, "")) == 0 for name in _BOXES)


def _pixels(value: str) -> float | None:
    """About how many pixels a length has; None where it is no plain one."""
    found = _LENGTH.fullmatch(value)
    return float(found[1]) * _PIXELS.get(found[2] or "px", _PIXELS_OF_A_LETTER) if found else None


def _words(value: str) -> list[str]:
    return [value] if "(" in value else value.split()


def _colour(value: str) -> Colour | None:
    value = value.strip().lower()
    digits = _NAMED.get(value) or value.removeprefix("#")
    if len(digits) == _SHORT_HEX:
        digits = "".join(digit * 2 for digit in digits)
    if found := _RGB.search(value):
        red, green, blue = (min(int(part[:3]), 255) for part in found.groups()[:3])
        return None if found[4] and not float(found[4].strip(".") or 0) else (red, green, blue)
    return of_hex(digits)
