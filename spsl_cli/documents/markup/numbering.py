"""The markers of list items: numbers, letters, Roman numerals, or dashes. Knows nothing of how lists are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

BULLET = "- "
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_LARGEST_ROMAN = 3999
_LETTERS = 26
_CSS_STYLES = {
    "decimal": "1", "lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A",
    "lower-roman": "i", "upper-roman": "I",
}  # fmt: skip
_CSS_STYLE = re.compile(r"list-style(?:-type)?\s*:\s*([a-z-]+)", re.IGNORECASE)
_NUMBER = re.compile(r"\s*([+-]?[0-9]{1,9})")


@dataclass(slots=True)
class Numbering:
    """The numbers of one list. `style` is that of HTML: `1`, `a`, `A`, `i` or `I`; None for a list without numbers."""

    style: str | None = None
    following: int = 1
    step: int = 1
    begun: bool = False

    @classmethod
    def of(cls, attributes: Mapping[str, str]) -> Numbering:
        """The numbers of an `<ol>` with these attributes."""
        css = _CSS_STYLE.search(attributes.get("style", ""))
        if css and css[1].lower() == "none":
            return cls()
        style = _CSS_STYLES.get(css[1].lower() if css else "") or attributes.get("type", "1").strip()
        if style not in {"1", "a", "A", "i", "I"}:
            style = "1"
        if "reversed" not in attributes:
            return cls(style, integer(attributes.get("start"), 1))
        # Without a start it would begin at how many items there are, which is not known yet.
        return cls(style, integer(attributes["start"], 1), -1) if "start" in attributes else cls()

    def marker(self, own: str | None = None) -> str:
        """The marker of the next item, which may have a number of its `own`."""
        self.begun = True
        self.following = integer(own, self.following)
        marker = BULLET if self.style is None else f"{numeral(self.following, self.style)}. "
        self.following += self.step
        return marker


def integer(text: str | None, default: int) -> int:
    """The number with which an attribute begins, as browsers take it."""
    found = _NUMBER.match(text or "")
    return int(found[1]) if found else default


def numeral(number: int, style: str) -> str:
    """A number as lists write it; in digits where the style has no sign for it."""
    if style in {"i", "I"} and 0 < number <= _LARGEST_ROMAN:
        written = _roman(number)
    elif style in {"a", "A"} and number > 0:
        written = _letters(number)
    else:
        return str(number)
    return written.upper() if style.isupper() else written


def _roman(number: int) -> str:
    written = ""
    for value, sign in _ROMAN:
        times, number = divmod(number, value)
        written += sign * times
    return written


def _letters(number: int) -> str:
    written = ""
    while number:
        number, rest = divmod(number - 1, _LETTERS)
        written = chr(ord("a") + rest) + written
    return written
