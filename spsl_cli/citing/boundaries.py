"""Whether a text may be cut at a place: not within a word or a number, nor between a number and its sign or unit.

A quote that begins or ends at such a place says something else than its source: 5 of 1.5, refundable of
non-refundable, 5 of 5 %, 500 of 1 500, five of twenty five. Works on `Plain.shown`, and looks at a
few characters around the place.
"""

from __future__ import annotations

import re
import unicodedata

from spsl_cli.citing.typography import UNSPACED
from spsl_cli.citing.weighty import NUMBER_WORDS, SCALES

_HYPHENS = "-‐‑"
_SIGNS = "+±∓~≈<>≤≥=#§№$€£¥₹¢^√-‐‑‒–−﹣－"
_UNITS = "%‰‱°′″€$£¥₹¢+^"
_SPACED_SIGNS = "−±≈<>≤≥§№$€£¥₹"
_SPACED_UNITS = "%‰‱°€£¥₹′″"
_JOINTS = "/@&+=^\\~·×⁄_<>*#|"
_NEGATIONS = "不非未无無没沒勿莫別别"
_NEGATED = ("ない", "なか", "なく", "ません", "ませ", "ぬ", "ずに")
_LAST_WORD = re.compile(r"[^\s]+$")
_FIRST_WORD = re.compile(r"[^\s]+")
_NEAR = 40
"""Characters looked at on both sides of a place."""

_INCHES_WITHIN = 400
"""Characters in which a quotation mark must have its other half, or it stands for inches."""


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether characters start .. end-1 of `text` may be quoted alone."""
    return not _joined(text, start) and not _joined(text, end) and not _inches(text, start, end)


def _joined(text: str, at: int) -> bool:
    """Whether what stands before `at` and what stands there belong together."""
    before, after = text[max(0, at - _NEAR) : at], text[at : at + _NEAR]
    if not before or not after:
        return False
    if after[0].isspace() or before[-1].isspace():
        apart = "\t" in (after[0], before[-1])
        return not apart and _joined_over_blank(before.rstrip(), after.lstrip())
    return (
        _is_mark(after[0])
        or _within_word(before, after)
        or (_numeric(after[0]) and _sign_before(before))
        or (_numeric(before[-1]) and _unit_after(after))
        or _joint(before, after)
    )


def _within_word(before: str, after: str) -> bool:
    left, right = before[-1], after[0]
    if not (_wordy(left) and _wordy(right)):
        return False
    if UNSPACED.match(left) or UNSPACED.match(right):
        return (_numeric(left) and _numeric(right)) or left in _NEGATIONS or after.startswith(_NEGATED)
    return True


def _sign_before(before: str) -> bool:
    """Whether a number is preceded by what changes it: a sign, a currency, a decimal point, more of the number."""
    last, outer = before[-1], before[-2:-1]
    if last == "—":
        return False
    if last in ".,":  # .5 as well as 1.5, but not "rent.5 The"
        return not outer or outer.isspace() or _numeric(outer)
    return last in _SIGNS or (last in ":/'’" and _numeric(outer))


def _unit_after(after: str) -> bool:
    """Whether a number is followed by what changes it: a unit that is a sign, more of the number."""
    first, outer = after[0], after[1:2]
    return first in _UNITS or (first in ".,:/'’–-‐‑−" and _numeric(outer))


def _joint(before: str, after: str) -> bool:
    """Whether a hyphen, an apostrophe or the like joins two words, and the place is on one side of it."""
    left, right = before[-1], after[0]
    if _wordy(left):
        return _joins(left, right, after[1:2])
    return _wordy(right) and _joins(before[-2:-1], left, right)


def _joins(left: str, joint: str, right: str) -> bool:
    if not left or not right or not _wordy(left) or not _wordy(right):
        return False
    if joint == ".":  # U.S., example.com; not a sentence that ends without a blank
        return (left.isalpha() and right.islower()) or (left.isupper() and right.isupper())
    return joint in _HYPHENS or joint in "'’" or joint in _JOINTS


def _joined_over_blank(before: str, after: str) -> bool:
    """Whether two parts of an amount stand on both sides of a blank: 1 500, 5 million, twenty five, 2 ½, ± 5, 5 %."""
    if not before or not after:
        return False
    if _numeric(after[0]) and before[-1] in _SPACED_SIGNS:
        return True
    if _numeric(before[-1]) and after[0] in _SPACED_UNITS:
        return not _numeric(after[1:2])  # "5 $10" are two amounts
    left, right = _LAST_WORD.search(before), _FIRST_WORD.match(after)
    return left is not None and right is not None and _one_number(left[0], right[0])


def _one_number(left: str, right: str) -> bool:
    left, right = left.lower().strip("\"'()[]“”"), right.lower().strip("\"'()[]“”.,;:!?")
    if re.fullmatch(r"\S*\d", left) and re.fullmatch(r"\d{3}(?:\D.*)?", right):
        return re.search(r"(?<!\d)\d{1,3}$", left) is not None
    if _numeric(left[-1:]) and re.fullmatch(r"\d+/\d+|[¼-¾⅐-⅞]", right):
        return True
    return (right in SCALES and _numeric(left[-1:])) or (right in NUMBER_WORDS and left in NUMBER_WORDS)


def _inches(text: str, start: int, end: int) -> bool:
    """Whether the run ends with a number of inches without their mark."""
    if text[end : end + 1] != '"' or not _numeric(text[end - 1]):
        return False
    return text.count('"', max(0, start - _INCHES_WITHIN), end) % 2 == 0


def _wordy(character: str) -> bool:
    return character.isalnum() or character == "_" or _is_mark(character)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _numeric(character: str) -> bool:
    return character.isnumeric()
