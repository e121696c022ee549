"""What an answer says of the place of a quote, as in "[page 3]" or "(lease.pdf, p. iv)", and whether it is so.

Pages are named as the prompt marks them: by printed label where each page has its own, else by number; what is no
page's label may still be a number. A document without pages is page 1.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import PurePath

from spsl_cli.documents import Document

_PAGE = r"(?:pages?|pgs?\.?|pp?\.|seiten?|páginas?|págs?\.|pagin[ae])"
_LABEL = r"(?:\d[\w.]*(?<!\.)|[ivxlcdm]+|[a-z]{1,3}[-.]?\d+|[a-z])(?!\w)"
_AND = r"\s*(?:[,;&/]|\b(?:and|or|und|et)\b)\s*"
_TO = r"\s*(?:[-–—]|\b(?:to|bis)\b)\s*"
_PAGES = re.compile(
    rf"(?<!\w){_PAGE}\s*(?P<labels>{_LABEL}(?:(?:{_AND}|{_TO})(?:{_PAGE}\s*)?(?!i\b){_LABEL})*)"
    r"|第\s*(?P<chinese>\d+)\s*[页頁]|(?P<japanese>\d+)\s*ページ",
    re.IGNORECASE,
)
_ANY_PAGE = re.compile(rf"(?<!\w){_PAGE}\s*(?P<rest>[^\])）】;]+)", re.IGNORECASE)
_PARTS = re.compile(rf"{_AND}(?:{_PAGE}\s*)?", re.IGNORECASE)
_RANGE = re.compile(rf"{_TO}(?:{_PAGE}\s*)?", re.IGNORECASE)
_LINES = re.compile(r"\blines?\s+(\d+)(?:\s*[-–—]\s*(\d+))?", re.IGNORECASE)
_DOCUMENT = re.compile(r"\bdocument\s+(\d+)", re.IGNORECASE)
_EXTENSION = r"\.(?:pdf|txt|md|rst|docx?|epub|html?|ipynb|csv|tsv|eml)\b"
_FILE = re.compile(rf"[^\s\[\]()\"'“”,;:]+{_EXTENSION}", re.IGNORECASE)
BRACKET = re.compile(
    r"[\[(（【]\s*(?=[^\[\]()（）【】\n]*"
    rf"(?:(?<!\w){_PAGE}\s*\w|第\s*\d|\d\s*ページ|\blines?\s+\d|\bdocument\s+\d|\w{_EXTENSION}))"
    r"[^\[\]()（）【】\n]{1,120}[\])）】]",
    re.IGNORECASE,
)
"""Brackets that name a place."""


def names_place(prose: str) -> bool:
    """Whether prose may say where something stands."""
    return any(pattern.search(prose) for pattern in (_PAGES, _DOCUMENT, _FILE))


class Pages:
    """The pages of a document by what they are called, and which of them hold which characters."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def _named(self) -> dict[str, set[int]]:
        pages = self.document.pages
        labels = [(page.label or "").strip() or str(page.number) for page in pages]
        named = {str(page.number): {page.number} for page in pages}
        by_label: dict[str, set[int]] = {}
        for label, page in zip(labels, pages, strict=True):
            by_label.setdefault(label.casefold(), set()).add(page.number)
        if len(set(labels)) < len(labels):  # the prompt marks them by number
            return {**by_label, **named}
        return {**named, **by_label}

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(page.text) + 1 for page in self.document.pages[:-1])]

    def all_called(self, whole: str, parts: Sequence[str]) -> set[int]:
        """The numbers of the pages of one name, `whole`, or of several; none if one of them is no page's."""
        found = self.called(whole)
        each = [self.called(part) for part in parts]
        return found or (set().union(*each) if all(each) else set())

    def called(self, label: str) -> set[int]:
        """The numbers of the pages of that name; of a range, of all in it; none if there is no such page."""
        label = label.strip(" .,:").casefold()
        if label in self._named:
            return self._named[label]
        ends = [self._named.get(end.strip(), set()) for end in _RANGE.split(label, maxsplit=1)]
        if len(ends) < 2 or not all(ends):  # noqa: PLR2004
            return set()
        return set(range(min(ends[0]), max(ends[1]) + 1))

    def of(self, start: int, end: int) -> set[int]:
        """The numbers of the pages that characters start .. end-1 of the text stand on."""
        first, last = bisect_right(self._starts, start), bisect_right(self._starts, end - 1)
        return {page.number for page in self.document.pages[first - 1 : last]}

    def begins(self, at: int) -> bool:
        """Whether only blanks stand before character `at` on its page."""
        start = self._starts[bisect_right(self._starts, at) - 1]
        return not self.document.text[start:at].strip()


@dataclass(frozen=True)
class Claim:
    """Where a quote is said to stand; None or empty where nothing is said.

    `documents` are indices. Each of `pages` is what follows the word, which may be a name, and the names it is made of.
    """

    documents: frozenset[int] | None
    pages: tuple[tuple[str, tuple[str, ...]], ...]
    lines: tuple[tuple[int, int], ...]

    def holds(self, index: int, pages: Pages, start: int, end: int) -> bool:
        """Whether characters start .. end-1 of document `index` stand there, or begin or end there."""
        if self.documents is not None and index not in self.documents:
            return False
        named = [pages.all_called(*one) for one in self.pages]
        if not all(named) or (named and not set().union(*named) & pages.of(start, end)):
            return False
        if not self.lines:
            return True
        first, last = pages.document.place(start).line, pages.document.place(end - 1).line
        return any(begin <= max(first, last) and until >= first for begin, until in self.lines)


def claim(said: str, documents: Sequence[Document]) -> Claim:
    """Understand what an answer says of a place, in brackets or in prose."""
    brackets = [match[0] for match in BRACKET.finditer(said)]
    inside = " ".join(brackets)
    return Claim(
        _documents(inside or said, documents, sure=bool(brackets)),
        tuple(one for part in brackets or [said] for one in _labels(part, sure=bool(brackets))),
        tuple((int(match[1]), int(match[2] or match[1])) for match in _LINES.finditer(inside)),
    )


def _labels(said: str, *, sure: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The pages named; `sure`: what follows the word is a label even if it does not look like one."""
    position = 0
    while match := (_ANY_PAGE if sure else _PAGES).search(said, position) or _PAGES.search(said, position):
        named = _PAGES.match(said, match.start())
        whole = match.groupdict().get("rest", "")
        parts = _PARTS.split(named["labels"] or named["chinese"] or named["japanese"]) if named else [whole]
        position = named.end() if named else match.end()
        yield whole, tuple(parts)


def _documents(said: str, documents: Sequence[Document], *, sure: bool) -> frozenset[int] | None:
    """Which documents are named; `sure`: a file that is none of them counts as named too, and is not here."""
    rest, named = said.casefold(), set[int]()
    for name_of in (lambda path: path, lambda path: PurePath(path).name):  # a path says more than a name
        names = {index: name_of(document.path).casefold() for index, document in enumerate(documents)}
        found = {index: name for index, name in names.items() if name and _is_word(name, rest)}
        named |= set(found)
        for name in found.values():
            rest = rest.replace(name, " ")
    numbers = {int(match[1]) - 1 for match in _DOCUMENT.finditer(rest)}
    known = {number for number in numbers if 0 <= number < len(documents)}
    if not named and not known and not (sure and (numbers or _FILE.search(rest))):
        return None
    return frozenset(named | known)


def _is_word(name: str, text: str) -> bool:
    return name in text and re.search(rf"(?<![\w/\\.-]){re.escape(name)}(?!\w)", text) is not None
