"""Events as JSON, one a line on standard output (`--json-stream`). It knows the events' fields and adds only ratios."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from spsl_cli.errors import INTERRUPTED, ExitCode, SpslError, internal
from spsl_cli.events import Done, Event, Finished, Progress, RoundEvent, SpeculationStats
from spsl_cli.render.answer import write_json
from spsl_cli.render.streams import ReaderGoneError, Streams

INTERVAL_S = 0.1
_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")


class JsonLinesReporter:
    """Writes each event as `{"event": name, ...its fields}`; names are `text`, `round`, `prefill`, `finished`, ..."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._stage, self._told = "", 0.0  # of the last progress

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Of a failure the last line tells, in the words of standard error and with the code that the run ends with."""
        if isinstance(exc, SpslError):
            self._fail(str(exc), exc.exit_code)
        elif isinstance(exc, KeyboardInterrupt):
            self._fail(INTERRUPTED, ExitCode.INTERRUPTED)
        elif isinstance(exc, Exception):
            self._fail(internal(exc), ExitCode.FAILED)

    def _fail(self, text: str, code: ExitCode) -> None:
        with suppress(ReaderGoneError, SpslError):  # what went wrong is told in any case, and must not be replaced
            write_json(self._streams, {"event": "error", "text": text, "exit_code": int(code)})

    def __call__(self, event: Event) -> None:
        """Write one line, of a stage under way ten a second at most. Raises what `Stream.write` raises."""
        if isinstance(event, Progress) and self._is_too_soon(event):
            return
        write_json(self._streams, event_object(event))

    def _is_too_soon(self, event: Progress) -> bool:
        now = time.monotonic()
        begins = self._stage != event.stage
        if not begins and event.done != event.total and now - self._told < INTERVAL_S:
            return True
        self._stage, self._told = event.stage, now
        return False


def event_object(event: Event) -> dict[str, Any]:
    """The event as a JSON object; counters carry the ratios that a reader would otherwise work out again."""
    name = _WORD_START.sub("_", type(event).__name__.removesuffix("Event")).lower()
    fields = asdict(event)
    if isinstance(event, RoundEvent | Finished | Done):
        fields["stats"] |= _ratios(event.stats)
    return {"event": name, **fields}


def _ratios(stats: SpeculationStats) -> dict[str, float | None]:
    return {
        "acceptance_rate": stats.acceptance_rate,
        "mean_accepted": stats.mean_accepted,
        "tokens_per_s": stats.tokens_per_s,
        "estimated_speedup": stats.estimated_speedup,
    }
