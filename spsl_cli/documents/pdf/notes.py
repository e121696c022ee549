"""The entries of a page that somebody sees, and what is to be told of its annotations."""

from __future__ import annotations

import re
from collections import Counter

from pypdf import PageObject

from spsl_cli.documents.pdf.attachments import file_name
from spsl_cli.documents.pdf.fields import Entry, Look, entries, shown_annotations
from spsl_cli.documents.pdf.objects import entry
from spsl_cli.documents.pdf.runs import Box
from spsl_cli.documents.pdf.sight import OUTSIDE, SAME_COLOUR, TINY, WHITE_ON_WHITE
from spsl_cli.documents.pdf.surface import Surface
from spsl_cli.documents.wording import count

_WORD = re.compile(r"\w+")
_SMALLEST = 1.0
_NEARLY_WHITE = 0.95
_MOST_NAMED = 5


def visible_entries(page: PageObject, look: Look, surface: Surface, area: Box) -> tuple[list[Entry], dict[str, int]]:
    """The entries that can be seen, and how many words of the others there are for each reason.

    Remarks count as seen wherever they stand, for viewers list them.
    """
    kept: list[Entry] = []
    hidden: Counter[str] = Counter()
    for found in entries(page, look):
        reason = "" if found.remark else _why_hidden(found, surface, area)
        if reason:
            hidden[reason] += max(1, len(_WORD.findall(found.value)))
        else:
            kept.append(found)
    return kept, dict(hidden)


def _why_hidden(found: Entry, surface: Surface, area: Box) -> str:
    left, low, right, high = found.box
    if right - left < _SMALLEST or high - low < _SMALLEST:
        return TINY
    if right < area[0] or left > area[2] or high < area[1] or low > area[3]:
        return OUTSIDE
    middle = (low + high) / 2
    places = ((left + part * (right - left), middle) for part in (0.1, 0.5, 0.9))
    if found.ink is not None and all(surface.hides(x, y, found.ink) for x, y in places):
        return WHITE_ON_WHITE if min(found.ink) > _NEARLY_WHITE else SAME_COLOUR
    return ""


def remarks(page: PageObject) -> tuple[str, ...]:
    """Warnings: text that is struck out, and files that are attached to a place."""
    kinds = [(entry(annotation, "/Subtype"), annotation) for annotation in shown_annotations(page)]
    struck = sum(kind == "/StrikeOut" for kind, _ in kinds)
    files = [file_name(entry(annotation, "/FS")) for kind, annotation in kinds if kind == "/FileAttachment"]
    warnings = [f"an attachment not read: {name}" for name in files[:_MOST_NAMED]]
    if len(files) > _MOST_NAMED:
        warnings.append(f"{count(len(files) - _MOST_NAMED, 'more attachment')} not read")
    if struck:
        warnings.append(f"text is struck out by a note in {count(struck, 'place')}, and read as it stands")
    return tuple(warnings)
