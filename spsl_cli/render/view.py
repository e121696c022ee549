"""What the panel shows, as values: events go in, the present state comes out. It knows no layout and no terminal.

It belongs to one thread at a time and holds only the tail of what it was told.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from spsl_cli.events import (
    Comparison,
    Event,
    Finished,
    Notice,
    Prefill,
    Progress,
    RoundEvent,
    SpeculationStats,
    Started,
    TextEvent,
)
from spsl_cli.render.answer_tail import AnswerTail
from spsl_cli.render.figures import Outcome, label

_KEPT_ROUNDS = 8
_KEPT_STAGES = 12


@dataclass(slots=True)
class Stage:
    """A stage's last word, and when (on the panel's clock, seconds) it was first heard of."""

    last: Progress
    since: float
    ended: bool = False


@dataclass(slots=True)
class AnswerView:
    """One answer: how it was started, its text and last rounds, the counters so far, and how it ended."""

    started: Started | None = None
    tail: AnswerTail = field(default_factory=AnswerTail)
    rounds: deque[RoundEvent] = field(default_factory=lambda: deque(maxlen=_KEPT_ROUNDS))
    stats: SpeculationStats | None = None
    comparison: Comparison | None = None
    finished: Finished | None = None

    def outcome(self, *, unless_ended: str | None, named: bool) -> Outcome | None:
        """What it came to; of one that has not ended with the reason given, None without one or without counters."""
        name = label(self.started) if named else ""
        if self.finished is not None:
            return Outcome.of(self.finished, self.comparison, name)
        if self.stats is None or unless_ended is None:
            return None
        return Outcome(self.stats, unless_ended, self.comparison, name)


class RunView:
    """The state of a run. `decoding` stays true once a first round or text was seen: the layout does not go back.

    `settled` is what goes above the panel for good, for the panel to take.
    """

    def __init__(self) -> None:
        self.stages: deque[Stage] = deque(maxlen=_KEPT_STAGES)
        self.answer = AnswerView()
        self.decoding = False
        self.settled: list[Notice | Outcome] = []
        self._answers = 0

    def apply(self, event: Event, now: float) -> None:
        """Take in one event at time `now` of the panel's clock."""
        answer = self.answer
        match event:
            case TextEvent():
                answer.tail.feed(event.text)
                self._decode()
            case RoundEvent():
                answer.rounds.append(event)
                answer.stats = event.stats
                self._decode()
            case Progress():
                self._progress(event, now)
            case Prefill():
                self._progress(Progress("prefill", event.done, event.total, "tokens", event.seconds), now)
            case Started():
                self._start(event)
            case Notice():
                self.settled.append(event)
            case Comparison():
                answer.comparison = event
            case Finished():
                answer.finished, answer.stats = event, event.stats
                answer.comparison = event.comparison or answer.comparison
                self._end_stages()

    def outcome(self, *, unless_ended: str | None) -> Outcome | None:
        """What the present answer came to, named by its question where the run has more than one."""
        return self.answer.outcome(unless_ended=unless_ended, named=self._answers > 1)

    @property
    def active(self) -> Stage | None:
        """The stage under way, if there is one."""
        return self.stages[-1] if self.stages and not self.stages[-1].ended else None

    def _start(self, event: Started) -> None:
        before = self.answer.outcome(unless_ended="interrupted", named=True)
        if before is not None:
            self.settled.append(before)
            self.stages.clear()
        self.answer = AnswerView(started=event)
        self._answers += 1

    def _decode(self) -> None:
        self.decoding = True
        self._end_stages()

    def _end_stages(self) -> None:
        for stage in self.stages:
            stage.ended = True

    def _progress(self, event: Progress, now: float) -> None:
        stage = self.stages[-1] if self.stages else None
        if stage is None or stage.last.stage != event.stage:
            self._end_stages()
            stage = Stage(event, now)
            self.stages.append(stage)
        stage.last = event
        stage.ended = event.total is not None and event.done >= event.total
