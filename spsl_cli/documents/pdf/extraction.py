"""An open PDF -> the text of its pages, with warnings. A page that fails costs that page, never its number."""

from __future__ import annotations

from dataclasses import dataclass

from pypdf import PageObject, apply_configuration

from spsl_cli.documents.document import Page
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.pdf import hyphens
from spsl_cli.documents.pdf.glyphs import readable
from spsl_cli.documents.pdf.labels import printed_labels
from spsl_cli.documents.pdf.log import Messages, captured
from spsl_cli.documents.pdf.opening import open_pdf
from spsl_cli.documents.source import Extract, Source, UnreadableError
from spsl_cli.documents.wording import count, failure

MEDIA_TYPE = "application/pdf"


@dataclass(frozen=True)
class _Raw:
    """A page as extracted; `failed` says why it could not be, `warnings` whatever else is to be told."""

    text: str = ""
    failed: str | None = None
    warnings: tuple[str, ...] = ()


def extract(source: Source) -> Extract:
    """Reads all pages. Raises UnreadableError if the file cannot be opened, exceeds a limit, or holds no text."""
    # No program outside this process is ever run on a document's data, so pypdf's JBIG2 helper is switched off.
    with captured() as messages, apply_configuration(jbig2dec_binary=None):
        opened = open_pdf(source)
        total = len(opened.pages)
        if total > source.limits.pages:
            raise UnreadableError(f"{count(total, 'page')}, more than the limit of {source.limits.pages:,}")
        warnings = messages.take()
        if opened.mended:
            # What pypdf remarked on the way says the same in its own terms.
            warnings = ("damaged PDF: its list of objects was rebuilt, and parts may be missing",)
        raw = [_raw(page, source.limits, messages) for page in opened.pages]
        labels = printed_labels(opened.reader, total)
    _check(raw)
    words = hyphens.vocabulary(page.text for page in raw)
    pages = tuple(
        Page(number, hyphens.join(page.text, words), label, page.warnings)
        for number, (page, label) in enumerate(zip(raw, labels, strict=True), 1)
    )
    return Extract(MEDIA_TYPE, pages, None, warnings)


def _raw(page: PageObject | None, limits: Limits, messages: Messages) -> _Raw:
    if page is None:
        return _failed("it is missing from the file", messages)
    try:
        text = page.extract_text()
    except Exception as error:  # noqa: BLE001 - on damaged pages pypdf raises whatever its parsing runs into
        return _failed(failure(error), messages)
    clean = readable(text)
    if len(clean.text) > limits.page_characters:
        return _failed(f"{len(clean.text):,} characters, more than the limit of {limits.page_characters:,}", messages)
    warnings = messages.take()
    if clean.unknown:
        warnings = (f"{count(clean.unknown, 'character')} without a known meaning, shown as U+FFFD", *warnings)
    if not clean.text.strip():
        warnings = ("no text (image only?)", *warnings)
    return _Raw(clean.text, None, warnings)


def _failed(reason: str, messages: Messages) -> _Raw:
    return _Raw("", reason, (f"could not be read: {reason}", *messages.take()))


def _check(raw: list[_Raw]) -> None:
    """Refuses a file of which nothing is left."""
    if any(page.text.strip() for page in raw):
        return
    failed = next((page.failed for page in raw if page.failed), None)
    if failed:
        raise UnreadableError(f"broken PDF: no text in {count(len(raw), 'page')}; the first failure: {failed}")
    raise UnreadableError(f"no text in {count(len(raw), 'page')} (scanned? OCR is not part of spsl)")
