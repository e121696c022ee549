"""The folder of stored keys and values: finding what begins as a prompt does, keeping within a size, clearing.

A file is used by whoever has the same key; of two that would do, the one that saves more. The oldest go first when
there are too many bytes; being used makes a file young.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spsl_cli.storage import kv_file
from spsl_cli.storage.kv_file import DamagedError, Header

SUFFIX = ".kv.safetensors"
Warn = Callable[[str], None]


@dataclass(frozen=True)
class Found:
    """Stored rows that a prompt can begin with."""

    header: Header
    token_ids: list[int]

    def rows(self) -> Iterator[tuple[Any, Any]]:
        """Keys and values of one layer after the other."""
        return kv_file.layers(self.header)


class KvStore:
    """Files in `folder`, together at most `limit` bytes; `warn` is told what is wrong with one."""

    def __init__(self, folder: Path, limit: int, warn: Warn) -> None:
        self.folder, self.limit, self.warn = folder, limit, warn

    def headers(self) -> list[Header]:
        """All stored files, the youngest first."""
        found = []
        for path in self.folder.glob(f"*{SUFFIX}"):
            try:
                found.append((path.stat().st_mtime_ns, kv_file.read_header(path)))
            except DamagedError as error:
                self._drop(path, error)
            except OSError as error:
                self.warn(f"{path} is left alone: {error.strerror or error}")
        return [header for _, header in sorted(found, key=lambda one: -one[0])]

    def find(
        self, key: str, saves: Callable[[Sequence[int], Sequence[int]], int], *, more_than: int = 0
    ) -> Found | None:
        """The file under `key` that saves most positions, by its tokens and splits; None if there is none that does."""
        best, most = None, more_than
        for header in self.headers():
            if header.key != key:
                continue
            try:
                ids = kv_file.token_ids(header)
                saved = saves(ids, header.splits)
                if saved > most:
                    kv_file.check(header)
                    best, most = Found(header, ids), saved
            except DamagedError as error:
                self._drop(header.path, error)
            except OSError as error:
                self.warn(f"{header.path} is left alone: {error.strerror or error}")
        if best is not None:
            os.utime(best.header.path)
        return best

    def save(
        self,
        key: str,
        model: str,
        ids: Sequence[int],
        splits: Sequence[int],
        rows: Sequence[Any],
        documents: Sequence[str] = (),
    ) -> None:
        """Store rows, and make room for them; `documents` are named in lists. `warn` tells what cannot be stored."""
        size = sum(tensor.numel() * tensor.element_size() for layer in rows for tensor in layer)
        if size > self.limit:
            return
        digest = hashlib.sha256(f"{key}\0{list(ids)}\0{list(splits)}".encode()).hexdigest()
        path = self.folder / f"{digest[:24]}{SUFFIX}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._make_room(size, keep=path)
            kv_file.write(path, key, model, ids, splits, rows, documents)
        except OSError as error:
            self.warn(f"what was read is not stored in {self.folder}: {error.strerror or error}")

    def clear(self) -> int:
        """Remove all stored files, also damaged and half-written ones; how many. Raises OSError."""
        paths = [*self.folder.glob(f"*{SUFFIX}"), *self.folder.glob(".kv-*")]
        for path in paths:
            path.unlink(missing_ok=True)
        return len(paths)

    def _make_room(self, size: int, keep: Path) -> None:
        files = sorted(
            ((path.stat().st_mtime_ns, path.stat().st_size, path) for path in self.folder.glob(f"*{SUFFIX}")),
            reverse=True,
        )
        for _, taken, path in files:
            size += taken
            if size > self.limit and path != keep:
                path.unlink(missing_ok=True)

    def _drop(self, path: Path, error: DamagedError) -> None:
        self.warn(f"{path} is damaged ({error}) and is removed; the prompt is read anew")
        path.unlink(missing_ok=True)
