"""Reads documents and tells how far it is. Knows no model and no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import BinaryIO

from spsl_cli.documents import Collection, Reading, Selection, read_paths
from spsl_cli.events import Event, Progress

_STAGE = "read documents"


def read_documents(
    paths: Sequence[str],
    report: Callable[[Event], None],
    *,
    stdin: BinaryIO | None,
    password: str | None,
    selection: Selection | None,
) -> Collection:
    """What `read_paths` gives; `report` takes a Progress before each file, several times a second while a PDF is read,
    and at the end.
    """
    begun = time.perf_counter()

    def progress(at: Reading) -> None:
        if at.pages_done < at.pages:
            report(_of_pages(at))
        elif at.total:
            report(Progress(_STAGE, at.done, at.total, "files", time.perf_counter() - begun))

    return read_paths(paths, stdin=stdin, password=password, on_progress=progress, selection=selection)


def _of_pages(at: Reading) -> Progress:
    """How far one document is. Its end is not that of the stage, so a last page is never told here."""
    files = f", {at.done:,} of {at.total:,} files done" if at.total > 1 else ""
    return Progress(_STAGE, at.pages_done, at.pages, f"pages of {PurePath(at.name).name or at.name}{files}")
