"""`spsl ask PATH... QUESTION`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spsl_cli.answer import Answer
from spsl_cli.cli.dry_run import dry_run
from spsl_cli.cli.options import (
    AsJson,
    Citing,
    Debug,
    DryRun,
    JsonStream,
    OutputFile,
    Password,
    Plain,
    Quiet,
    Schema,
    with_selection,
    with_settings,
)
from spsl_cli.cli.output import Delivery, Given, checked_cite, read_schema, run_and_deliver, standard_input
from spsl_cli.config import Settings
from spsl_cli.documents import Selection
from spsl_cli.errors import UsageError
from spsl_cli.request import Request, own_wording
from spsl_cli.session import Session
from spsl_cli.workflows.answering import answer


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
    cite: Citing = "pages",
    schema: Schema = None,
    password: Password = None,
    output: OutputFile = None,
    as_json: AsJson = False,
    json_stream: JsonStream = False,
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
    paths, questions = _paths_and_questions(words, question)
    template, followed = own_wording(settings), read_schema(schema)
    requests = [
        Request(
            "ask",
            question=text,
            cite=checked_cite(cite),
            note=f"question {number} of {len(questions)}" if len(questions) > 1 else "",
            template=template,
            schema=followed,
        )
        for number, text in enumerate(questions, start=1)
    ]
    if plan_only:
        dry_run(
            settings,
            lambda collection: [(collection, request) for request in requests],
            "ask",
            paths,
            password,
            selection,
            quiet=quiet,
            plain=plain,
            as_json=as_json or json_stream,
        )
        return

    def work(session: Session) -> Given:
        collection = session.read(paths, standard_input(), password, selection)
        answers: list[Answer] = []
        for request in requests:
            try:
                answers.append(answer(session, collection, request))
            except KeyboardInterrupt:
                if not answers:
                    raise
            if session.interrupts.seen:
                break
        return Given.of(answers, thinking=settings.show_thinking)

    run_and_deliver(settings, Delivery(quiet, plain, as_json, json_stream, output), work)


def _paths_and_questions(words: list[str], question: list[str] | None) -> tuple[list[str], list[str]]:
    """Which words are paths, and what is asked: `question`, else the last word. UsageError where either is missing."""
    paths, questions = (words, question) if question else (words[:-1], words[-1:])
    if not paths and Path(words[-1]).exists():
        raise UsageError(f"no question was given for {words[-1]}", hint="give it as the last argument or with -q")
    if not paths:
        hint = 'spsl ask PATH... "QUESTION"'
        raise UsageError(f"a question needs documents: {words[-1]!r} is the question", hint=hint)
    if any(not text.strip() for text in questions):
        raise UsageError("the question is empty", hint="give it as the last argument or with -q")
    return paths, questions
