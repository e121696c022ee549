"""Which parts of the panel are shown, and in which order, for a given size. It knows parts and rows, not their content.

While decoding the height depends on the terminal alone, so that nothing jumps; few rows go to what tells most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from spsl_cli.render import gauges, header, rounds
from spsl_cli.render.figures import Outcome
from spsl_cli.render.glyphs import Glyphs
from spsl_cli.render.line import Line, crop, width
from spsl_cli.render.sanitise import one_line
from spsl_cli.render.view import RunView

_WIDEST = 100  # longer lines of prose are hard to read
_ROOMY = 12  # rows from which one is left free above the panel


@dataclass(frozen=True, slots=True)
class Frame:
    """What every part is drawn from: the state, the cells of a line, the signs, and the panel's clock."""

    view: RunView
    cells: int
    glyphs: Glyphs
    now: float


def _head(draw: Callable[..., Line]) -> Callable[[Frame, int], list[Line]]:
    return lambda frame, _: [draw(frame.view.answer.started, frame.cells, frame.glyphs)]


def _rule(title: str, right: Callable[[Frame], Line]) -> Callable[[Frame, int], list[Line]]:
    return lambda frame, _: [gauges.rule(title, right(frame), frame.cells, frame.glyphs)]


def _stage(frame: Frame, _: int) -> list[Line]:
    return [header.stage_row(stage, frame.cells, frame.glyphs, frame.now) for stage in list(frame.view.stages)[-1:]]


def _answer(frame: Frame, rows: int) -> list[Line]:
    return [Line().add(text) for text in frame.view.answer.tail.lines(frame.cells, rows)]


def _rounds(frame: Frame, rows: int) -> list[Line]:
    return [rounds.round_row(event, frame.cells, frame.glyphs) for event in list(frame.view.answer.rounds)[-rows:]]


# In the order in which they stand.
_PARTS: dict[str, Callable[[Frame, int], list[Line]]] = {
    "heading": _head(header.heading),
    "documents": _head(header.documents),
    "question": _head(header.question),
    "stage": _stage,
    "answer rule": _rule("answer", lambda frame: gauges.length(frame.view.answer)),
    "answer": _answer,
    "rounds rule": _rule("rounds", lambda frame: rounds.legend(frame.glyphs)),
    "rounds": _rounds,
    "drafts rule": _rule("drafts", lambda frame: gauges.setting(frame.view.answer, frame.glyphs)),
    "drafts": lambda frame, _: [gauges.drafts(frame.view.answer.stats, frame.cells, frame.glyphs)],
    "measures": lambda frame, _: [gauges.measures(frame.view.answer, frame.cells)],
    "speed": lambda frame, _: [gauges.speed(frame.view.answer, frame.cells)],
}
_HEADED = ("heading", "documents", "question")  # need `Started`

# Which part gets the next row, from the first that every terminal has room for; then the answer grows.
_ROWS = (
    *("speed", "answer", "drafts", "rounds", "measures", "stage", "answer", "heading", "answer rule", "answer"),
    *("rounds rule", "rounds", "documents", "answer", "question", "drafts rule", "rounds", "rounds"),
    *("answer",) * 12,
)


def panel_lines(view: RunView, columns: int, rows: int, glyphs: Glyphs, now: float) -> list[Line]:
    """The panel for a terminal of `columns` x `rows` at `now`; each line is narrower than the terminal."""
    frame = Frame(view, min(columns - 1, _WIDEST), glyphs, now)
    height = rows - 2 if rows >= _ROOMY else rows - 1
    return _decoding(frame, height) if view.decoding else _preparing(frame, height)


def _preparing(frame: Frame, height: int) -> list[Line]:
    stages = [header.stage_row(stage, frame.cells, frame.glyphs, frame.now) for stage in frame.view.stages][-height:]
    started = frame.view.answer.started
    if started is None:
        return stages
    head = [line for part in _HEADED for line in _PARTS[part](frame, 1) if line.spans]
    return head[: max(0, height - len(stages))] + stages


def _decoding(frame: Frame, height: int) -> list[Line]:
    headed = frame.view.answer.started is not None
    heights = Counter([part for part in _ROWS if headed or part not in _HEADED][:height])
    lines: list[Line] = []
    for part, draw in _PARTS.items():
        if tall := heights[part]:
            shown = draw(frame, tall)
            lines += shown + [Line() for _ in range(tall - len(shown))]
    return lines


def outcome_lines(outcome: Outcome, columns: int, glyphs: Glyphs) -> list[Line]:
    """What stays of an answer's panel: one line, more where the terminal is narrow; broken between facts."""
    cells = min(columns - 1, _WIDEST)
    lines = [Line().add(crop(one_line(outcome.label), cells, glyphs.ellipsis), "bold")] if outcome.label else []
    mark, style = (glyphs.done, "accepted") if outcome.whole else (glyphs.stopped, "rejected")
    line = Line().add(f"{mark} ", style)
    fresh = line.width
    for at, fact in enumerate(outcome.brief()):
        separator = "" if line.width == fresh else glyphs.separator
        if separator and line.width + width(separator) + width(fact) > cells:
            lines.append(line)
            line, separator = Line().add("  "), ""
        line.add(separator + crop(fact, cells - fresh, glyphs.ellipsis), "" if at == 0 else "dim")
    return [*lines, line]
