"""A second reading of a page, through pdfium, for those that the first one leaves doubts about."""

from __future__ import annotations

import re
from collections import Counter

import pypdfium2  # type: ignore[import-untyped]

from spsl_cli.documents.encoding import REPLACEMENT
from spsl_cli.documents.pdf.glyphs import Readable, readable
from spsl_cli.documents.pdf.hyphens import SOFT_HYPHEN
from spsl_cli.documents.source import Source

_WORD = re.compile(r"\w+")
_HYPHEN_AND_LINE_END = re.compile("[\u0002\ufffe][ \t]*(?:\r?\n)?")
_HYPHENS = frozenset(f"-\u2010{SOFT_HYPHEN}")
_ENOUGH = 0.8
_SAME = 0.7


class SecondReader:
    """One file, opened when first asked about. `pages` is how many the first reader found."""

    def __init__(self, source: Source, pages: int) -> None:
        self._source = source
        self._pages = pages
        self._document: pypdfium2.PdfDocument | None = None
        self._tried = False

    def text(self, index: int) -> Readable | None:
        """The text of the page at `index`; None if pdfium cannot read it, or counts the pages otherwise."""
        if not self._tried:
            self._tried = True
            self._document = self._open()
        if self._document is None:
            return None
        try:
            page = self._document[index]
        except pypdfium2.PdfiumError:
            return None
        try:
            text_page = page.get_textpage()
            try:
                return cleaned(text_page.get_text_range())
            finally:
                text_page.close()
        except pypdfium2.PdfiumError:
            return None
        finally:
            page.close()

    def close(self) -> None:
        """Gives back what the open file holds; nothing can be asked any more."""
        if self._document is not None:
            self._document.close()
        self._document, self._tried = None, True

    def _open(self) -> pypdfium2.PdfDocument | None:
        try:
            document = pypdfium2.PdfDocument(self._source.data, password=self._source.password)
        except (pypdfium2.PdfiumError, ValueError):
            return None
        if len(document) == self._pages:
            return document
        document.close()
        return None


def cleaned(text: str) -> Readable:
    """What pdfium gives, without its own sign for a hyphen and the end of its line together."""
    return readable(_HYPHEN_AND_LINE_END.sub(SOFT_HYPHEN + "\n", text))


def is_better(first: str, second: Readable) -> bool:
    """Whether the second reading knows what the first one guessed, and leaves nothing out that the first one has."""
    known = Counter(word for part in first.split() if REPLACEMENT not in part for word in _words(part))
    found = Counter(_words(second.text))
    unknown = first.count(REPLACEMENT)
    if unknown and (second.unknown >= unknown or _signs(second.text) < _signs(first)):
        return False  # it knows no more, or leaves out what it does not know
    if sum((known & found).values()) < _SAME * known.total() and REPLACEMENT in first:
        return False
    return found.total() >= _ENOUGH * known.total() and bool(found)


def _signs(text: str) -> int:
    """How many, without blanks and hyphens: pdfium's sign for a hyphen may stand for what it does not know, too."""
    return sum(not sign.isspace() and sign not in _HYPHENS for sign in text)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)
