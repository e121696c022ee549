"""Documents and a question -> one prompt as token ids: documents first and in the given order, the question last.

Everything up to `Prompt.documents_end` is the same for every question on the same documents, so that its KV can be
used again. This file does not know what fits into the model (`budget`) or how an answer is checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from spsl_cli.documents.document import Document, Page
from spsl_cli.errors import NoReadableInputError
from spsl_cli.prompting.data_tokens import DataEncoder
from spsl_cli.prompting.template import split_template
from spsl_cli.prompting.user_template import DocumentFacts, RequestFacts, UserTemplate
from spsl_cli.prompting.wording import Cite, Stage, Task, above, request_text

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

DEFAULT_SYSTEM = "You are a careful assistant. You answer questions about documents and summarize them."

_LONGEST_LABEL = 16  # characters; printed page labels are far shorter


@dataclass(frozen=True)
class Turn:
    """A question that was asked before on the same documents, and what was answered."""

    question: str
    answer: str


@dataclass(frozen=True)
class Prompt:
    """A whole prompt.

    `ids` are the model's token ids; `spans` gives for each document its (start, end) in them, header included.
    `ids[:documents_end]` does not depend on the question or the task; `turn_ends` are where earlier turns end, each
    without the template's part behind it. `notes` are facts for the user.
    """

    ids: list[int]
    spans: tuple[tuple[int, int], ...]
    documents_end: int
    question: str | None
    notes: tuple[str, ...]
    turn_ends: tuple[int, ...] = ()

    @property
    def ends(self) -> tuple[int, ...]:
        """Where its parts end with which other prompts begin too: the documents, then each turn."""
        return (self.documents_end, *self.turn_ends)

    @property
    def document_tokens(self) -> tuple[int, ...]:
        """How many tokens each document takes, header and page marks included."""
        return tuple(end - start for start, end in self.spans)


def build_prompt(
    tokenizer: PreTrainedTokenizerFast,
    documents: Sequence[Document],
    question: str | None,
    *,
    system: str | None = None,
    task: Task = "ask",
    focus: str | None = None,
    length: int | None = None,
    cite: Cite = "pages",
    stage: Stage = "whole",
    turns: Sequence[Turn] = (),
    template: UserTemplate | None = None,
    schema: str | None = None,
) -> Prompt:
    """Lay out `documents` and what is to be done with them.

    `question` is for `ask` (required) and None for `summarize`, which takes `focus` (what the summary is to dwell on)
    and `length` (words) instead. `cite`: whether an answer is asked to name pages, or to quote as well.
    `stage`: whether these are the documents, parts of them, or what was said of parts. `turns` went before.
    `system` None means `DEFAULT_SYSTEM`, an empty one no system message. `template` words the request, and those of
    earlier turns, instead of us. `schema`: of what JSON the answer is to be.
    Raises NoReadableInputError without documents, UsageError if the request makes no sense or `template` fails, and
    UnsupportedModelError for a tokenizer or chat template that cannot be used.
    """
    if not documents:
        raise NoReadableInputError("there is no document to build a prompt from")
    names = _names(documents)
    words = partial(_words, template, documents, names, cite)
    request = words(question, task, focus, length, stage, schema)
    encoder = DataEncoder(tokenizer)
    system = DEFAULT_SYSTEM if system is None else system.strip()
    frame = split_template(tokenizer, encoder, system, len(turns))
    ids = list(frame.before)
    if frame.lead:
        ids += encoder.encode(f"{frame.lead}\n\n")
    spans = []
    for number, (document, name) in enumerate(zip(documents, names, strict=True), start=1):
        start = len(ids)
        ids += encoder.encode(_document_text(document, f"Document {number}: {name}"))
        spans.append((start, len(ids)))
    documents_end, turn_ends = len(ids), []
    plain_end = "" if frame.chat else ("\nAnswer:" if task == "ask" else "\n\nSummary:")
    for number, turn in enumerate(turns):
        ids += encoder.encode(words(turn.question) + plain_end) + frame.between[2 * number]
        ids += encoder.encode(turn.answer if frame.chat else f" {turn.answer}\n\n")
        turn_ends.append(len(ids))
        ids += frame.between[2 * number + 1]
    ids += encoder.encode(request + plain_end) + frame.after
    return Prompt(ids, tuple(spans), documents_end, question, frame.notes, tuple(turn_ends))


def _words(
    template: UserTemplate | None,
    documents: Sequence[Document],
    names: Sequence[str],
    cite: Cite,
    question: str | None,
    task: Task = "ask",
    focus: str | None = None,
    length: int | None = None,
    stage: Stage = "whole",
    schema: str | None = None,
) -> str:
    """The request in our words, or in those of `template`. Either way UsageError is raised if it makes no sense."""
    built_in = request_text(documents, question, task, focus, length, cite, stage, schema)
    if template is None:
        return built_in
    facts = RequestFacts(
        task=task,
        question=question,
        focus=focus,
        length=length,
        cite=cite,
        stage=stage,
        documents=tuple(
            DocumentFacts(name, document.paged, len(document.pages))
            for name, document in zip(names, documents, strict=True)
        ),
        paged=any(document.paged for document in documents),
        above=above(documents),
    )
    return template.render(facts)


def page_marks(document: Document) -> tuple[str, ...]:
    """The mark of each page, as the model sees it and may cite it: `[page 3]`, or `[page iv]` by its printed label.

    Marks differ from one another: where printed labels repeat or are no sane labels, all pages go by number.
    """
    printed = [_printed(page) for page in document.pages]
    if len(set(printed)) < len(printed):
        printed = [str(page.number) for page in document.pages]
    return tuple(f"[page {label}]" for label in printed)


def _printed(page: Page) -> str:
    label = (page.label or "").strip()
    sane = 0 < len(label) <= _LONGEST_LABEL and label.isprintable() and not set(label) & set("[]")
    return label if sane else str(page.number)


def _names(documents: Sequence[Document]) -> list[str]:
    """What each document is called in the prompt: its file name, or its whole path where two share the name."""
    short = [PurePath(document.path).name or document.path for document in documents]
    times = Counter(short)
    names = [name if times[name] == 1 else document.path for name, document in zip(short, documents, strict=True)]
    # A header is one line, whatever the file is called.
    return ["".join(mark if mark.isprintable() else "\ufffd" for mark in name) for name in names]


def _document_text(document: Document, header: str) -> str:
    if document.paged:
        marked = zip(page_marks(document), document.pages, strict=True)
        body = "\n".join(f"{mark}\n{page.text}" for mark, page in marked)
    else:
        body = document.text
    return f"{header}\n{body}\n\n"
