"""Where a quote stands in a text: letter for letter but for typography, or nearly, over one contiguous run.

Typography is case, blanks and line ends, shapes of quotation marks and dashes, ligatures, soft hyphens. Raised and
lowered digits are not: 10⁶ is not 106. No run begins or ends within a word or a number.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

LIKE = 88.0
"""From which similarity on, in percent, a run is taken for what a quote meant."""

_ALIKE = {
    **dict.fromkeys("‘’‚‛ʼ′´`", "'"),
    **dict.fromkeys("“”„‟«»″", '"'),
    **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
    "…": "...",
}
_NOTHING = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_APART = ("<super>", "<sub>", "<fraction>", "<circle>", "<square>")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_IN_NUMBERS = tuple(".,/:")
_SENTENCE_END = ".,;:!? "


@dataclass(frozen=True)
class Plain:
    """A text without its typography; `places[i]` is where its character i came from, with one more at the end."""

    text: str
    places: tuple[int, ...]

    def run(self, start: int, end: int) -> tuple[int, int]:
        """The run of the original text that characters start .. end-1 came from."""
        return self.places[start], self.places[end - 1] + 1


@dataclass(frozen=True)
class Run:
    """Characters start .. end-1 of a text; `same`: they are the quote but for typography."""

    start: int
    end: int
    same: bool


@lru_cache(maxsize=64)
def plain(text: str) -> Plain:
    """Without typography."""
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character in _NOTHING:
            continue
        for part in " " if character.isspace() else _shape(character):
            if part == " " and (not characters or characters[-1] == " "):
                continue
            characters.append(part)
            places.append(place)
    places.append(len(text))
    return Plain("".join(characters), tuple(places))


def same_runs(quote: str, text: str) -> list[Run]:
    """Every place in `text` where the quote stands but for typography and the mark that ends it."""
    source, wanted = plain(text), plain(quote).text.strip(" \"'").rstrip(_SENTENCE_END)
    if not wanted:
        return []
    found = []
    start = source.text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if _whole(source.text, start, end):
            found.append(Run(*source.run(start, end), same=True))
        start = source.text.find(wanted, start + 1)
    return found


def like_run(quote: str, text: str) -> Run | None:
    """The run of `text` that is most like the quote, if it is by `LIKE` percent and has the same numbers."""
    from rapidfuzz import fuzz  # noqa: PLC0415 not needed where quotes are exact

    source, wanted = plain(text), plain(quote).text.strip(" \"'")
    if len(wanted) > len(source.text):
        return None
    near = fuzz.partial_ratio_alignment(wanted, source.text, score_cutoff=LIKE)
    if near is None or near.dest_start >= near.dest_end:
        return None
    start, end = _to_words(source.text, near.dest_start, near.dest_end)
    if _NUMBER.findall(source.text[start:end]) != _NUMBER.findall(wanted):
        return None
    return Run(*source.run(start, end), same=False)


def _shape(character: str) -> str:
    """One character as those that look like it are written."""
    if character in _ALIKE:
        return _ALIKE[character]
    if unicodedata.decomposition(character).startswith(_APART):
        return character
    return unicodedata.normalize("NFKC", character).casefold()


def _whole(text: str, start: int, end: int) -> bool:
    """Whether the run begins and ends between words, and not within a number such as 1.5, 1,500 or -5."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if text[start].isalnum() and before[-1:].isalnum():
        return False
    if text[end - 1].isalnum() and after[:1].isalnum():
        return False
    if text[start].isdigit() and (before[-1:] == "-" or (before[-1:] in _IN_NUMBERS and before[:1].isdigit())):
        return False
    return not (text[end - 1].isdigit() and after[:1] in _IN_NUMBERS and after[1:].isdigit())


def _to_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The run widened to whole words, blanks at its ends left out."""
    while start > 0 and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    while start < end and text[start] == " ":
        start += 1
    while end > start and text[end - 1] == " ":
        end -= 1
    return start, end
