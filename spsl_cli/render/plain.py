"""Events as plain lines on standard error, without any escape code: for files, pipes, `--plain` and dumb terminals.

It knows when something is worth a line (a notice, the end of a stage, the end of an answer), not what a terminal is.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from spsl_cli.events import Comparison, Event, Finished, Notice, Prefill, Progress, Started
from spsl_cli.render.figures import Outcome, amount, duration, label, rate
from spsl_cli.render.messages import notice_prefix
from spsl_cli.render.sanitise import one_line
from spsl_cli.render.streams import Streams


class PlainReporter:
    """One line for each notice, each stage's end and each answer's end; `quiet` leaves only warnings."""

    def __init__(self, streams: Streams, *, quiet: bool = False) -> None:
        self._streams = streams
        self._quiet = quiet
        self._open: Progress | None = None
        self._ended: str | None = None
        self._started: Started | None = None
        self._answers = 0
        self._comparison: Comparison | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc_type is None:
            self._end_open_stage()

    def __call__(self, event: Event) -> None:
        """Say what is worth a line."""
        match event:
            case Notice(warning=warning):
                if warning or not self._quiet:
                    self._line(notice_prefix(event), event.text)
            case _ if self._quiet:
                return
            case Progress():
                self._progress(event)
            case Prefill(done=done, total=total, seconds=seconds):
                self._progress(Progress("prefill", done, total, "tokens", seconds))
            case Started():
                self._end_open_stage()
                self._started, self._comparison = event, None
                self._answers += 1
            case Comparison():
                self._comparison = event
            case Finished():
                self._end_open_stage()
                self._summary(event)

    def _progress(self, event: Progress) -> None:
        if self._open is not None and self._open.stage != event.stage:
            self._end_open_stage()
        if event.total is None or event.done < event.total:
            self._open, self._ended = event, None
        elif self._ended != event.stage:
            self._stage_line(event)
            self._open, self._ended = None, event.stage

    def _end_open_stage(self) -> None:
        """A stage of unknown length ends when something else begins; one cut short is not told as done."""
        if self._open is not None and self._open.total is None:
            self._stage_line(self._open)
        self._open = None

    def _stage_line(self, event: Progress) -> None:
        parts = [amount(event.done, event.total, event.unit)] if event.unit else []
        if event.seconds > 0:
            parts.append(f"{'in ' if parts else ''}{duration(event.seconds)}")
        speed = rate(event.done, event.seconds, event.unit)
        parts.append(f"({speed})" if speed else "")
        self._line("spsl:", f"{event.stage}: {' '.join(part for part in parts if part) or 'done'}")

    def _summary(self, finished: Finished) -> None:
        outcome = Outcome.of(finished, self._comparison)
        facts = ", ".join(fact for group in outcome.groups() for fact in group)
        several = self._answers > 1 or (self._started is not None and self._started.several)
        name = f"{label(self._started)}: " if several else ""
        self._line("spsl:", name + facts)

    def _line(self, prefix: str, text: str) -> None:
        self._streams.err.write(f"{prefix} {one_line(text)}\n")
