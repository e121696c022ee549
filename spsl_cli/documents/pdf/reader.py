"""The kind for PDF: what counts as one, and what is done with a file that is one by name only."""

from __future__ import annotations

import re

from spsl_cli.documents import html, text
from spsl_cli.documents.pdf.supervisor import read_pdf
from spsl_cli.documents.source import Extract, Source, UnreadableError
from spsl_cli.documents.unsupported import is_binary

_SUFFIX = ".pdf"
_HEADER = b"%PDF-"
_HEADER_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*%PDF-")
_END = b"%%EOF"
# How far from the start and from the end viewers look for the signs of a PDF.
_SEARCHED = 1024


def matches(source: Source) -> bool:
    """Whether the content says PDF, or else the name."""
    return has_header(source.data) or source.suffix == _SUFFIX


def read(source: Source) -> Extract:
    """Text, printed labels and warnings, page by page. Raises UnreadableError."""
    return read_pdf(source) if is_parsed(source) else _read_impostor(source)


def is_parsed(source: Source) -> bool:
    """Whether a source that `matches` goes to a process that parses PDFs; the others are PDFs by name only."""
    return has_header(source.data) or is_binary(source.data)


def has_header(data: bytes) -> bool:
    """Whether `%PDF-` stands near the start.

    Text before it is allowed only where the file also ends as a PDF or is binary, for a program or an article about
    PDF may hold the header too.
    """
    if _HEADER_FIRST.match(data):
        return True
    return _HEADER in data[:_SEARCHED] and (_END in data[-_SEARCHED:] or is_binary(data))


def _read_impostor(source: Source) -> Extract:
    if html.begins_as_page(source.data):
        raise UnreadableError("not a PDF in spite of its name: it holds an HTML page (was a login page saved?)")
    extract = text.read(source)
    warning = "not a PDF in spite of its name: read as plain text"
    return Extract(extract.media_type, extract.pages, extract.encoding, (*extract.warnings, warning))
