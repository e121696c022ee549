"""The parts of a Word document and how they are related. Knows nothing of what is in them."""

from __future__ import annotations

import posixpath
from typing import Any
from urllib.parse import unquote

from spsl_cli.documents.archive import Archive
from spsl_cli.documents.limits import MEBIBYTE
from spsl_cli.documents.source import UnreadableError

_LARGEST_SIDE_PART = 32 * MEBIBYTE
_DEFAULT_MAIN = "word/document.xml"
_RELATIONSHIP = "{*}Relationship"


class Package:
    """An archive as parts that name each other by relationships."""

    def __init__(self, archive: Archive) -> None:
        """Raises UnreadableError where there is no main document."""
        self.archive = archive
        self._relations: dict[str, dict[str, tuple[str, str]]] = {}
        self._outside: dict[tuple[str, str], str] = {}
        candidates = (*self.related("", "officeDocument"), _DEFAULT_MAIN)
        main = next((found for name in candidates if (found := archive.find(name))), None)
        if main is None:
            raise UnreadableError("it has no main document (word/document.xml)")
        self.main = main

    def related(self, part: str, kind: str) -> list[str]:
        """The parts that `part` has a relationship of that kind to (the last word of its type)."""
        return [name for found, name in self._of(part).values() if found == kind]

    def target(self, part: str, relation: str) -> str | None:
        """The part that a relationship of `part` leads to."""
        found = self._of(part).get(relation)
        return self.archive.find(found[1]) if found else None

    def outside(self, part: str, relation: str) -> str | None:
        """The address outside the archive that a relationship of `part` leads to; nothing is read from there."""
        self._of(part)
        return self._outside.get((part, relation))

    def tree(self, name: str) -> Any:
        """The root of a small part's tree. Raises UnreadableError where it is missing or damaged."""
        # lxml takes time to import, which only those with a Word document should pay.
        from spsl_cli.documents.markup.xml import tree  # noqa: PLC0415

        return tree(self.archive.read(name, _LARGEST_SIDE_PART), name)

    def _of(self, part: str) -> dict[str, tuple[str, str]]:
        if part not in self._relations:
            folder, name = posixpath.split(part)
            file = posixpath.join(folder, "_rels", f"{name}.rels")
            self._relations[part] = self._read(file, part) if self.archive.find(file) else {}
        return self._relations[part]

    def _read(self, file: str, part: str) -> dict[str, tuple[str, str]]:
        relations, folder = {}, posixpath.dirname(part)
        for entry in self.tree(file).iter(_RELATIONSHIP):
            if entry.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, unquote(entry.get("Target", ""))))
                relations[entry.get("Id", "")] = (entry.get("Type", "").rpartition("/")[2], target.lstrip("/"))
            else:
                self._outside[part, entry.get("Id", "")] = entry.get("Target", "")
        return relations
