"""Files that a PDF carries within it: their names, for they are not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pypdf import PdfReader
from pypdf.generic import ArrayObject

from spsl_cli.documents.pdf.objects import entry, resolved
from spsl_cli.documents.wording import count, one_line

_MOST_NODES = 2_000
_MOST_NAMED = 10
_LONGEST_NAME = 100


def not_read(reader: PdfReader) -> tuple[str, ...]:
    """A warning for each file that is attached to the whole document; of very many, for the first few."""
    try:
        names = list(_names(entry(entry(reader.root_object, "/Names"), "/EmbeddedFiles")))
    except Exception:  # noqa: BLE001 - damage in the list of attached files must not cost the text
        return ("its list of attached files is damaged",)
    warnings = [f"an attachment not read: {name}" for name in names[:_MOST_NAMED]]
    if len(names) > _MOST_NAMED:
        warnings.append(f"{count(len(names) - _MOST_NAMED, 'more attachment')} not read")
    return tuple(warnings)


def file_name(specification: Any) -> str:
    """The name of an attached file, on one line."""
    value = entry(specification, "/UF") or entry(specification, "/F") or "a file without a name"
    return one_line(value, _LONGEST_NAME)


def _names(root: Any) -> Iterator[str]:
    """Walks the tree of names; a branch met again is passed over."""
    pending, seen = [root], set[int]()
    while pending and len(seen) < _MOST_NODES:
        node = resolved(pending.pop())
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        listed, kids = entry(node, "/Names"), entry(node, "/Kids")
        if isinstance(listed, ArrayObject):
            for specification in listed[1::2]:
                yield file_name(resolved(specification))
        if isinstance(kids, ArrayObject):
            pending.extend(reversed(kids))
