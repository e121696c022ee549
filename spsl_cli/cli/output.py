"""What commands do with a finished answer: to standard output or a file, as text or JSON, and the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import typer

from spsl_cli.answer import Answer, answers_json
from spsl_cli.config import Settings
from spsl_cli.documents import Collection
from spsl_cli.errors import ExitCode, UsageError
from spsl_cli.interrupt import Interrupts
from spsl_cli.render import Streams, make_reporter
from spsl_cli.render.answer import answer_text, json_text
from spsl_cli.run_history import remember
from spsl_cli.session import Session
from spsl_cli.storage.atomic import write_whole


def standard_input() -> BinaryIO | None:
    """The bytes of standard input; None where it is closed, as under cron."""
    return sys.stdin.buffer if sys.stdin is not None else None


def run_and_deliver(
    settings: Settings,
    streams: Streams,
    work: Callable[[Session], Sequence[Answer]],
    *,
    quiet: bool,
    plain: bool,
    as_json: bool,
    output: str | None,
) -> None:
    """Do `work` in a session under the panel, write its answers, and leave with the exit code that they amount to.

    The target is checked first: minutes of decoding must not end in a missing folder. Ctrl-C is held back until
    everything is written.
    """
    target = None if output is None else _checked(output)
    with Interrupts() as interrupts:
        with make_reporter(streams, quiet=quiet, plain=plain) as report:
            answers = work(Session(settings, report, interrupts))
        if as_json:
            content = json_text(answers_json(answers), ascii_only=target is None and not streams.out.unicode) + "\n"
        else:
            content = answer_text(streams, "\n\n".join(answer.text for answer in answers))
        if target is None:
            streams.out.write(content)
        else:
            write_whole(target, content)
        if settings.history:
            _remember(answers, streams)
        if interrupts.seen:
            raise typer.Exit(ExitCode.INTERRUPTED)
    leave_with_skips(answers[0].collection)


def _remember(answers: Sequence[Answer], streams: Streams) -> None:
    """A history that cannot be written is told, and fails nothing: the answer is there."""
    try:
        remember(answers, sys.argv[1:])
    except OSError as error:
        streams.err.write(f"spsl: this run is not in the history: {error.strerror or error}\n")


def leave_with_skips(collection: Collection) -> None:
    """Exit code 7 if an input was left out that the user may miss."""
    if any(not skip.by_rule for skip in collection.skipped):
        raise typer.Exit(ExitCode.SOME_SKIPPED)


def _checked(output: str) -> Path:
    path = Path(output)
    if not output or path.is_dir():
        raise UsageError(f"-o {output!r} is not the name of a file")
    if not path.parent.is_dir():
        raise UsageError(f"-o {output}: there is no folder {path.parent}", hint="make it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"-o {output} cannot be written", hint="choose another file")
    return path
