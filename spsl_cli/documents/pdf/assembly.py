"""The extracted pages of a PDF -> a document. Knows text and page numbers, no PDF and no library that reads one."""

from __future__ import annotations

from collections.abc import Sequence

from spsl_cli.documents.document import LeftOut, Page
from spsl_cli.documents.pdf import hyphens
from spsl_cli.documents.pdf.raw import Outline, RawPage
from spsl_cli.documents.pdf.running import repeated_lines
from spsl_cli.documents.source import Extract, UnreadableError
from spsl_cli.documents.wording import count

MEDIA_TYPE = "application/pdf"


def assemble(outline: Outline, pages: Sequence[RawPage]) -> Extract:
    """Page `n` of the result is `pages[n - 1]`, whatever became of it. Raises UnreadableError if nothing is left."""
    _check(pages)
    parted = [_parted(page.text, gone) for page, gone in zip(pages, repeated_lines(pages), strict=True)]
    words = hyphens.vocabulary(text for text, _ in parted)
    made = tuple(
        Page(number, hyphens.join(text, words, _unjoined(page, left_out)), label, page.warnings, left_out)
        for number, (page, label, (text, left_out)) in enumerate(zip(pages, outline.labels, parted, strict=True), 1)
    )
    return Extract(MEDIA_TYPE, made, None, outline.warnings)


def _parted(text: str, gone: frozenset[int]) -> tuple[str, tuple[LeftOut, ...]]:
    """The text without the lines `gone`, and those."""
    if not gone:
        return text, ()
    lines = text.split("\n")
    kept = "\n".join(line for at, line in enumerate(lines) if at not in gone)
    return kept, tuple(LeftOut(at + 1, lines[at].replace(hyphens.SOFT_HYPHEN, "-")) for at in sorted(gone))


def _unjoined(page: RawPage, left_out: Sequence[LeftOut]) -> frozenset[int]:
    """Which lines of the text without those left out are not joined with the next."""
    gone = [line.line - 1 for line in left_out]
    return frozenset(at - sum(other < at for other in gone) for at in page.unjoined if at not in gone)


def _check(pages: Sequence[RawPage]) -> None:
    """Refuses a file of which nothing is left."""
    if any(page.text.strip() for page in pages):
        return
    failed = next((page.failed for page in pages if page.failed), None)
    if failed:
        raise UnreadableError(f"broken PDF: no text in {count(len(pages), 'page')}; the first failure: {failed}")
    raise UnreadableError(f"no text in {count(len(pages), 'page')} (scanned? OCR is not part of spsl)")
