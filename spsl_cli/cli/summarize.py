"""`spsl summarize PATH...`: one summary over all documents."""

from __future__ import annotations

from typing import Annotated

import typer

from spsl_cli.answer import Answer
from spsl_cli.cli.dry_run import dry_run
from spsl_cli.cli.options import (
    AsJson,
    Debug,
    DryRun,
    OutputFile,
    Password,
    Paths,
    Plain,
    Quiet,
    with_selection,
    with_settings,
)
from spsl_cli.cli.output import run_and_deliver, standard_input
from spsl_cli.config import Settings
from spsl_cli.documents import Selection
from spsl_cli.errors import UsageError
from spsl_cli.render import Streams
from spsl_cli.request import Request
from spsl_cli.session import Session

LONGEST_NUMBER = 7  # digits
WORDS = {"short": 60, "medium": 150, "long": 400}


@with_settings
@with_selection
def summarize(
    paths: Paths,
    *,
    length: Annotated[
        str | None, typer.Option("--length", metavar="short|medium|long|N", help="Words to aim at.")
    ] = None,
    focus: Annotated[str | None, typer.Option("--focus", help="What the summary should dwell on.")] = None,
    password: Password = None,
    output: OutputFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    plain: Plain = False,
    plan_only: DryRun = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
    selection: Selection,
    settings: Settings,
) -> None:
    """Summarize documents, all of them in one summary.

    Example: spsl summarize folder/ --length short
    """
    request = Request("summarize", focus=focus, length=_words(length))

    if plan_only:
        dry_run(settings, [request], paths, password, selection, quiet=quiet, plain=plain, as_json=as_json)
        return

    def work(session: Session) -> list[Answer]:
        return [session.answer(session.read(paths, standard_input(), password, selection), request)]

    streams = Streams.detect(plain=plain)
    run_and_deliver(settings, streams, work, quiet=quiet, plain=plain, as_json=as_json, output=output)


def _words(length: str | None) -> int | None:
    if length is None:
        return None
    if length in WORDS:
        return WORDS[length]
    if length.isdecimal() and len(length) < LONGEST_NUMBER and int(length) > 0:
        return int(length)
    raise UsageError(f"--length {length!r} is not understood", hint="use short, medium, long or a number of words")
