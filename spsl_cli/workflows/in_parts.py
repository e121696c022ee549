"""Documents too long for one prompt: asked part by part, and the parts' answers merged, in as many levels as it takes.

That it was done so is a warning, and the parts are in the answer's JSON; nothing is left out silently.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from spsl_cli.answer import Answer
from spsl_cli.dividing import divide
from spsl_cli.documents import Collection, Document, Page
from spsl_cli.errors import PromptTooLongError
from spsl_cli.request import Request
from spsl_cli.session import Session
from spsl_cli.workflows.one_prompt import answer_once

if TYPE_CHECKING:
    from spsl_cli.prompting.wording import Stage

NOT_FOUND = "not found"
"""How the answer of a part begins that has nothing on the question; the prompt asks for it."""


def answer_in_parts(
    session: Session, collection: Collection, request: Request, why: PromptTooLongError, begun: float
) -> Answer:
    """Answer from documents that do not fit into one prompt by `why`; `begun` as for `answer_once`.

    Ctrl-C after the first part ends it with what the parts so far have said. Raises `why` again where the model's
    context has no room for parts.
    """
    work = _Work(session, request, begun)
    answers = work.of_parts(collection, why)
    told_of = f"the documents are {why.excess:,} tokens too long for one prompt"
    if len(answers) < work.planned:
        session.notice(f"{told_of}: interrupted after {len(answers)} of {work.planned} parts")
    else:
        session.notice(f"{told_of}: answered in {work.planned} parts")
    parts = tuple(answers)
    told = [part for part in parts if not part.text.casefold().startswith(NOT_FOUND)] or [parts[0]]
    unmerged = request.schema is not None  # parts answer freely
    while (len(told) > 1 or unmerged) and not session.interrupts.seen:
        texts = Collection(tuple(_as_document(number, part) for number, part in enumerate(told, start=1)))
        try:
            merged = work.merged(texts)
            if merged.finish_reason != "interrupted":  # half a merging says less than the parts
                told, unmerged = [merged], False
        except KeyboardInterrupt:
            break
        except PromptTooLongError as too_long:
            fewer = work.of_parts(texts, too_long, stage="merge")
            if len(fewer) >= len(told):
                raise
            told = fewer
    if len(told) > 1:
        session.notice("interrupted: the answers of the parts are not merged")
    return _whole(collection, told, work, parts)


class _Work:
    """Every prompt that is answered on the way, for the sums at the end."""

    def __init__(self, session: Session, request: Request, begun: float) -> None:
        self.session, self.request, self.begun = session, request, begun
        self.answers: list[Answer] = []
        self.planned = 0  # parts of the last split

    def merged(self, texts: Collection) -> Answer:
        """One answer from the parts' answers."""
        request = replace(self.request, stage="merge", note="merging")
        return self._answer(texts, request)

    def of_parts(self, collection: Collection, why: PromptTooLongError, stage: Stage = "part") -> list[Answer]:
        """The answers of as many parts as are needed, or of those before Ctrl-C."""
        session, asked = self.session, replace(self.request, stage=stage, schema=None)
        loaded = session.load()
        parts = divide(loaded.tokenizer, collection, asked, session.settings, loaded.context_length, why)
        self.planned = len(parts)
        answers: list[Answer] = []
        for number, part in enumerate(parts, start=1):
            try:
                answers.append(self._answer(part, replace(asked, note=f"part {number} of {len(parts)}")))
            except KeyboardInterrupt:
                if not answers:
                    raise
            if session.interrupts.seen:
                break
        return answers

    def _answer(self, collection: Collection, request: Request) -> Answer:
        self.answers.append(answer_once(self.session, collection, request, self.begun))
        return self.answers[-1]


def _as_document(number: int, part: Answer) -> Document:
    """What a part has said, as a text to be read."""
    where = ", ".join(PurePath(path).name for path in part.covers)
    return Document(f"part {number} ({where})", "", "text/plain", (Page(1, part.text),))


def _whole(collection: Collection, told: Sequence[Answer], work: _Work, parts: tuple[Answer, ...]) -> Answer:
    """The last answer, as one from all documents, with the sums of all that was done for it."""
    last = told[-1]
    tokens = dict.fromkeys((document.path for document in collection.documents), 0)
    for part in parts:
        for document, count in zip(part.collection.documents, part.document_tokens, strict=True):
            tokens[document.path] += count
    timing = replace(
        last.timing,
        prefill_s=sum(answer.timing.prefill_s for answer in work.answers),
        decode_s=sum(answer.timing.decode_s for answer in work.answers),
        total_s=time.perf_counter() - work.begun,
    )
    return replace(
        last,
        text="\n\n".join(answer.text for answer in told),
        collection=collection,
        document_tokens=tuple(tokens.values()),
        timing=timing,
        parts=parts,
        steps=tuple(answer for answer in work.answers if answer is not last),
        finish_reason="interrupted" if work.session.interrupts.seen else last.finish_reason,
    )
