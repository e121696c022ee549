"""Rows drawn apart that make one line: values filled into a form whose words were drawn first, columns of a table.

What stands at one height with free space between belongs together, unless a gutter between two columns of text runs
through it. A blank that is ruled or dotted is free space, and gives way to what is written on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from spsl_cli.documents.pdf.rows import Direction, Row
from spsl_cli.documents.pdf.runs import Run

FILLER = re.compile(r"_{3,}|\.{4,}|\u2026{2,}| {3,}")
_SAME_LEVEL, _ON_A_BLANK = 0.2, 0.5
# In points: rows are looked for by their height in steps of it.
_LEVEL = 4.0
_BESIDE_A_BLANK = 0.6
_SLACK = 0.15
_MOST_ROWS, _MOST_AT_A_HEIGHT = 3_000, 40
_FEWEST_LINES, _FEWEST_NUMBERED = 3, 4
_WIDEST_STEP, _TIGHT = 2.2, 1.4
_MOSTLY = 0.6
_WORDS_OF_A_LINE, _SHORT_VALUE = 3, 5
_AMOUNT = re.compile(
    r"[^\W\d_]{0,3}[-+\u2212(]?[\d.,:;%$\u20ac\u00a3+\-\u2212\u2013/()' ]*\d[\d.,:;%)' -]*[^\W\d_]{0,4}"
)


@dataclass(slots=True)
class _Block:
    """Rows drawn one below the other."""

    rows: list[Row]
    tight: bool = False
    wordy: bool = False
    amounts: bool = False
    numbered: bool = False


@dataclass(slots=True)
class _Piece:
    row: Row
    block: _Block
    start: float
    end: float
    above: _Piece | None = None
    merged: bool = False
    gone: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether it is a further line of a text that stands by itself."""
        return self.block.tight and self.above is not None and not self.above.merged


def joined(drawn: Sequence[Row], direction: Direction) -> list[Row]:
    """The rows, those of one line as one in the place of the first."""
    if len(drawn) > _MOST_ROWS:
        return list(drawn)
    pieces = _pieces(drawn, direction)
    levels: dict[int, list[int]] = {}
    for at, piece in enumerate(pieces):
        levels.setdefault(round(piece.row.height / _LEVEL), []).append(at)
    for at, piece in enumerate(pieces):
        level = round(piece.row.height / _LEVEL)
        near = sorted(other for step in range(-2, 3) for other in levels.get(level + step, ()))
        if len(near) > _MOST_AT_A_HEIGHT:
            continue
        around = [pieces[other] for other in near]
        before = [pieces[other] for other in near if other < at and not pieces[other].gone]
        for other in before:
            if _belongs(piece, other, direction) and not _is_between(piece, other, around):
                _merge(piece.row, other.row, direction)
                piece.gone = piece.merged = other.merged = True
                other.start, other.end = min(other.start, piece.start), max(other.end, piece.end)
                break
    return [piece.row for piece in pieces if not piece.gone]


def _is_between(piece: _Piece, other: _Piece, around: Sequence[_Piece]) -> bool:
    """Whether something of another height, as in a formula, stands between two pieces."""
    start, end = min(piece.end, other.end), max(piece.start, other.start)
    size = min(piece.row.size, other.row.size)
    return any(
        third.start < end and third.end > start and _SAME_LEVEL * size < abs(third.row.height - piece.row.height) < size
        for third in around
        if third is not piece and third is not other
    )


def _pieces(drawn: Sequence[Row], direction: Direction) -> list[_Piece]:
    pieces: list[_Piece] = []
    for row in drawn:
        spans = [run.along(direction) for run in row.runs if run.text.strip()]
        start, end = min(start for start, _ in spans), max(end for _, end in spans)
        last = pieces[-1] if pieces else None
        if last is not None and _goes_on(last, row, start, end):
            last.block.rows.append(row)
            pieces.append(_Piece(row, last.block, start, end, last))
        else:
            pieces.append(_Piece(row, _Block([row]), start, end))
    for block in {id(piece.block): piece.block for piece in pieces}.values():
        _describe(block)
    return pieces


def _goes_on(last: _Piece, row: Row, start: float, end: float) -> bool:
    step = last.row.height - row.height
    return 0 < step <= _WIDEST_STEP * max(last.row.size, row.size) and start <= last.end and end >= last.start


def _describe(block: _Block) -> None:
    texts = [" ".join(row.texts()) for row in block.rows]
    steps = [above.height - below.height for above, below in pairwise(block.rows)]
    block.tight = bool(steps) and median(steps) < _TIGHT * median(row.size for row in block.rows)
    enough = _MOSTLY * len(texts)
    block.wordy = sum(len(text.split()) >= _WORDS_OF_A_LINE or not text.isascii() for text in texts) >= enough
    block.amounts = sum(_AMOUNT.fullmatch(text) is not None for text in texts) >= enough
    numbers = [int(text) for text in texts if text.isascii() and text.isdigit()]
    rises = sum(after - before == 1 for before, after in pairwise(numbers))
    block.numbered = len(numbers) >= _FEWEST_NUMBERED and rises >= _MOSTLY * (len(texts) - 1)


def _belongs(piece: _Piece, other: _Piece, direction: Direction) -> bool:
    """Whether a piece goes into the line of one drawn before."""
    smaller = min(piece.row.size, other.row.size)
    shift = abs(piece.row.height - other.row.height)
    if shift > _ON_A_BLANK * smaller or piece.block is other.block:
        return False
    slack = _SLACK * smaller
    if piece.end <= other.start + slack or piece.start >= other.end - slack:
        return shift <= _SAME_LEVEL * smaller and not _is_apart(piece, other)
    own = [run.along(direction) for run in piece.row.runs if run.text.strip()]
    met = [
        run for run in other.row.runs if any(_overlap(run, start + slack, end - slack, direction) for start, end in own)
    ]
    written = [run for run in met if run.text.strip() and not FILLER.fullmatch(run.text)]
    if len(written) < len(met):
        # What is written on a blank may reach a little over its ends.
        slack = _BESIDE_A_BLANK * smaller
    if any(_overlap(run, start + slack, end - slack, direction) for run in written for start, end in own):
        return False
    return bool(met) or shift <= _SAME_LEVEL * smaller


def _is_apart(piece: _Piece, other: _Piece) -> bool:  # noqa: PLR0911 - one for each sign
    """Whether what stands to the left or right of a line is no part of it."""
    one, two = piece.block, other.block
    if (one.numbered and not two.amounts) or (two.numbered and not one.amounts):
        return True
    # An amount stands to the right of its words; what stands to their left is a number of the paragraph, or the page.
    first, last = (one, two) if piece.start < other.start else (two, one)
    if last.amounts or (first.amounts and not last.wordy):
        return False
    if min(len(one.rows), len(two.rows)) > 1 and one.tight and two.tight and last.wordy:
        return True
    if len(one.rows) >= _FEWEST_LINES and len(two.rows) >= _FEWEST_LINES:
        return (one.tight and two.tight) or (one.wordy and two.wordy)
    text = other.row.texts()[-1] if piece.start > other.start else ""
    is_short = len(" ".join(piece.row.texts()).split()) <= _SHORT_VALUE
    if is_short and (text.endswith(":") or FILLER.search(text[-_FEWEST_NUMBERED:])):
        return False
    if piece.goes_on or other.goes_on:
        return True
    return any(len(block.rows) >= _FEWEST_LINES and block.wordy for block in (one, two))


def _merge(row: Row, into: Row, direction: Direction) -> None:
    """Puts the runs of a row among those of another; blanks that are written on go."""
    spans = [run.along(direction) for run in row.runs if run.text.strip()]
    kept = [
        run
        for run in into.runs
        if not FILLER.fullmatch(run.text) or not any(_overlap(run, *span, direction) for span in spans)
    ]
    shift = into.height - row.height
    for run in row.runs:
        run.x, run.y = run.x - shift * direction[1], run.y + shift * direction[0]
        run.end_x, run.end_y = run.end_x - shift * direction[1], run.end_y + shift * direction[0]
    into.runs[:] = sorted((*kept, *row.runs), key=lambda run: run.along(direction)[0])


def _overlap(run: Run, start: float, end: float, direction: Direction) -> bool:
    own = run.along(direction)
    return own[0] < end and own[1] > start
