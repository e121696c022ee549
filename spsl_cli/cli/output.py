"""What commands do with a finished answer: to standard output or a file, as text or JSON, and the exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from spsl_cli.answer import Answer, answers_json
from spsl_cli.config import Settings
from spsl_cli.documents import Collection
from spsl_cli.errors import ExitCode
from spsl_cli.render import Streams, make_reporter, write_answer, write_json
from spsl_cli.render.answer import json_text
from spsl_cli.session import Report, Session
from spsl_cli.storage.atomic import write_whole


@contextmanager
def session_with_panel(settings: Settings, streams: Streams, *, quiet: bool, plain: bool) -> Iterator[Session]:
    """A session whose events go to the panel, or to plain lines; closed before anything goes to standard output."""
    with make_reporter(streams, quiet=quiet, plain=plain) as reporter:
        report: Report = reporter
        yield Session(settings, report)


def deliver(answers: Sequence[Answer], streams: Streams, *, as_json: bool, output: str | None) -> None:
    """Write the answers, then leave with the exit code that they amount to."""
    if as_json:
        content = answers_json(answers)
        if output is None:
            write_json(streams, content)
        else:
            write_whole(Path(output), json_text(content) + "\n")
    else:
        text = "\n\n".join(answer.text for answer in answers)
        if output is None:
            write_answer(streams, text)
        else:
            write_whole(Path(output), text.rstrip("\n") + "\n")
    if any(answer.finish_reason == "interrupted" for answer in answers):
        raise typer.Exit(ExitCode.INTERRUPTED)
    leave_with_skips(answers[0].collection)


def leave_with_skips(collection: Collection) -> None:
    """Exit code 7 if an input was left out that the user may miss."""
    if any(not skip.by_rule for skip in collection.skipped):
        raise typer.Exit(ExitCode.SOME_SKIPPED)
