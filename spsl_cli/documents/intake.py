"""Found -> bytes: opens regular files and standard input, no more of them than the limit. Knows no kind of document."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from spsl_cli.documents.limits import MEBIBYTE, Limits
from spsl_cli.documents.source import UnreadableError
from spsl_cli.documents.wording import os_reason

_CHUNK = MEBIBYTE
# Should the file have become a pipe since it was found, opening it does not wait. Windows has neither flag.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_file(path: Path, limits: Limits) -> bytes:
    """The content of a regular file. Raises UnreadableError."""
    try:
        with os.fdopen(os.open(path, _FLAGS), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnreadableError("not a regular file any more")
            return read_stream(file, limits)
    except (OSError, ValueError) as error:
        raise UnreadableError(os_reason(error)) from error


def read_stream(stream: BinaryIO, limits: Limits) -> bytes:
    """All that `stream` gives. Raises UnreadableError when that is more than the limit, after reading little more."""
    chunks, size = [], 0
    while chunk := stream.read(min(_CHUNK, limits.file_bytes + 1 - size)):
        chunks.append(chunk)
        size += len(chunk)
        if size > limits.file_bytes:
            raise UnreadableError(f"larger than the limit of {limits.file_bytes:,} bytes")
    return b"".join(chunks)
