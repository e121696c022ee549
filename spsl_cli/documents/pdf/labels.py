"""The page numbers as printed, where they are not simply the pages' positions."""

from __future__ import annotations

from pypdf import PdfReader

from spsl_cli.documents.pdf.glyphs import readable
from spsl_cli.documents.wording import one_line

_LONGEST = 40


def printed_labels(reader: PdfReader, pages: int) -> list[str | None]:
    """One label for each of `pages`, or None for all where the labels say nothing new or cannot be relied on."""
    try:
        labels = [one_line(readable(label).text, _LONGEST) for label in reader.page_labels]
    except Exception:  # noqa: BLE001 - labels are a convenience; damage in them must not cost the text
        return [None] * pages
    if len(labels) != pages or labels == [str(number) for number in range(1, pages + 1)]:
        return [None] * pages
    return [label or None for label in labels]
