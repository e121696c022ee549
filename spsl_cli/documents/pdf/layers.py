"""Optional content: which layers of a PDF are switched off when it is opened."""

from __future__ import annotations

from typing import Any

from pypdf import PdfReader
from pypdf.generic import ArrayObject, IndirectObject

from spsl_cli.documents.pdf.objects import entry, raw, resolved


class Layers:
    """The layers of one file."""

    def __init__(self, reader: PdfReader) -> None:
        self._off: frozenset[int] = frozenset()
        try:
            self._off = _switched_off(reader)
        except Exception:  # noqa: BLE001 - damage in the list of layers must not cost the text; all then count as shown
            return

    def hides(self, group: Any) -> bool:
        """Whether what belongs to this group (or membership of groups) is not shown."""
        if not self._off:
            return False
        if isinstance(group, IndirectObject) and group.idnum in self._off:
            return True
        group = resolved(group)
        if entry(group, "/Type") != "/OCMD":
            return False
        members = raw(group, "/OCGs")
        listed = resolved(members)
        each = list(listed) if isinstance(listed, ArrayObject) else [members]
        hidden = [isinstance(member, IndirectObject) and member.idnum in self._off for member in each if member]
        if not hidden:
            return False
        policy = {"/AllOn": any(hidden), "/AnyOff": not any(hidden), "/AllOff": not all(hidden)}
        return policy.get(str(entry(group, "/P")), all(hidden))


def _switched_off(reader: PdfReader) -> frozenset[int]:
    properties = entry(reader.root_object, "/OCProperties")
    usual = entry(properties, "/D")
    off = set(_numbers(entry(usual, "/OFF")))
    if entry(usual, "/BaseState") == "/OFF":
        off |= set(_numbers(entry(properties, "/OCGs"))) - set(_numbers(entry(usual, "/ON")))
    return frozenset(off)


def _numbers(array: Any) -> list[int]:
    return [item.idnum for item in array if isinstance(item, IndirectObject)] if isinstance(array, ArrayObject) else []
