"""Runs -> rows: what stands on one baseline and was drawn together, cut into cells where a wide gap is.

Works along whatever direction a run reads in, so text on its side or askew is no special case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from spsl_cli.documents.pdf import bidi
from spsl_cli.documents.pdf.raised import raised
from spsl_cli.documents.pdf.runs import Run

Direction = tuple[float, float]

_SAME_DIRECTION = 0.01
# How far off the baseline raised and lowered signs stand, in parts of the smaller and the larger size.
_OF_SMALLER, _OF_LARGER = 0.5, 0.15
# Further along the row, nothing is raised or lowered any more.
_LEVEL = 0.2
_WIDE_GAP = 1.2
_BACKWARDS = 0.3
_FEWEST_SPACED_LETTERS = 4
_WIDEST_SPACING = 0.5
CELL_GAP = " "


@dataclass(slots=True)
class Cell:
    """Neighbouring runs of a row without a wide gap between them; `start` and `end` along the row, `height` across."""

    text: str
    start: float
    end: float
    height: float
    size: float


@dataclass(slots=True)
class Row:
    """Runs on one baseline. `height` is that baseline's, `size` the font's of the largest run."""

    direction: Direction
    height: float
    size: float
    runs: list[Run] = field(default_factory=list)

    def takes(self, run: Run) -> bool:
        """Whether a run stands on this row's baseline and reads in its direction."""
        if abs(run.direction[0] - self.direction[0]) + abs(run.direction[1] - self.direction[1]) > _SAME_DIRECTION:
            return False
        smaller, larger = sorted((run.size, self.size))
        shift = abs(run.height(self.direction) - self.height)
        if shift <= _LEVEL * smaller:
            return True
        beside = run.along(self.direction)[0] - self.runs[-1].along(self.direction)[1]
        close = -_BACKWARDS * larger <= beside <= _WIDE_GAP * smaller
        return close and shift <= _OF_SMALLER * smaller + _OF_LARGER * larger

    def add(self, run: Run) -> None:
        """Puts a run into the row."""
        if run.size > self.size and run.text.strip():
            self.height, self.size = run.height(self.direction), run.size
        self.runs.append(run)

    def cells(self) -> list[Cell]:
        """The row from its beginning to its end, whatever the order in which it was drawn."""
        spans = [(*run.along(self.direction), run) for run in self.runs]
        if any(after[0] < before[1] - _BACKWARDS * before[2].size for before, after in pairwise(spans)):
            spans.sort(key=lambda span: span[0])
        return [self._cell(part) for part in _split(spans) if any(run.text.strip() for _, _, run in part)]

    def _cell(self, spans: Sequence[tuple[float, float, Run]]) -> Cell:
        gaps = [after[0] - before[1] for before, after in pairwise(spans)]
        least = _threshold([run for _, _, run in spans], gaps)
        parts = [spans[0][2]]
        glyphs: list[str] = list(_glyphs(parts[0]))
        numbers = raised([run for _, _, run in spans], self.direction)
        for at, ((_, _, before), (_, _, run), gap) in enumerate(zip(spans, spans[1:], gaps, strict=False), 1):
            blank = gap > max(least, min(before.space, run.space))
            if blank and glyphs and not glyphs[-1].endswith(" ") and not run.text.startswith(" "):
                glyphs.append(" ")
            if at in numbers:
                glyphs.extend(numbers[at].lstrip() if glyphs and glyphs[-1].endswith(" ") else numbers[at])
            else:
                glyphs.extend(_glyphs(run))
            parts.append(run)
        text = bidi.logical(glyphs) if any(run.glyphs for run in parts) else "".join(glyphs)
        return Cell(text, spans[0][0], max(end for _, end, _ in spans), self.height, self.size)

    def texts(self) -> list[str]:
        """The text of each cell; of right-to-left text the rightmost cell comes first."""
        cells = self.cells()
        if sum(bool(run.glyphs) for run in self.runs) * 2 > len(self.runs):
            cells.reverse()
        return [cell.text.strip() for cell in cells]


def rows(runs: Iterable[Run]) -> list[Row]:
    """Rows in the order in which they were drawn. A large first letter joins the line that it begins."""
    found: list[Row] = []
    for run in runs:
        if not run.text:
            continue
        if found and found[-1].takes(run):
            found[-1].add(run)
        elif found and _is_initial(found[-1], run):
            found[-1].height, found[-1].size = run.height(found[-1].direction), run.size
            found[-1].runs.append(run)
        elif run.text.strip():
            found.append(Row(run.direction, run.height(run.direction), run.size, [run]))
    return found


def _is_initial(row: Row, run: Run) -> bool:
    """Whether `row` is nothing but one large letter, and `run` stands close to its right, along its upper part."""
    letter = row.runs[0]
    if len(row.runs) > 1 or len(letter.text.strip()) != 1 or not letter.text.strip().isalpha():
        return False
    if letter.size < 1.8 * run.size or letter.direction != run.direction:
        return False
    above = run.height(row.direction) - row.height
    beside = run.along(row.direction)[0] - letter.along(row.direction)[1]
    return 0 < above < letter.size and -0.2 * letter.size < beside < 1.5 * run.size


def _split(spans: Sequence[tuple[float, float, Run]]) -> list[list[tuple[float, float, Run]]]:
    """Cut at each wide gap."""
    parts: list[list[tuple[float, float, Run]]] = []
    furthest = 0.0
    for span in spans:
        size = span[2].size
        if parts and span[0] - furthest <= _WIDE_GAP * max(size, parts[-1][-1][2].size):
            parts[-1].append(span)
            furthest = max(furthest, span[1])
        else:
            parts.append([span])
            furthest = span[1]
    return parts


def _threshold(runs: Sequence[Run], gaps: Sequence[float]) -> float:
    """The gap that parts words where letters, one to a run, are spaced out evenly; else 0."""
    if len(runs) < _FEWEST_SPACED_LETTERS or not all(len(run.text) == 1 and run.text.isalpha() for run in runs):
        return 0.0
    usual = median(gaps)
    return 1.6 * usual if usual < _WIDEST_SPACING * runs[0].size else 0.0


def _glyphs(run: Run) -> Sequence[str]:
    return run.glyphs if run.glyphs is not None else run.text
