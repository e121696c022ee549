"""Text in a document that nobody sees: how much of it was left out, and why. Knows no kind of document."""

from __future__ import annotations

import re
from collections import Counter

from spsl_cli.documents.wording import count

MARKED, TINY, TRANSPARENT, OUTSIDE = "marked as hidden", "tiny", "transparent", "outside the page"
WHITE, CAMOUFLAGED = "white on white", "in the colour of its background"

Colour = tuple[int, int, int]
_LIGHT = 255
_NEAREST = 8
_WORD = re.compile(r"\w+")
_HEX = re.compile(r"[0-9a-fA-F]{6}")


class Unseen:
    """Counts what is left out."""

    def __init__(self) -> None:
        self._words: Counter[str] = Counter()

    def add(self, why: str, text: str) -> None:
        """Text that was left out."""
        if text.strip():
            self._words[why] += max(1, len(_WORD.findall(text)))

    def take(self, others: Unseen) -> None:
        """What was left out elsewhere."""
        self._words.update(others._words)

    def warnings(self) -> tuple[str, ...]:
        """One line for each reason."""
        return tuple(f"hidden text left out ({why}): {count(words, 'word')}" for why, words in self._words.items())


def of_hex(digits: str | None) -> Colour | None:
    """A colour of six hexadecimal digits."""
    if not digits or not _HEX.fullmatch(digits):
        return None
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def camouflage(colour: Colour | None, background: Colour | None) -> str:
    """Why letters of a colour are not seen before a background; empty where they are, or where one is not known."""
    if colour is None or background is None:
        return ""
    if any(abs(one - other) > _NEAREST for one, other in zip(colour, background, strict=True)):
        return ""
    return WHITE if min(*colour, *background) >= _LIGHT - _NEAREST else CAMOUFLAGED
