"""The pages of a damaged page tree, with a gap for each that is missing. Knows nothing of text."""

from __future__ import annotations

from typing import Any

from pypdf import PageObject, PdfReader
from pypdf.errors import LimitReachedError
from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject, NameObject

_INHERITED = ("/Resources", "/MediaBox", "/CropBox", "/Rotate")
_MOST_NODES = 200_000


def leaves(reader: PdfReader) -> list[PageObject | None]:
    """Walks the tree from the left; a branch met again is passed over. None stands for a child that cannot be read."""
    pages: list[PageObject | None] = []
    seen: set[int] = set()  # by identity: pypdf resolves each object once and keeps it
    pending: list[tuple[Any, dict[str, Any]]] = [(reader.root_object.raw_get("/Pages"), {})]
    visited = 0
    while pending:
        child, inherited = pending.pop()
        visited += 1
        if visited > _MOST_NODES:
            raise LimitReachedError(f"its page tree has more than {_MOST_NODES:,} nodes")
        node = _dictionary(child)
        if node is None:
            pages.append(None)
        elif "/Kids" in node:
            if id(node) in seen:
                continue
            seen.add(id(node))
            own = {key: node.raw_get(key) for key in _INHERITED if key in node}
            pending.extend((kid, inherited | own) for kid in reversed(_kids(node)))
        else:
            pages.append(_page(reader, child, node, inherited))
    return pages


def _dictionary(child: Any) -> DictionaryObject | None:
    try:
        node = child.get_object()
    except Exception:  # noqa: BLE001 - a damaged object raises anything; its page counts as missing
        return None
    return node if isinstance(node, DictionaryObject) and node else None


def _kids(node: DictionaryObject) -> ArrayObject:
    kids = node["/Kids"].get_object()
    return kids if isinstance(kids, ArrayObject) else ArrayObject()


def _page(reader: PdfReader, child: Any, node: DictionaryObject, inherited: dict[str, Any]) -> PageObject:
    page = PageObject(reader, child if isinstance(child, IndirectObject) else None)
    page.update(node)
    for key, value in inherited.items():
        if key not in page:
            page[NameObject(key)] = value
    return page
