"""One-line messages for people on standard error: errors, warnings, notices. It knows their form, not their causes."""

from __future__ import annotations

from spsl_cli.events import Notice
from spsl_cli.render.sanitise import one_line
from spsl_cli.render.streams import Streams

_RED, _YELLOW, _RESET = "\x1b[31m", "\x1b[33m", "\x1b[0m"


def write_error(streams: Streams, message: str) -> None:
    """`spsl: error: message` on standard error: exactly one line, never wrapped by us."""
    _write(streams, "spsl: error:", message, _RED)


def write_warning(streams: Streams, message: str) -> None:
    """`spsl: warning: message` on standard error: exactly one line, never wrapped by us."""
    _write(streams, "spsl: warning:", message, _YELLOW)


def notice_prefix(notice: Notice) -> str:
    """What stands before a notice's text."""
    return "spsl: warning:" if notice.warning else "spsl:"


def _write(streams: Streams, prefix: str, message: str, colour: str) -> None:
    shown = f"{colour}{prefix}{_RESET}" if streams.err.colour else prefix
    streams.err.write(f"{shown} {one_line(message)}\n")
