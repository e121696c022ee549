"""`spsl ask PATH... QUESTION`."""

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

CITE = ("none", "pages", "quotes")


@with_settings
@with_selection
def ask(
    words: Annotated[
        list[str],
        typer.Argument(metavar="PATH... QUESTION", help="Files, folders, patterns or - (stdin); last, the question."),
    ],
    *,
    question: Annotated[
        list[str] | None, typer.Option("-q", "--question", help="The question; may be given several times.")
    ] = None,
    cite: Annotated[
        str, typer.Option("--cite", metavar="none|pages|quotes", help="What the answer is asked to name [pages].")
    ] = "pages",
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
    """Answer a question from documents.

    Example: spsl ask report.pdf "How many people were asked?"
    """
    paths, questions = (words, question) if question else (words[:-1], words[-1:])
    if not paths:
        hint = 'spsl ask PATH... "QUESTION"'
        raise UsageError(f"a question needs documents: {words[-1]!r} is the question", hint=hint)
    if any(not text.strip() for text in questions):
        raise UsageError("the question is empty", hint="give it as the last argument or with -q")

    if cite not in CITE:
        raise UsageError(f"--cite {cite!r} is not understood", hint=f"use {', '.join(CITE)}")
    requests = [Request("ask", question=text, cite=cite) for text in questions]  # type: ignore[arg-type]
    if plan_only:
        dry_run(settings, requests, paths, password, selection, quiet=quiet, plain=plain, as_json=as_json)
        return

    def work(session: Session) -> list[Answer]:
        collection = session.read(paths, standard_input(), password, selection)
        answers: list[Answer] = []
        for request in requests:
            try:
                answers.append(session.answer(collection, request))
            except KeyboardInterrupt:
                if not answers:
                    raise
            if session.interrupts.seen:
                break
        return answers

    streams = Streams.detect(plain=plain)
    run_and_deliver(settings, streams, work, quiet=quiet, plain=plain, as_json=as_json, output=output)
