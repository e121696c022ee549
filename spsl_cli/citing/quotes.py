"""Which parts of an answer are quotes, and which page they are said to stand on."""

from __future__ import annotations

import re
from dataclasses import dataclass

LEAST_WORDS = 3
LEAST_LETTERS = 12
"""What is shorter is a name or a word in quotation marks, which proves nothing."""

_MARKS = {"“": "”", "„": "“”", "«": "»", "»": "«", "‹": "›", "「": "」", "『": "』", '"': '"'}
_QUOTE = re.compile("|".join(f"{a}([^{a}{b}]+)[{b}]" for a, b in _MARKS.items()))
_BLOCK = re.compile(r"(?:^|\n)>[ \t]?([^\n]+(?:\n>[^\n]*)*)")
_NAMED = re.compile(r"[\s.,;:)—–-]*[\[(]\s*(?:pages?|p\.)\s*([^\s\])]{1,16})\s*[\])]", re.IGNORECASE)
_LETTER = re.compile(r"[^\W_]")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True)
class Quote:
    """What stands between the marks, and the page label that the answer names right behind it, if it does."""

    text: str
    page: str | None = None


def quotes_in(answer: str) -> list[Quote]:
    """The quotes of an answer in their order: between quotation marks, or in a block that begins with `>`."""
    found: list[tuple[int, Quote]] = []
    for match in _QUOTE.finditer(answer):
        text = next(group for group in match.groups() if group is not None)
        found.append((match.start(), Quote(text.strip(), _page(answer, match.end()))))
    for match in _BLOCK.finditer(answer):
        text = " ".join(line.lstrip("> \t") for line in match[1].splitlines()).strip()
        if not _QUOTE.search(text):
            found.append((match.start(), Quote(text, _page(answer, match.end()))))
    return [quote for _, quote in sorted(found, key=lambda one: one[0]) if _proves_something(quote.text)]


def _page(answer: str, end: int) -> str | None:
    named = _NAMED.match(answer, end)
    return named[1] if named else None


def _proves_something(text: str) -> bool:
    if len(_CJK.findall(text)) >= LEAST_LETTERS // 2:
        return True
    return len(text.split()) >= LEAST_WORDS and len(_LETTER.findall(text)) >= LEAST_LETTERS
