"""Files that are written whole or not at all: a temporary file in the same folder, synced, renamed."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from spsl_cli.errors import SpslError


def write_whole(path: Path, content: str | bytes) -> None:
    """Write `content`, text as UTF-8, to `path`. Raises SpslError with the reason.

    A new file is readable by its owner only, an existing one keeps its mode. Links are followed; what is no regular
    file (a device, a pipe) is written to, never replaced.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        path = path.resolve()
        mode = path.stat().st_mode if path.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            path.write_bytes(data)
            return
        _replace(path, data, mode)
    except OSError as error:
        raise SpslError(f"cannot write {path}: {error.strerror or error}", hint="choose another -o FILE") from error


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
