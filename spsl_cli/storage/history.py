"""The history of runs: one JSON object a line, newest last, for its owner only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LIMIT = 8 * 2**20
"""Bytes; beyond, the older half goes."""


def append(path: Path, entry: dict[str, Any]) -> None:
    """Add an entry, in one write. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _shorten(path)
    line = (json.dumps(entry, ensure_ascii=True) + "\n").encode("ascii")
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """All entries, the newest first; lines that are none are passed by. Nothing where there is no history."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in reversed(lines):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def _shorten(path: Path) -> None:
    if not path.exists() or path.stat().st_size <= LIMIT:
        return
    lines = path.read_bytes().splitlines(keepends=True)
    shorter = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(shorter, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.writelines(lines[len(lines) // 2 :])
    shorter.replace(path)
