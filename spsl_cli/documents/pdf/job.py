"""One PDF on its way to a document: what is known of it so far, and what it may still cost. Starts nothing.

Several threads read its pages at once, so each method takes the lock for as long as it needs it, and no longer.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from spsl_cli.documents.pdf.assembly import assemble
from spsl_cli.documents.pdf.raw import Outline, RawPage
from spsl_cli.documents.source import Extract, Source, UnreadableError

_PAGES_A_RUN = 64
_MOST_RUNS = 16


class TimeIsUpError(Exception):
    """The file has had all the time it may take."""


class Job:
    """`extract` gives the result, or raises UnreadableError, when all runs of pages are done."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.extract: Future[Extract] = Future()
        self.pdfium = True
        self._lock = threading.Lock()
        self._outline: Outline | None = None
        self._pages: dict[int, RawPage] = {}
        self._characters = 0
        self._spent = 0.0
        self._runs = 0

    @property
    def progress(self) -> tuple[int, int]:
        """Pages read, and pages in all (0 until the file is open)."""
        with self._lock:
            return len(self._pages), self._outline.total if self._outline else 0

    @property
    def given_up(self) -> bool:
        """Whether the result stands already, so that further pages would be of no use."""
        return self.extract.done()

    def begin(self, outline: Outline, *, pdfium: bool) -> list[range]:
        """Takes what opening the file told, and whether to use the library in C; cuts its pages into runs."""
        size = math.ceil(outline.total / min(_MOST_RUNS, math.ceil(outline.total / _PAGES_A_RUN)))
        runs = [range(at, min(at + size, outline.total)) for at in range(0, outline.total, size)]
        with self._lock:
            self._outline, self._runs, self.pdfium = outline, len(runs), pdfium
        return runs

    def put(self, index: int, page: RawPage) -> None:
        """Takes one page. Raises UnreadableError when the text exceeds the limit of the document."""
        limit = self.source.limits.document_characters
        with self._lock:
            self._pages[index] = page
            self._characters += len(page.text)
            if self._characters > limit:
                raise UnreadableError(f"its text is more than the limit of {limit:,} characters")

    def end_run(self) -> None:
        """After the last run the document is made."""
        with self._lock:
            self._runs -= 1
            outline = self._outline
            if self._runs or outline is None or self.extract.done():
                return
        self.extract.set_result(assemble(outline, [self._pages[index] for index in range(outline.total)]))

    def fail(self, error: Exception) -> None:
        """The first error is the one to be told."""
        with self._lock:
            if not self.extract.done():
                self.extract.set_exception(error)

    @contextmanager
    def time(self, most: float) -> Iterator[float]:
        """Gives how long the next step may take, `most` at best, and counts what it took. Raises TimeIsUpError.

        Only time in which a process works on the file counts: how many other files are read beside it changes nothing.
        """
        left = self.seconds_left
        if left <= 0:
            raise TimeIsUpError
        begun = time.monotonic()
        try:
            yield min(most, left)
        finally:
            with self._lock:
                self._spent += time.monotonic() - begun

    @property
    def seconds_left(self) -> float:
        """Of the time that the whole file may take."""
        with self._lock:
            return self.source.limits.document_seconds - self._spent
