"""Paths -> Collection: finds, reads and names what was skipped. A source that cannot be read never costs another."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from spsl_cli.documents.discovery import find
from spsl_cli.documents.document import Collection, Document, Skip
from spsl_cli.documents.folder import Found
from spsl_cli.documents.intake import read_file, read_stream
from spsl_cli.documents.kinds import kind_of
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.source import AlreadyReadError, Source, UnreadableError
from spsl_cli.documents.wording import failure, os_reason

_log = logging.getLogger(__name__)


def read_paths(
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    password: str | None = None,
    on_progress: Callable[[int, int, str], None] | None = None,
    limits: Limits | None = None,
) -> Collection:
    """Reads files, folders (all below them), glob patterns and `-` (all of `stdin`), in the order given.

    `password` is tried on every encrypted PDF. `on_progress(done, total, name)` is called before each of `total` inputs
    is read and once when all are done, then with an empty name. No input raises: what cannot be read is in `skipped`,
    with its reason, and when nothing could be read `documents` is empty.
    """
    reading = _Reading(stdin, password, limits or Limits())
    found = list(find(paths))
    total = sum(isinstance(item, Found) for item in found)
    done = 0
    for item in found:
        if isinstance(item, Skip):
            reading.skipped.append(item)
            continue
        if on_progress:
            on_progress(done, total, item.name)
        reading.take(item)
        done += 1
    if on_progress:
        on_progress(done, total, "")
    return Collection(tuple(reading.documents), tuple(reading.skipped))


class _Reading:
    """One run over the inputs: what has been read so far, and by which content and name."""

    def __init__(self, stdin: BinaryIO | None, password: str | None, limits: Limits) -> None:
        self.documents: list[Document] = []
        self.skipped: list[Skip] = []
        self._stdin = stdin
        self._password = password
        self._limits = limits
        self._names_by_hash: dict[str, str] = {}
        self._taken: set[Path | None] = set()

    def take(self, found: Found) -> None:
        """Adds `found` to the documents, or to what was skipped."""
        try:
            self.documents.append(self._document(found))
        except UnreadableError as error:
            self.skipped.append(Skip(found.name, str(error), by_rule=isinstance(error, AlreadyReadError)))
        except Exception as error:  # noqa: BLE001 - a reader's fault costs its own file only; it is named
            _log.debug("reading %s failed", found.name, exc_info=True)
            self.skipped.append(Skip(found.name, f"could not be read: {type(error).__name__}: {failure(error)}"))

    def _document(self, found: Found) -> Document:
        if found.path in self._taken:
            raise AlreadyReadError("named twice")
        self._taken.add(found.path)
        data = self._bytes(found)
        if not data:
            raise UnreadableError("empty file" if found.path else "empty")
        digest = hashlib.sha256(data).hexdigest()
        if digest in self._names_by_hash:
            raise AlreadyReadError(f"same content as {self._names_by_hash[digest]}")
        source = Source(found.name, data, self._password, self._limits)
        extract = kind_of(source).read(source)
        characters = sum(len(page.text) for page in extract.pages)
        if characters > self._limits.document_characters:
            limit = self._limits.document_characters
            raise UnreadableError(f"{characters:,} characters of text, more than the limit of {limit:,}")
        self._names_by_hash[digest] = found.name
        return Document(found.name, digest, extract.media_type, extract.pages, extract.encoding, extract.warnings)

    def _bytes(self, found: Found) -> bytes:
        if found.path is not None:
            return read_file(found.path, self._limits)
        if self._stdin is None:
            raise UnreadableError("there is no standard input")
        try:
            return read_stream(self._stdin, self._limits)
        except (OSError, ValueError) as error:
            raise UnreadableError(os_reason(error)) from error
