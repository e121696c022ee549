"""Files that are written whole or not at all: a temporary file in the same folder, synced, renamed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from spsl_cli.errors import SpslError


def write_whole(path: Path, text: str) -> None:
    """Write `text` as UTF-8 to `path`, readable by its owner only. Raises SpslError with the reason."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise SpslError(f"cannot write {path}: {error.strerror or error}", hint="choose another -o FILE") from error
