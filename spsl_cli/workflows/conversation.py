"""Questions that follow one another on the same documents; what was asked and answered before stands in the prompt."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from spsl_cli.answer import Answer
from spsl_cli.documents import Collection
from spsl_cli.request import Request
from spsl_cli.session import Session
from spsl_cli.workflows.answering import answer


@dataclass
class Conversation:
    """The answers so far, on one collection; `request` says how questions are put."""

    session: Session
    collection: Collection
    request: Request
    answers: list[Answer] = field(default_factory=list)

    def ask(self, question: str) -> Answer:
        """Answer `question` behind all turns before it. One that is cut short stays, as far as it went.

        Raises PromptTooLongError where the conversation has grown too long; it is what it was then.
        """
        from spsl_cli.prompting.layout import Turn  # noqa: PLC0415 seconds

        turns = tuple(Turn(turn.question or "", turn.text) for turn in self.answers)
        given = answer(self.session, self.collection, replace(self.request, question=question, turns=turns))
        self.answers.append(given)
        return given

    def forget(self) -> None:
        """Begin anew, with the documents alone."""
        self.answers.clear()

    def transcript(self) -> str:
        """What was said, as Markdown."""
        documents = "\n".join(f"- {document.path}" for document in self.collection.documents)
        turns = "".join(f"\n## {turn.question}\n\n{turn.text}\n" for turn in self.answers)
        return f"# Conversation\n\n{documents}\n{turns}"
