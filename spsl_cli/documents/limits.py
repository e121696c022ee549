"""Every limit on what is read from a document, in one place. Knows numbers, not how they are kept."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a source is read at most. What exceeds a limit is named in a skip or a warning, never cut in silence.

    The defaults lie far above any real document and any model's context; they bound what a file made to do harm costs.
    """

    file_bytes: int = 256 * MEBIBYTE
    """A larger source is skipped without being read."""

    pages: int = 20_000
    """A PDF of more pages is skipped."""

    page_characters: int = 1_000_000
    """A PDF page with more text is left out with a warning; kinds without pages are not concerned."""

    document_characters: int = 50_000_000
    """A document with more text is skipped."""

    archive_members: int = 20_000
    """An archive (DOCX, EPUB) of more members is skipped."""

    archive_bytes: int = 512 * MEBIBYTE
    """An archive is skipped as soon as what was unpacked of it exceeds this; stated sizes are not trusted."""

    nesting: int = 1_000
    """Markup nested deeper than this is refused, not cut."""

    page_seconds: float = 10.0
    """A PDF page that takes longer is left out with a warning."""

    document_seconds: float = 600.0
    """When a PDF has taken this long, its remaining pages are left out with a warning; other kinds are skipped."""

    parser_bytes: int = 2048 * MEBIBYTE
    """Address space of the process that parses a PDF, beyond the file's own size."""
