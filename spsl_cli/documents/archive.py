"""Zip archives from anybody's hands: members read one by one, in memory, within limits. Knows no kind of document.

Nothing is extracted, so that a member's name leads nowhere, and an archive inside an archive stays closed. What a
member states about its size is not believed: what comes out is counted.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from itertools import pairwise

from spsl_cli.documents.limits import MEBIBYTE, Limits
from spsl_cli.documents.source import UnreadableError
from spsl_cli.documents.wording import one_line

SIGNS = (b"PK\x03\x04", b"PK\x05\x06")
_DIRECTORY_ENTRY = b"PK\x01\x02"
_LOCAL_HEADER_BYTES = 30
_ENCRYPTED = 0x1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_CHUNK = MEBIBYTE
_NAMED = 60


class Archive:
    """An archive by its members' names, with `/` between their parts; upper and lower case are one if need be."""

    def __init__(self, data: bytes, limits: Limits) -> None:
        """Raises UnreadableError where it is damaged or holds too much."""
        self._left = self._limit = limits.archive_bytes
        self._zip = _opened(data, limits)
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._twice: set[str] = set()
        for info in self._zip.infolist():
            name = _plain(info.filename)
            if name in self._members:
                self._twice.add(name)
            self._members[name] = info
        self._by_folded = {name.casefold(): name for name in self._members}

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def find(self, name: str) -> str | None:
        """The member of that name as it is written in the archive."""
        name = _plain(name)
        return name if name in self._members else self._by_folded.get(name.casefold())

    def is_encrypted(self, name: str) -> bool:
        """Whether the member of that name is there and encrypted by the archive itself."""
        found = self.find(name)
        return found is not None and bool(self._members[found].flag_bits & _ENCRYPTED)

    def is_twice(self, name: str) -> bool:
        """Whether several members have that name; the last one counts, as for most programs."""
        return self.find(name) in self._twice

    def read(self, name: str, most: int | None = None) -> bytes:
        """A member's content.

        Raises UnreadableError where it is missing, damaged, encrypted or larger than `most` bytes, or when all that was
        read from this archive exceeds the limit.
        """
        found = self.find(name)
        if found is None:
            raise UnreadableError(f"{_shown(name)} is missing")
        info = self._members[found]
        if info.flag_bits & _ENCRYPTED:
            raise UnreadableError(f"{_shown(found)} is encrypted")
        if info.compress_type not in _METHODS:
            raise UnreadableError(f"{_shown(found)} is compressed by a method that is not supported")
        try:
            return b"".join(self._chunks(info, most))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise UnreadableError(f"{_shown(found)} is damaged: {one_line(error)}") from error

    def _chunks(self, info: zipfile.ZipInfo, most: int | None) -> Iterator[bytes]:
        size = 0
        with self._zip.open(info) as member:
            while chunk := member.read(_CHUNK):
                size += len(chunk)
                self._left -= len(chunk)
                if self._left < 0:
                    raise UnreadableError(f"unpacks to more than the limit of {self._limit:,} bytes")
                if most is not None and size > most:
                    raise UnreadableError(f"{_shown(info.filename)} is larger than {most:,} bytes")
                yield chunk


def _opened(data: bytes, limits: Limits) -> zipfile.ZipFile:
    # Opening costs memory for each entry of the directory, and what the archive states as their number is not believed.
    if data.count(_DIRECTORY_ENTRY) > 2 * limits.archive_members:
        raise UnreadableError(f"more than the limit of {limits.archive_members:,} members")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableError(f"a damaged or incomplete archive: {one_line(error)}") from error
    infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    if len(infos) > limits.archive_members:
        raise UnreadableError(f"{len(infos):,} members, more than the limit of {limits.archive_members:,}")
    for one, following in pairwise(infos):
        if one.header_offset + _LOCAL_HEADER_BYTES + one.compress_size > following.header_offset:
            raise UnreadableError("a damaged archive: its members overlap")
    return archive


def _plain(name: str) -> str:
    return name.replace("\\", "/").lstrip("/")


def _shown(name: str) -> str:
    return one_line(name, _NAMED)
