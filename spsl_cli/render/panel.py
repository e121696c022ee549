"""The live panel on standard error: the run queues events, a thread of its own draws them ten times a second.

So the decoder never waits for a terminal. What was drawn is taken away at the end and a short summary stays. It knows
when something is drawn and when it ends, not what it says or how it is drawn.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import ExitStack, redirect_stderr
from threading import Event as Flag
from threading import Thread
from types import TracebackType
from typing import Self

from spsl_cli.events import Event, Notice
from spsl_cli.render.figures import Outcome
from spsl_cli.render.glyphs import glyphs_for
from spsl_cli.render.layout import outcome_lines, panel_lines
from spsl_cli.render.line import Line
from spsl_cli.render.messages import notice_prefix, write_warning
from spsl_cli.render.painter import Painter
from spsl_cli.render.sanitise import one_line
from spsl_cli.render.stray import StrayOutput
from spsl_cli.render.streams import Streams
from spsl_cli.render.view import RunView

_INTERVAL_S = 0.1


class LivePanel:
    """A context manager, to be entered once, that takes events; on any way out the panel is gone, the cursor back."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._painter = Painter(streams.err)
        self._glyphs = glyphs_for(unicode=streams.err.unicode)
        self._view = RunView()
        self._events: deque[Event] = deque()
        self._size = streams.err.size()
        self._second = 0
        self._fault: Exception | None = None
        self._stray = StrayOutput(self._events.append)
        self._stop = Flag()
        self._thread = Thread(target=self._run, name="spsl-panel", daemon=True)
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        # Undone in reverse: whatever fails on the way, the cursor comes back.
        self._exit.callback(self._painter.show_cursor)
        self._exit.enter_context(redirect_stderr(self._stray))
        self._painter.hide_cursor()
        self._thread.start()
        return self

    def __call__(self, event: Event) -> None:
        """Take in an event; it is drawn with the next frame."""
        self._events.append(event)

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._exit:
            self._stop.set()
            self._thread.join()
            self._stray.finish()
            self._close(interrupted=exc_type is not None and issubclass(exc_type, KeyboardInterrupt))

    def refresh(self) -> None:
        """Draw a frame if something has changed since the last one."""
        now = time.monotonic()
        size, second = self._streams.err.size(), int(now)
        changed = self._take_events(now)
        ticking = self._view.active is not None and second != self._second
        if changed or ticking or size != self._size:
            self._size, self._second = size, second
            self._painter.paint(panel_lines(self._view, *size, self._glyphs, now), size[0], self._take_settled())

    def _run(self) -> None:
        while not self._stop.wait(_INTERVAL_S):
            try:
                self.refresh()
            except Exception as error:  # noqa: BLE001 - a fault in drawing must not cost the answer; told in `_close`
                self._fault = error
                return

    def _take_events(self, now: float) -> bool:
        changed = bool(self._events)
        while self._events:
            self._view.apply(self._events.popleft(), now)
        return changed

    def _take_settled(self) -> list[Line]:
        settled = [line for entry in self._view.settled for line in self._settled_lines(entry)]
        self._view.settled.clear()
        return settled

    def _settled_lines(self, entry: Notice | Outcome) -> list[Line]:
        if isinstance(entry, Outcome):
            return outcome_lines(entry, self._size[0], self._glyphs)
        line = Line().add(notice_prefix(entry), "warning" if entry.warning else "dim")
        return [line.add(f" {one_line(entry.text)}")]

    def _close(self, *, interrupted: bool) -> None:
        """Take the panel away and leave what is to stay."""
        if self._fault is None:
            self._take_events(time.monotonic())
            outcome = self._view.outcome(unless_ended="interrupted" if interrupted else None)
            if outcome is not None:
                self._view.settled.append(outcome)
        settled = self._take_settled()
        if self._view.answer.finished and self._streams.out.is_terminal:
            settled.append(Line())  # sets the answer apart, which follows on the same screen
        self._painter.paint([], self._streams.err.size()[0], settled)
        if self._fault is not None:
            write_warning(self._streams, f"the live panel stopped: {type(self._fault).__name__}: {self._fault}")
