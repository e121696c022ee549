"""`spsl chat PATH...`: follow-up questions on the same documents, one after the other."""

from __future__ import annotations

import sys
from pathlib import Path

from spsl_cli import warm_start
from spsl_cli.answer import Answer, answer_json
from spsl_cli.cli.options import (
    AsJson,
    Citing,
    Debug,
    Password,
    Paths,
    Plain,
    Quiet,
    with_selection,
    with_settings,
)
from spsl_cli.cli.output import begin_session, checked_cite, leave_with_skips, remember_answers, shown
from spsl_cli.config import Settings
from spsl_cli.documents import Selection
from spsl_cli.errors import SpslError, UsageError
from spsl_cli.interrupt import Interrupts
from spsl_cli.render import Streams, make_reporter, write_answer, write_error, write_json
from spsl_cli.request import Request, own_wording
from spsl_cli.storage.atomic import write_whole
from spsl_cli.workflows.conversation import Conversation

PROMPT = "> "
HELP = """\
/sources     the documents, and where the quotes of the last answer stand
/save FILE   write the conversation to a new file, as Markdown
/forget      begin anew, with the documents alone
/quit        leave; so does Ctrl-D
Ctrl-C stops an answer. A question that begins with / needs a space before it.
"""


@with_settings
@with_selection
def chat(
    paths: Paths,
    *,
    cite: Citing = "pages",
    password: Password = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    plain: Plain = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
    selection: Selection,
    settings: Settings,
) -> None:
    """Ask one question after the other on the same documents; they are read once.

    Questions are typed, or come from standard input, one a line; /help lists what else may be typed.

    Example: spsl chat report.pdf
    """
    if "-" in paths:
        raise UsageError("standard input carries the questions of a chat", hint="give documents as files")
    request = Request("ask", cite=checked_cite(cite), template=own_wording(settings))
    streams = Streams.detect(plain=plain)
    with Interrupts() as interrupts:
        with warm_start.begun(), make_reporter(streams, quiet=quiet, plain=plain) as report:
            session = begin_session(settings, report, interrupts)
            collection = session.read(paths, None, password, selection)
            session.load()
        talk = _Talk(Conversation(session, collection, request), streams, quiet=quiet, plain=plain, as_json=as_json)
        talk.run()
    leave_with_skips(collection)


class _Talk:
    """The loop between a person, or a script, and the conversation."""

    def __init__(
        self, conversation: Conversation, streams: Streams, *, quiet: bool, plain: bool, as_json: bool
    ) -> None:
        self.conversation, self.streams = conversation, streams
        self._quiet, self._plain, self._as_json = quiet, plain, as_json
        self._typed = streams.stdin_is_terminal

    def run(self) -> None:
        """Until /quit or the end of the input."""
        if self._typed and not self._quiet:
            self._say("ask a question, or /help\n")
        while (line := self._line()) is not None:
            word, _, rest = line.partition(" ")
            if not line.strip():
                continue
            if word in ("/quit", "/exit", "/q"):
                return
            try:
                if word.startswith("/"):
                    self._command(word, rest.strip())
                else:
                    self._ask(line.strip())
            except SpslError as error:
                if not self._typed:
                    raise
                write_error(self.streams, str(error))

    def _line(self) -> str | None:
        """The next line, None at the end. Ctrl-C empties it."""
        while True:
            self.conversation.session.interrupts.reset()
            try:
                return self._read()
            except KeyboardInterrupt:
                if not self._typed:
                    raise
                self._say("\n/quit leaves\n")

    def _read(self) -> str | None:
        if self._typed and self.streams.out.is_terminal:
            import readline  # noqa: F401, PLC0415 gives `input` its line editing

            try:
                return input(PROMPT)
            except EOFError:
                self._say("\n")
                return None
        if self._typed:
            self._say(PROMPT)
        line = sys.stdin.readline() if sys.stdin is not None else ""
        return line.rstrip("\r\n") if line else None

    def _ask(self, question: str) -> None:
        session = self.conversation.session
        try:
            with make_reporter(self.streams, quiet=self._quiet, plain=self._plain) as report:
                session.report = report
                given = self.conversation.ask(question)
        except KeyboardInterrupt:
            if not self._typed:
                raise
            self._say("interrupted: no answer\n")
            return
        if self._as_json:
            write_json(self.streams, answer_json(given))
        else:
            text = shown(given, thinking=session.settings.show_thinking)
            write_answer(self.streams, text, markdown=True)
            self.streams.out.write("\n")
        if session.settings.history:
            remember_answers([given], self.streams)
        if session.interrupts.seen and not self._typed:
            raise KeyboardInterrupt

    def _command(self, word: str, rest: str) -> None:
        match word:
            case "/help":
                self._say(HELP)
            case "/forget":
                self.conversation.forget()
                self._say("the conversation is forgotten, the documents are not\n")
            case "/sources":
                self._say(_sources(self.conversation))
            case "/save":
                self._save(rest)
            case _:
                raise UsageError(f"there is no command {word}", hint="/help lists them; a question needs a space first")

    def _save(self, name: str) -> None:
        if not name:
            raise UsageError("/save needs the name of a file", hint="/save FILE")
        try:
            path = Path(name).expanduser()
            there = path.exists()
        except (OSError, RuntimeError, ValueError) as error:
            raise UsageError(f"/save {name!r} is not the name of a file: {error}", hint="give another name") from error
        if there:
            raise UsageError(f"{path} is there already", hint="give another name")
        write_whole(path, self.conversation.transcript())
        self._say(f"written to {path}\n")

    def _say(self, text: str) -> None:
        self.streams.err.write(text)


def _sources(conversation: Conversation) -> str:
    documents = conversation.collection.documents
    lines = [f"{document.path}: {_size(len(document.pages), document.characters)}" for document in documents]
    last: Answer | None = conversation.answers[-1] if conversation.answers else None
    lines += [citation.told() for citation in last.citations] if last else []
    return "".join(f"{line}\n" for line in lines)


def _size(pages: int, characters: int) -> str:
    return f"{pages:,} page{'s' if pages > 1 else ''}, {characters:,} characters"
