"""Looking into a PDF's dictionaries, where any value may be a reference to one that stands elsewhere."""

from __future__ import annotations

from typing import Any

from pypdf.generic import IndirectObject, NullObject


def entry(dictionary: Any, key: str) -> Any:
    """The value under `key`, with a reference followed; None if there is none, or `dictionary` is not one."""
    return resolved(dictionary.raw_get(key) if key in dictionary else None) if _holds_entries(dictionary) else None


def raw(dictionary: Any, key: str) -> Any:
    """The value under `key` as it stands, which may be a reference; None if there is none."""
    return dictionary.raw_get(key) if _holds_entries(dictionary) and key in dictionary else None


def resolved(value: Any) -> Any:
    """What a reference leads to, or the value itself."""
    if isinstance(value, IndirectObject):
        value = value.get_object()
    return None if isinstance(value, NullObject) else value


def _holds_entries(thing: Any) -> bool:
    return hasattr(thing, "raw_get")
