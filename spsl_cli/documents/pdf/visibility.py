"""Which runs a person would see. What nobody sees is left out and told, but for the text under a scanned page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spsl_cli.documents.pdf.runs import Box, Run
from spsl_cli.documents.pdf.sight import INVISIBLE
from spsl_cli.documents.pdf.surface import Surface
from spsl_cli.documents.wording import count

RECOGNISED = "text recognised from an image (OCR), which may differ from what is seen"
PICTURE = "most of it is an image, whose text is not read (OCR is not part of spsl)"

_DOUBTFUL = "white text on an image, or on very much that is painted, which perhaps nobody sees"

_WORD = re.compile(r"\w+")
_FEW_WORDS = 8
_MOST_OF_A_PAGE = 0.6


@dataclass(frozen=True, slots=True)
class Seen:
    """`runs` are those to be read; `hidden` says that others are not."""

    runs: list[Run]
    hidden: bool
    warnings: tuple[str, ...]


def seen(runs: list[Run], surface: Surface, page: Box, others: Mapping[str, int] | None = None) -> Seen:
    """Sorts out what is hidden. Invisible text is that of a scan if it lies on an image, or if there is no other.

    `others` are hidden words that belong to no run, for each reason.
    """
    alone = not any(run.text.strip() and not run.hidden for run in runs)
    kept: list[Run] = []
    left_out: Counter[str] = Counter(others or {})
    recognised = False
    for run in runs:
        if not run.hidden:
            kept.append(run)
        elif run.hidden == INVISIBLE and (alone or _on_image(run, surface)):
            kept.append(run)
            recognised = recognised or bool(run.text.strip())
        elif run.text.strip():
            left_out[run.hidden] += max(1, len(_WORD.findall(run.text)))
    doubtful = _words(run for run in kept if run.doubtful)
    warnings = [f"hidden text left out ({why}): {count(words, 'word')}" for why, words in left_out.items()]
    if doubtful:
        warnings.append(f"{_DOUBTFUL}: {count(doubtful, 'word')}")
    if recognised:
        warnings.append(RECOGNISED)
    elif kept and _share(surface, page) >= _MOST_OF_A_PAGE and 0 < _words(kept) < _FEW_WORDS:
        warnings.append(PICTURE)
    return Seen(kept, bool(left_out), tuple(warnings))


def _on_image(run: Run, surface: Surface) -> bool:
    return surface.has_scan((run.x + run.end_x) / 2, (run.y + run.end_y) / 2)


def _words(runs: Iterable[Run]) -> int:
    return sum(len(_WORD.findall(run.text)) for run in runs)


def _share(surface: Surface, page: Box) -> float:
    """How much of the page its largest image covers."""
    area = (page[2] - page[0]) * (page[3] - page[1])
    largest = 0.0
    for box in surface.images:
        width = min(box[2], page[2]) - max(box[0], page[0])
        height = min(box[3], page[3]) - max(box[1], page[1])
        largest = max(largest, width * height if width > 0 and height > 0 else 0.0)
    return largest / area if area else 0.0
