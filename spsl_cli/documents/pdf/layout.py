"""Runs and what was entered on a page -> its text in reading order. Knows no PDF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from spsl_cli.documents.pdf.columns import in_reading_order
from spsl_cli.documents.pdf.fields import Entry
from spsl_cli.documents.pdf.hyphens import HYPHENS
from spsl_cli.documents.pdf.margins import margin_lines
from spsl_cli.documents.pdf.rows import Row, rows
from spsl_cli.documents.pdf.runs import Box, Run, inside

_UPRIGHT = (1.0, 0.0)
_NEARLY_UPRIGHT = 0.9
# Where an entry's line is supposed above the lower edge of its box, in parts of the box's height.
_BASELINE = 0.3
_TALLEST_LINE = 30.0
# Glyphs may mean these, most of them by mistake; within a row nothing ends a line.
_LINE_ENDS = str.maketrans(dict.fromkeys("\r\f\v\u2028\u2029", " "))


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's text in lines, and the indexes of those that stand above or below its body.

    `unjoined`: of those with whose last word the next line does not go on, for cells stand side by side in either.
    """

    text: str
    margins: tuple[int, ...]
    unjoined: tuple[int, ...] = ()


def page_text(runs: Sequence[Run], entries: Iterable[Entry] = (), rules: Sequence[Box] = ()) -> PageText:
    """The text, a line for each row of a column. Entries stand beside what is printed at their height, remarks last."""
    drawn = rows(runs)
    remarks: list[str] = []
    for entry in entries:
        value = " ".join(entry.value.split()) if entry.remark else "\n".join(entry.value.splitlines())
        if entry.remark:
            remarks.append(f"[{entry.label}: {value}]")
        elif not _is_printed(value, entry, runs):
            _place(entry, value, drawn)
    lines = in_reading_order(drawn, rules)
    texts = [line.text.translate(_LINE_ENDS) for line in lines]
    starts = [0, *accumulate(text.count("\n") + 1 for text in texts)]
    unjoined = tuple(
        starts[at + 1] - 1
        for at, (line, below) in enumerate(pairwise(lines))
        if max(line.parts, below.parts) > 1 and texts[at].rstrip().endswith(HYPHENS)
    )
    margins = tuple(starts[at] for at in margin_lines(lines))
    return PageText("\n".join((*texts, *remarks)), margins, unjoined)


def _is_printed(value: str, entry: Entry, runs: Iterable[Run]) -> bool:
    """Whether the page shows an entry's value by itself."""
    return any(value in run.text and inside(run.x, run.y, entry.box, 2.0) for run in runs)


def _place(entry: Entry, value: str, drawn: list[Row]) -> None:
    """Puts an entry into the row at its height; without one, on a row of its own that begins with its label."""
    left, low, right, high = entry.box
    baseline = high - min(high - low, _TALLEST_LINE) * (1 - _BASELINE)
    size = min(max(high - low, 4.0), 12.0)
    beside = [row for row in drawn if row.direction[0] > _NEARLY_UPRIGHT and low - 2 <= row.height <= high]
    run = Run(value, left, baseline, right, baseline, size, 1.0, _UPRIGHT)
    if entry.label and beside:
        row = min(beside, key=lambda row: (_distance(row, left, right), abs(row.height - baseline)))
        run.y = run.end_y = row.runs[0].y
        row.runs.append(run)
        row.runs.sort(key=lambda run: run.x)
        return
    if entry.label:
        run.text = f"{entry.label}: {value}"
    above = [at for at, row in enumerate(drawn) if row.direction[0] > _NEARLY_UPRIGHT and row.height >= baseline]
    at = max(above, key=lambda at: (-drawn[at].height, at)) + 1 if above else 0
    drawn.insert(at, Row(_UPRIGHT, baseline, size, [run]))


def _distance(row: Row, left: float, right: float) -> float:
    """How far the nearest run of a row stands from a box, to its left or right."""
    return min(max(run.x - right, left - run.end_x, 0.0) for run in row.runs)
