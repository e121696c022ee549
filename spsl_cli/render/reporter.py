"""Which renderer a run gets. The panel's modules, and Rich with them, are imported only when there is a panel."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Protocol, Self

from spsl_cli.events import Event
from spsl_cli.render.json_lines import JsonLinesReporter
from spsl_cli.render.plain import PlainReporter
from spsl_cli.render.streams import Streams

SMALLEST_PANEL = (20, 6)  # columns and rows


class Reporter(Protocol):
    """Takes the events of a run, between its entry and its exit, in the order in which they happen."""

    def __call__(self, event: Event) -> None:
        """Take in one event; returns at once."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...


def make_reporter(streams: Streams, *, quiet: bool = False, plain: bool = False, json_stream: bool = False) -> Reporter:
    """The live panel where standard error is a terminal that can carry it, else plain lines; `quiet`: warnings only.

    With `json_stream` every event goes to standard output too, and standard error gets plain lines: a panel would be
    torn apart where both are the same terminal.
    """
    if json_stream:
        return _Both(JsonLinesReporter(streams), PlainReporter(streams, quiet=quiet))
    columns, rows = streams.err.size()
    fits = columns >= SMALLEST_PANEL[0] and rows >= SMALLEST_PANEL[1]
    if quiet or plain or not streams.err.styled or not fits:
        return PlainReporter(streams, quiet=quiet)

    from spsl_cli.render.panel import LivePanel  # noqa: PLC0415 - Rich is slow to import

    return LivePanel(streams)


class _Both:
    def __init__(self, *reporters: Reporter) -> None:
        self._reporters = reporters
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for reporter in self._reporters:
            self._stack.enter_context(reporter)
        return self

    def __call__(self, event: Event) -> None:
        for reporter in self._reporters:
            reporter(event)

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.__exit__(exc_type, exc, traceback)
