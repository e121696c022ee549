"""Every quote of an answer with what became of it: verified, repaired, or unverified.

Verified: it stands in a document, contiguous but for typography, and on the page that the answer names if it names one.
Repaired: nearly so, or on another page; the document's own words and place are given. Unverified: neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from spsl_cli.citing.matching import Run, like_run, same_runs
from spsl_cli.citing.quotes import Quote, quotes_in
from spsl_cli.documents import Document, Place

_ELISION = re.compile(r"\s*(?:\[\s*(?:\.\.\.|…)\s*\]|\(\s*(?:\.\.\.|…)\s*\)|\.\.\.|…)\s*")
SHOWN = 80
"""Characters of a quote in a line for the user."""

LONGEST_ELISION = 600
"""Characters of the document that may lie between the first and the last part of a quote with something left out."""


class Status(StrEnum):
    """What became of a quote."""

    VERIFIED = "verified"
    REPAIRED = "repaired"
    UNVERIFIED = "unverified"


@dataclass(frozen=True)
class Citation:
    """A quote as the answer has it, and where it stands: `source` are the document's own words there."""

    quote: str
    status: Status
    path: str | None = None
    place: Place | None = None
    source: str | None = None

    def told(self) -> str:
        """In one line for the user."""
        if self.place is None:
            return f'not found in the documents: "{_short(self.quote)}"'
        where = f"{self.path}, page {self.place.label or self.place.page}, line {self.place.line}"
        if self.status is Status.VERIFIED:
            return f'verified: "{_short(self.quote)}" ({where})'
        return f'repaired: "{_short(self.quote)}" stands as "{_short(self.source or "")}" ({where})'


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1].rstrip()}…"


def cite(answer: str, documents: Sequence[Document]) -> tuple[Citation, ...]:
    """Look every quote of the answer up."""
    return tuple(_look_up(quote, documents) for quote in quotes_in(answer))


def _look_up(quote: Quote, documents: Sequence[Document]) -> Citation:
    elsewhere: Citation | None = None
    for document, run in _runs(quote.text, documents):
        place = document.place(run.start)
        status = Status.VERIFIED if run.same and _is_named(quote, document, run) else Status.REPAIRED
        source = " ".join(document.text[run.start : run.end].split())
        found = Citation(quote.text, status, document.path, place, source)
        if status is Status.VERIFIED:
            return found
        elsewhere = elsewhere or found
    return elsewhere or Citation(quote.text, Status.UNVERIFIED)


def _runs(text: str, documents: Sequence[Document]) -> Iterator[tuple[Document, Run]]:
    """Where the quote stands: as it is in any document, then with something left out, then nearly."""
    exact = False
    for document in documents:
        for run in same_runs(text, document.text):
            exact = True
            yield document, run
    if exact:
        return
    for look in (_with_elision, like_run):
        for document in documents:
            near = look(text, document.text)
            if near is not None:
                yield document, near
                return


def _with_elision(quote: str, text: str) -> Run | None:
    """From the first part of a quote with `...` in it to its last, each part as it is and in their order."""
    parts = [part for part in _ELISION.split(quote) if part.strip()]
    if len(parts) < 2:  # noqa: PLR2004
        return None
    for first in same_runs(parts[0], text):
        end: int | None = first.end
        for part in parts[1:]:
            end = next((run.end for run in same_runs(part, text) if end is not None and run.start >= end), None)
        if end is not None and end - first.start <= LONGEST_ELISION:
            return Run(first.start, end, same=False)
    return None


def _is_named(quote: Quote, document: Document, run: Run) -> bool:
    """Whether the quote lies on the page that the answer names, if it names one; it may run over to the next page."""
    if quote.page is None or not document.paged:
        return True
    places = (document.place(run.start), document.place(run.end - 1))
    return any(quote.page in (place.label, str(place.page)) for place in places)
