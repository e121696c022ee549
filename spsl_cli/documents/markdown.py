"""The kind for Markdown: known by its name alone, and kept as written, since models read it as it is."""

from __future__ import annotations

from spsl_cli.documents import text
from spsl_cli.documents.source import Extract, Source

MEDIA_TYPE = "text/markdown"
_SUFFIXES = frozenset({".md", ".markdown", ".mdown", ".mkd"})


def matches(source: Source) -> bool:
    """Whether the name says Markdown."""
    return source.suffix in _SUFFIXES


def read(source: Source) -> Extract:
    """The whole text as one page. Raises UnreadableError where there is none."""
    return text.read_as(source, MEDIA_TYPE)
