"""`spsl summarize PATH...`: a summary of each document, and one of all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from spsl_cli.cli.dry_run import dry_run
from spsl_cli.cli.options import (
    AsJson,
    Debug,
    DryRun,
    JsonStream,
    OutputPath,
    Password,
    Paths,
    Plain,
    Quiet,
    Schema,
    with_selection,
    with_settings,
)
from spsl_cli.cli.output import Delivery, Given, read_schema, run_and_deliver, standard_input
from spsl_cli.config import Settings
from spsl_cli.documents import Selection
from spsl_cli.errors import UsageError
from spsl_cli.render.answer import json_text
from spsl_cli.render.sanitise import strip_controls
from spsl_cli.request import Request, own_wording
from spsl_cli.session import Session
from spsl_cli.workflows.output_folder import OutputFolder, check_folder
from spsl_cli.workflows.summaries import Summary, each_alone
from spsl_cli.workflows.summaries import summarize as summarize_each

SEPARATORS = tuple(mark for mark in (os.sep, os.altsep) if mark)
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
    schema: Schema = None,
    password: Password = None,
    output: OutputPath = None,
    as_json: AsJson = False,
    json_stream: JsonStream = False,
    quiet: Quiet = False,
    plain: Plain = False,
    plan_only: DryRun = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
    selection: Selection,
    settings: Settings,
) -> None:
    """Summarize documents: each of them and, where there are several, all together.

    Example: spsl summarize folder/ --length short -o summaries/
    """
    template, followed = own_wording(settings), read_schema(schema)
    request = Request("summarize", focus=focus, length=_words(length), template=template, schema=followed)

    if plan_only:
        dry_run(
            settings,
            lambda collection: [(one, request) for one in each_alone(collection)],
            "summarize",
            paths,
            password,
            selection,
            quiet=quiet,
            plain=plain,
            as_json=as_json or json_stream,
        )
        return

    folder = bool(output) and (str(output).endswith(SEPARATORS) or Path(str(output)).is_dir())
    if folder:
        check_folder(Path(str(output)))
    suffix = ".json" if as_json else ".md"

    def work(session: Session) -> Given:
        collection = session.read(paths, standard_input(), password, selection)
        kept = None
        if folder:
            kept = OutputFolder(Path(output or ""), paths, suffix, content, session.notice)
            collection = kept.without_own(collection)
            kept.check_names(collection.documents)
        summaries = summarize_each(session, collection, request, kept)
        text = None if folder else _text(summaries)
        if output and not folder and len(summaries) > 1:
            session.notice(f"all summaries are in {output}; end it with / for a file each", warning=False)
        made = [summary.made for summary in summaries if summary.made is not None]
        return Given(text, [summary.facts for summary in summaries], made, collection)

    def content(facts: dict[str, Any]) -> str:
        return json_text(facts) + "\n" if as_json else strip_controls(str(facts["answer"])).rstrip("\n") + "\n"

    run_and_deliver(settings, Delivery(quiet, plain, as_json, json_stream, None if folder else output), work)


def _text(summaries: Sequence[Summary]) -> str:
    """One summary as it is, several under the names of what they are of."""
    if len(summaries) == 1:
        return summaries[0].text
    names = [summary.document.path if summary.document else "All documents" for summary in summaries]
    return "\n\n".join(f"## {name}\n\n{summary.text}" for name, summary in zip(names, summaries, strict=True))


def _words(length: str | None) -> int | None:
    if length is None:
        return None
    if length in WORDS:
        return WORDS[length]
    if length.isdecimal() and len(length) < LONGEST_NUMBER and int(length) > 0:
        return int(length)
    raise UsageError(f"--length {length!r} is not understood", hint="use short, medium, long or a number of words")
