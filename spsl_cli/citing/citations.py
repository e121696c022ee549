"""Every quote of an answer with what became of it: verified, repaired, or unverified.

Verified: it stands in a document, contiguous but for typography, and where the answer says, if it says so. Repaired:
so, but elsewhere, or with something left out, or but for a slip (`repair`); the document's own words and place are
given. Unverified: neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from spsl_cli.citing.claims import BRACKET, Pages, claim
from spsl_cli.citing.matching import Run, core, same_runs
from spsl_cli.citing.quotes import Quote, quotes_in
from spsl_cli.citing.repair import like_run, run_with_elision
from spsl_cli.citing.typography import broken_words, joined_words, plain_document
from spsl_cli.documents import Document, Place

SHOWN = 80
"""Characters of a quote in a line for the user."""

_LEAD = 20
"""Of those, how many may stand before the first difference from the document."""

_MOST_PLACES = 1000
"""Places of one quote in one document that are held against what the answer says."""


class Status(StrEnum):
    """What became of a quote."""

    VERIFIED = "verified"
    REPAIRED = "repaired"
    UNVERIFIED = "unverified"


@dataclass(frozen=True)
class Citation:
    """A quote as the answer has it, and where it stands: `source` are the document's own words there.

    `paged`: whether that document has pages.
    """

    quote: str
    status: Status
    path: str | None = None
    place: Place | None = None
    source: str | None = None
    paged: bool = True

    def told(self) -> str:
        """In one line for the user."""
        if self.place is None or self.source is None:
            return f'not found in the documents: "{_short(self.quote)}"'
        where = f"{self.path}, {self.place.told(paged=self.paged)}"
        if self.status is Status.VERIFIED:
            return f'verified: "{_short(self.quote)}" ({where})'
        if core(self.quote).text == core(self.source).text:
            return f'repaired: "{_short(self.quote)}" stands elsewhere ({where})'
        quote, source = " ".join(self.quote.split()), " ".join(self.source.split())
        first = next((i for i, (a, b) in enumerate(zip(quote, source, strict=False)) if a != b), 0)
        return f'repaired: "{_short(quote, first)}" stands as "{_short(source, first)}" ({where})'


def _short(text: str, first: int = 0) -> str:
    """`text` in `SHOWN` characters, among them the one at `first`."""
    text = " ".join(text.split())
    if len(text) <= SHOWN:
        return text
    begin = 0 if first < SHOWN - 1 - _LEAD else text.rfind(" ", 0, first - _LEAD) + 1
    lead, rest = ("…" if begin else ""), text[begin:]
    room = SHOWN - len(lead)
    return lead + (rest if len(rest) <= room else f"{rest[: room - 1].rstrip()}…")


def cite(answer: str, documents: Sequence[Document]) -> tuple[Citation, ...]:
    """Look every quote of the answer up."""
    shelf = _Shelf(documents)
    return tuple(shelf.look_up(quote) for quote in quotes_in(answer))


class _Shelf:
    """The documents that quotes are looked up in."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        self.pages = [Pages(document) for document in documents]

    def look_up(self, quote: Quote) -> Citation:
        """Verified if any of its readings is; else repaired by the first thing found."""
        readings = tuple(_readings(quote))
        elsewhere: Citation | None = None
        for reading in readings:
            said = claim(reading.said, self.documents)
            for index, run in self._same(reading.text):
                fits = said.holds(index, self.pages[index], run.start, run.end) and self._breaks(reading, index, run)
                found = self._citation(quote, Status.VERIFIED if fits else Status.REPAIRED, index, run)
                if fits:
                    return found
                elsewhere = elsewhere or found
        return elsewhere or self._near(quote, readings) or Citation(quote.text, Status.UNVERIFIED)

    def _same(self, text: str) -> Iterator[tuple[int, Run]]:
        """Where the quote stands as it is; if nowhere, where it does with words joined that lines break."""
        exact = False
        for joined in (False, True):
            for index, document in enumerate(self.documents):
                wanted = joined_words(text, broken_words(document.text)) if joined else text
                if wanted is None:
                    continue
                source = plain_document(document.text, joined=joined)
                for run in islice(same_runs(wanted, source), _MOST_PLACES):
                    exact = True
                    yield index, run
            if exact:
                return

    def _breaks(self, reading: _Reading, index: int, run: Run) -> bool:
        """Whether the page marks within a quote stand where those pages begin."""
        document, pages = self.documents[index], self.pages[index]
        for mark, rest in reading.breaks:
            said = claim(mark, self.documents)
            runs = same_runs(rest, plain_document(document.text))
            at = next((one.start for one in runs if one.end == run.end), None)
            if at is None or not pages.begins(at) or not said.holds(index, pages, at, at + 1):
                return False
        return True

    def _near(self, quote: Quote, readings: Sequence[_Reading]) -> Citation | None:
        """The document's own words where something was left out, or where the quote has a slip."""
        for reading in readings:
            for index, document in enumerate(self.documents):
                run = run_with_elision(reading.text, plain_document(document.text), document.text)
                if run is not None:
                    return self._citation(quote, Status.REPAIRED, index, run)
        for reading in readings:
            for index, document in enumerate(self.documents):
                run = like_run(reading.text, plain_document(document.text))
                if run is not None:
                    return self._citation(quote, Status.REPAIRED, index, run)
        return None

    def _citation(self, quote: Quote, status: Status, index: int, run: Run) -> Citation:
        document = self.documents[index]
        source = " ".join(document.text[run.start : run.end].split())
        return Citation(quote.text, status, document.path, document.place(run.start), source, document.paged)


@dataclass(frozen=True)
class _Reading:
    """One way to read a quote: its words, what is said of their place, and marks within, each with what follows it."""

    text: str
    said: str
    breaks: tuple[tuple[str, str], ...] = ()


def _readings(quote: Quote) -> Iterator[_Reading]:
    """As it stands, and with marks such as `[page 3]` taken out of it, as the model sees them between pages."""
    yield _Reading(quote.text, quote.said)
    marks = [match[0] for match in BRACKET.finditer(quote.text)]
    if not marks:
        return
    parts = [part.strip() for part in BRACKET.split(quote.text)]
    said, breaks = [quote.said], []
    for number, mark in enumerate(marks, start=1):
        rest = " ".join(parts[number:]).strip()
        if core(rest).text and core(" ".join(parts[:number])).text:
            breaks.append((mark, rest))
        else:
            said.append(mark)
    yield _Reading(" ".join(parts).strip(), " ".join(said).strip(), tuple(breaks))
