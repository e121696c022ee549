"""Paths -> Collection: finds, reads and names what was skipped. A source that cannot be read never costs another.

PDFs are read beside one another, by processes of their own; every other kind here, one after the other.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from spsl_cli.documents.discovery import Selection, find
from spsl_cli.documents.document import Collection, Document, Skip
from spsl_cli.documents.folder import Found
from spsl_cli.documents.intake import read_file, read_stream
from spsl_cli.documents.kinds import PDF, kind_of
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.pdf import reader as pdf
from spsl_cli.documents.pdf.job import Job
from spsl_cli.documents.pdf.supervisor import ParserPool
from spsl_cli.documents.source import AlreadyReadError, Extract, Source, UnreadableError
from spsl_cli.documents.wording import failure, os_reason

_log = logging.getLogger(__name__)
_SECONDS_BETWEEN_TOLD = 0.2


@dataclass(frozen=True, slots=True)
class Reading:
    """How far reading is: `done` of `total` inputs, and `name` the one at hand, empty when all are done.

    Of a PDF that is being read, `pages_done` of its `pages` are; `pages` is 0 until the file is open.
    """

    done: int
    total: int
    name: str = ""
    pages_done: int = 0
    pages: int = 0


Progress = Callable[[Reading], None]


def read_paths(
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    password: str | None = None,
    on_progress: Progress | None = None,
    limits: Limits | None = None,
    selection: Selection | None = None,
) -> Collection:
    """Reads files, folders (all below them), glob patterns and `-` (all of `stdin`), in the order given.

    `password` is tried on every encrypted PDF, `selection` says what of a folder is wanted.
    `on_progress` is called before each input is read, while a PDF is being read, and when all are. No input raises:
    what cannot be read is in `skipped`, with its reason, and when nothing could be read `documents` is empty. Neither
    the order nor the outcome depends on how many processes read.
    """
    found = list(find(paths, selection))
    total = sum(isinstance(item, Found) for item in found)
    with ParserPool() as pool:
        run = _Run(pool, stdin, password, limits or Limits(), on_progress, total)
        for item in found:
            run.take(item)
        run.finish()
    if on_progress:
        on_progress(Reading(total, total))
    return Collection(run.documents, run.skipped)


@dataclass(frozen=True)
class _Begun:
    """A PDF that processes are reading, and its place among the results."""

    place: int
    found: Found
    digest: str
    job: Job


class _Run:
    """One run over the inputs: what has been read so far, by which content and name, and what is being read."""

    def __init__(
        self,
        pool: ParserPool,
        stdin: BinaryIO | None,
        password: str | None,
        limits: Limits,
        on_progress: Progress | None,
        total: int,
    ) -> None:
        self._pool = pool
        self._stdin = stdin
        self._password = password
        self._limits = limits
        self._on_progress = on_progress
        self._total = total
        self._results: list[Document | Skip | None] = []
        self._begun: dict[str, _Begun] = {}
        self._done = 0
        self._names_by_hash: dict[str, str] = {}
        self._taken: set[Path | None] = set()

    @property
    def documents(self) -> tuple[Document, ...]:
        """In the order of the inputs."""
        return tuple(result for result in self._results if isinstance(result, Document))

    @property
    def skipped(self) -> tuple[Skip, ...]:
        """In the order of the inputs."""
        return tuple(result for result in self._results if isinstance(result, Skip))

    def take(self, item: Found | Skip) -> None:
        """Reads `item`, or begins to; returns when few enough PDFs are begun to think of the next."""
        place = len(self._results)
        self._results.append(item if isinstance(item, Skip) else None)
        if isinstance(item, Found):
            self._tell(item.name)
            self._settle(place, item, partial(self._document, place, item))
            while self._is_full():
                self._wait()

    def finish(self) -> None:
        """Waits for all that is begun."""
        while self._begun:
            self._wait()

    def _settle(self, place: int, found: Found, made: Callable[[], Document | None]) -> None:
        """Puts the document, or why there is none, into its place; None stands for one that is to come."""
        result: Document | Skip | None
        try:
            result = made()
        except UnreadableError as error:
            result = Skip(found.name, str(error), by_rule=isinstance(error, AlreadyReadError))
        except Exception as error:  # noqa: BLE001 - a reader's fault costs its own file only; it is named
            _log.debug("reading %s failed", found.name, exc_info=True)
            result = Skip(found.name, f"could not be read: {type(error).__name__}: {failure(error)}")
        self._results[place] = result
        self._done += result is not None

    def _document(self, place: int, found: Found) -> Document | None:
        if found.path in self._taken:
            raise AlreadyReadError("named twice")
        self._taken.add(found.path)
        data = self._bytes(found)
        if not data:
            raise UnreadableError("empty file" if found.path else "empty")
        digest = hashlib.sha256(data).hexdigest()
        while digest in self._begun:  # whether this is the same document again depends on what becomes of that
            self._wait()
        if digest in self._names_by_hash:
            raise AlreadyReadError(f"same content as {self._names_by_hash[digest]}")
        source = Source(found.name, data, self._password, self._limits)
        kind = kind_of(source)
        if kind is PDF and pdf.is_parsed(source):
            self._begun[digest] = _Begun(place, found, digest, self._pool.submit(source))
            return None
        return self._made(found, digest, kind.read(source))

    def _finished(self, begun: _Begun) -> Document:
        return self._made(begun.found, begun.digest, begun.job.extract.result())

    def _made(self, found: Found, digest: str, extract: Extract) -> Document:
        characters = sum(len(page.text) for page in extract.pages)
        if characters > self._limits.document_characters:
            limit = self._limits.document_characters
            raise UnreadableError(f"{characters:,} characters of text, more than the limit of {limit:,}")
        self._names_by_hash[digest] = found.name
        return Document(found.name, digest, extract.media_type, extract.pages, extract.encoding, extract.warnings)

    def _is_full(self) -> bool:
        """Whether every process has its file and another waits, or those begun hold much memory."""
        held = sum(len(begun.job.source.data) for begun in self._begun.values())
        return len(self._begun) > self._pool.processes or held > self._limits.file_bytes

    def _wait(self) -> None:
        """Takes the results of the PDFs that are done by now, or soon; tells how far the first of the others is."""
        wait((begun.job.extract for begun in self._begun.values()), _SECONDS_BETWEEN_TOLD, FIRST_COMPLETED)
        for begun in [begun for begun in self._begun.values() if begun.job.extract.done()]:
            del self._begun[begun.digest]
            self._settle(begun.place, begun.found, partial(self._finished, begun))
        first = next(iter(self._begun.values()), None)
        if first:
            self._tell(first.found.name, *first.job.progress)

    def _tell(self, name: str, pages_done: int = 0, pages: int = 0) -> None:
        if self._on_progress:
            self._on_progress(Reading(self._done, self._total, name, pages_done, pages))

    def _bytes(self, found: Found) -> bytes:
        if found.path is not None:
            return read_file(found.path, self._limits)
        if self._stdin is None:
            raise UnreadableError("there is no standard input")
        try:
            return read_stream(self._stdin, self._limits)
        except (OSError, ValueError) as error:
            raise UnreadableError(os_reason(error)) from error
