"""`-o DIR`: a file for each summary, named after its source, and what is needed to go on after an interruption.

`report.pdf` -> `report.pdf.md`; of a folder's files the path below that folder is kept. Files are written whole. In
`.spsl/` each has its JSON object, and the key of what it was made of.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from spsl_cli.documents import Collection, Document, Skip
from spsl_cli.errors import SpslError, UsageError
from spsl_cli.storage.atomic import write_whole

SUFFIXES = (".md", ".json")
OF_ALL = "summary"
STATE = ".spsl"


class OutputFolder:
    """Writes summaries to `folder`, as `text` makes them of an object, with `suffix`; `warn` hears of damaged state."""

    def __init__(
        self,
        folder: Path,
        paths: Sequence[str],
        suffix: str,
        text: Callable[[dict[str, Any]], str],
        warn: Callable[[str], None],
    ) -> None:
        self.folder, self._suffix, self._text, self._warn = folder, suffix, text, warn
        self._roots = [Path(path) for path in paths]

    def without_own(self, collection: Collection) -> Collection:
        """The collection without what an earlier run has written to this folder."""
        own = [document for document in collection.documents if self._is_own(document)]
        skips = [Skip(document.path, "a summary of an earlier run", by_rule=True) for document in own]
        others = tuple(document for document in collection.documents if document not in own)
        return replace(collection, documents=others, skipped=(*collection.skipped, *skips))

    def _is_own(self, document: Document) -> bool:
        path, folder = Path(document.path).resolve(), self.folder.resolve()
        if not path.is_relative_to(folder) or path.suffix not in SUFFIXES:
            return False
        return (folder / STATE / f"{path.relative_to(folder).with_suffix('')}.json").exists()

    def check_names(self, documents: Sequence[Document]) -> None:
        """UsageError where two summaries would be written to the same file."""
        names = {self._name(None): "the summary of all documents"} if len(documents) > 1 else {}
        for document in documents:
            name = self._name(document)
            if name in names:
                raise UsageError(
                    f"{names[name]} and {document.path} would both be written to {self._target(document)}",
                    hint="summarize them apart, or give the folder they lie in",
                )
            names[name] = document.path

    def find(self, document: Document | None, key: str) -> dict[str, Any] | None:
        """The object that was kept for this document under this key; its file is there, too."""
        state = self._state(document)
        if not state.exists():
            return None
        try:
            kept = json.loads(state.read_text(encoding="utf-8"))
            same = kept["key"] == key
            facts = dict(kept["answer"])
            str(facts["answer"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._warn(f"{state} is damaged ({type(error).__name__}): the summary is made again")
            return None
        if not same:
            return None
        target = self._target(document)
        if not target.exists():
            self._write(target, self._text(facts))
        return facts

    def keep(self, document: Document | None, key: str, facts: dict[str, Any]) -> None:
        """Write the summary, then what it was made of."""
        self._write(self._target(document), self._text(facts))
        self._write(self._state(document), json.dumps({"key": key, "answer": facts}))

    def _target(self, document: Document | None) -> Path:
        return self.folder / f"{self._name(document)}{self._suffix}"

    def _state(self, document: Document | None) -> Path:
        return self.folder / STATE / f"{self._name(document)}.json"

    def _name(self, document: Document | None) -> PurePath:
        if document is None:
            return PurePath(OF_ALL)
        path = Path(document.path)
        for root in self._roots:
            if root.is_dir() and path.is_relative_to(root):
                return PurePath(path.relative_to(root))
        return PurePath(path.name)

    def _write(self, path: Path, content: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SpslError(
                f"cannot make the folder {path.parent}: {error.strerror or error}", hint="choose another -o DIR"
            ) from error
        write_whole(path, content)


def check_folder(folder: Path) -> None:
    """UsageError for a place that cannot become a folder with files in it."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists() or path.is_symlink())
    if not there.is_dir():
        raise UsageError(f"-o {folder}: {there} is no folder", hint="choose another -o DIR")
    if not os.access(there, os.W_OK):
        raise UsageError(f"-o {folder}: nothing can be written to {there}", hint="choose another -o DIR")
