"""Signals of a run: when Ctrl-C stops it at once, and when it only asks it to come to an end.

Before there is anything to lose, Ctrl-C raises KeyboardInterrupt. Once tokens come, it is remembered: the decoding ends
after the round under way, and what there is goes out undisturbed, however often the key is pressed.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """Ctrl-C while this context is open; does nothing outside the main thread, where signals do not arrive."""

    def __init__(self) -> None:
        self.seen = False
        self._deferring = False
        self._before: Any = None

    def __enter__(self) -> Self:
        try:
            self._before = signal.signal(signal.SIGINT, self._handle)
        except ValueError:  # not the main thread
            self._before = None
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def reset(self) -> None:
        """Forget what was pressed: the session goes on, and Ctrl-C raises KeyboardInterrupt again."""
        self.seen = self._deferring = False

    def allow(self) -> None:
        """From now on Ctrl-C raises KeyboardInterrupt, unless it was pressed already."""
        self._deferring = self.seen

    def defer(self) -> None:
        """From now on Ctrl-C only sets `seen`."""
        self._deferring = True

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self.seen = True
        if not self._deferring:
            raise KeyboardInterrupt


def leave_on_termination() -> None:
    """SIGTERM and SIGHUP unwind the program, so that the panel gives the terminal back, and end it with 128 + n."""

    def leave(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # no SIGHUP on Windows
            signal.signal(getattr(signal, name), leave)
