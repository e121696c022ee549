"""The kind for plain text and source code: one page, as it stands, but for what nobody sees."""

from __future__ import annotations

from spsl_cli.documents.document import Page
from spsl_cli.documents.encoding import decode
from spsl_cli.documents.invisible import visible
from spsl_cli.documents.source import Extract, Source, UnreadableError

MEDIA_TYPE = "text/plain"


def matches(source: Source) -> bool:
    """The last kind asked: whatever is not binary can be read as text."""
    del source
    return True


def read(source: Source) -> Extract:
    """The whole text as one page. Raises UnreadableError where there is none."""
    return read_as(source, MEDIA_TYPE)


def read_as(source: Source, media_type: str) -> Extract:
    """The same for a kind of text that goes by a media type of its own."""
    decoded = decode(source.data)
    text, warnings = visible(decoded.text)
    if not text.strip():
        raise UnreadableError("no text" if not warnings else f"no text ({warnings[0]})")
    return Extract(media_type, (Page(1, text),), decoded.encoding, (*decoded.warnings, *warnings))
