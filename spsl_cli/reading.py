"""Reads documents and tells how far it is. Knows no model and no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import BinaryIO

from spsl_cli.documents import Collection, Selection, read_paths
from spsl_cli.events import Event, Progress


def read_documents(
    paths: Sequence[str],
    report: Callable[[Event], None],
    *,
    stdin: BinaryIO | None,
    password: str | None,
    selection: Selection | None,
) -> Collection:
    """What `read_paths` gives; `report` takes a Progress before each file and at the end."""
    begun = time.perf_counter()

    def progress(done: int, total: int, _name: str) -> None:
        if total:
            report(Progress("read documents", done, total, "files", time.perf_counter() - begun))

    return read_paths(paths, stdin=stdin, password=password, on_progress=progress, selection=selection)
