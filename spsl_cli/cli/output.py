"""What commands do with a finished answer: to standard output or a file, as text or JSON, and the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast, get_args

import typer

from spsl_cli import warm_start
from spsl_cli.answer import Answer, answer_json, answers_json
from spsl_cli.config import Settings
from spsl_cli.documents import Collection
from spsl_cli.environment import unknown_variables
from spsl_cli.errors import ExitCode, UsageError
from spsl_cli.interrupt import Interrupts
from spsl_cli.prompting.wording import Cite
from spsl_cli.render import Streams, make_reporter, write_answer, write_json
from spsl_cli.render.answer import answer_text, json_text
from spsl_cli.run_history import remember
from spsl_cli.session import Report, Session
from spsl_cli.storage.atomic import write_whole


def standard_input() -> BinaryIO | None:
    """The bytes of standard input; None where it is closed, as under cron."""
    return sys.stdin.buffer if sys.stdin is not None else None


@dataclass(frozen=True)
class Delivery:
    """How an answer is wanted: as one JSON object or as events, to a file or not, and what is said meanwhile."""

    quiet: bool = False
    plain: bool = False
    as_json: bool = False
    json_stream: bool = False
    output: str | None = None

    def __post_init__(self) -> None:
        if self.as_json and self.json_stream:
            raise UsageError("--json and --json-stream are two forms of one output", hint="give one of them")


@dataclass(frozen=True)
class Given:
    """What a command has to say: text, JSON objects, the answers that were made for it, and what was read.

    `text` None: it has been written already.
    """

    text: str | None
    objects: Sequence[dict[str, Any]]
    made: Sequence[Answer]
    collection: Collection

    @classmethod
    def of(cls, answers: Sequence[Answer], *, thinking: bool = False) -> Given:
        """Of answers to several questions on the same documents."""
        text = "\n\n".join(shown(answer, thinking=thinking) for answer in answers)
        return cls(text, [answer_json(answer) for answer in answers], answers, answers[0].collection)


def shown(answer: Answer, *, thinking: bool) -> str:
    """The text of an answer, behind what was thought before it if that is wanted."""
    return f"<think>\n{answer.thinking}\n</think>\n\n{answer.text}" if thinking and answer.thinking else answer.text


def begin_session(settings: Settings, report: Report, interrupts: Interrupts) -> Session:
    """A session, which begins by telling misspelt variables."""
    session = Session(settings, report, interrupts)
    for warning in unknown_variables(os.environ):
        session.notice(warning)
    return session


def run_and_deliver(settings: Settings, delivery: Delivery, work: Callable[[Session], Given]) -> None:
    """Do `work` in a session under the panel, write what it gives, and leave with the exit code that it amounts to.

    The target is checked first: minutes of decoding must not end in a missing folder. Ctrl-C is held back until
    everything is written.
    """
    streams = Streams.detect(plain=delivery.plain)
    target = None if delivery.output is None else checked_target(delivery.output)
    reporter = make_reporter(streams, quiet=delivery.quiet, plain=delivery.plain, json_stream=delivery.json_stream)
    with Interrupts() as interrupts:
        with warm_start.begun(), reporter as report:
            given = work(begin_session(settings, report, interrupts))
        if delivery.json_stream:
            for facts in given.objects:
                write_json(streams, {"event": "answer", "answer": facts})
        if given.text is not None and not (delivery.json_stream and target is None):
            _write(streams, target, given, as_json=delivery.as_json)
        if settings.history:
            remember_answers(given.made, streams)
        if interrupts.seen:
            raise typer.Exit(ExitCode.INTERRUPTED)
    leave_with_skips(given.collection)


def _write(streams: Streams, target: Path | None, given: Given, *, as_json: bool) -> None:
    if as_json:
        content = json_text(answers_json(given.objects), ascii_only=target is None and not streams.out.unicode) + "\n"
    else:
        content = answer_text(streams, given.text or "")
    if target is not None:
        write_whole(target, content)
    elif as_json:
        streams.out.write(content)
    else:
        write_answer(streams, given.text or "", markdown=True)


def remember_answers(answers: Sequence[Answer], streams: Streams) -> None:
    """A history that cannot be written is told, and fails nothing: the answer is there."""
    try:
        remember(answers, sys.argv[1:])
    except OSError as error:
        streams.err.write(f"spsl: this run is not in the history: {error.strerror or error}\n")


def checked_cite(text: str) -> Cite:
    """The value of `--cite`. UsageError for one that has no meaning."""
    choices = get_args(Cite)
    if text not in choices:
        raise UsageError(f"--cite {text!r} is not understood", hint=f"use {', '.join(choices)}")
    return cast("Cite", text)


def read_schema(path: str | None) -> dict[str, Any] | None:
    """The schema of `--schema FILE`, known to be one that can be followed. Raises what `load_schema` raises."""
    if path is None:
        return None
    from spsl_cli.structured import load_schema  # noqa: PLC0415 only where a schema is given

    return load_schema(path)


def leave_with_skips(collection: Collection) -> None:
    """Exit code 7 if an input was left out that the user may miss."""
    if any(not skip.by_rule for skip in collection.skipped):
        raise typer.Exit(ExitCode.SOME_SKIPPED)


def checked_target(output: str, option: str = "-o") -> Path:
    """The file to write, as `option` named it. UsageError where it cannot be written."""
    path = Path(output)
    if not output or path.is_dir():
        raise UsageError(f"{option} {output!r} is not the name of a file")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {output}: there is no folder {path.parent}", hint="make it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{option} {output} cannot be written", hint="choose another file")
    return path
