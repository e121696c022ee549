"""Documents and a question -> one prompt as token ids: documents first and in the given order, the question last.

Everything up to `Prompt.documents_end` is the same for every question on the same documents, so that its KV can be
used again. This file does not know what fits into the model (`budget`) or how an answer is checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from spsl_cli.documents.document import Document, Page
from spsl_cli.errors import NoReadableInputError, UsageError
from spsl_cli.prompting.data_tokens import DataEncoder
from spsl_cli.prompting.template import split_template

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Task = Literal["ask", "summarize"]
Cite = Literal["none", "pages", "quotes"]

DEFAULT_SYSTEM = "You are a careful assistant. You answer questions about documents and summarize them."

_LONGEST_LABEL = 16  # characters; printed page labels are far shorter


@dataclass(frozen=True)
class Prompt:
    """A whole prompt.

    `ids` are the model's token ids; `spans` gives for each document its (start, end) in them, header included.
    `ids[:documents_end]` does not depend on the question or the task. `notes` are facts for the user.
    """

    ids: list[int]
    spans: tuple[tuple[int, int], ...]
    documents_end: int
    question: str | None
    notes: tuple[str, ...]

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
) -> Prompt:
    """Lay out `documents` and what is to be done with them.

    `question` is for `ask` (required) and None for `summarize`, which takes `focus` (what the summary is to dwell on)
    and `length` (words) instead. `cite`: whether an answer is asked to name pages, or to quote as well.
    `system` None means `DEFAULT_SYSTEM`, an empty one no system message.
    Raises NoReadableInputError without documents, UsageError if the request makes no sense, and UnsupportedModelError
    for a tokenizer or chat template that cannot be used.
    """
    if not documents:
        raise NoReadableInputError("there is no document to build a prompt from")
    request = _request(documents, question, task, focus, length, cite)
    encoder = DataEncoder(tokenizer)
    template = split_template(tokenizer, encoder, DEFAULT_SYSTEM if system is None else system.strip())
    ids = list(template.before)
    if template.lead:
        ids += encoder.encode(f"{template.lead}\n\n")
    spans = []
    for number, (document, name) in enumerate(zip(documents, _names(documents), strict=True), start=1):
        start = len(ids)
        ids += encoder.encode(_document_text(document, f"Document {number}: {name}"))
        spans.append((start, len(ids)))
    documents_end = len(ids)
    if not template.chat:
        request += "\nAnswer:" if task == "ask" else "\n\nSummary:"
    ids += encoder.encode(request) + template.after
    return Prompt(ids, tuple(spans), documents_end, question, template.notes)


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


def _citing(documents: Sequence[Document], cite: Cite) -> str:
    paged = cite != "none" and any(document.paged for document in documents)
    page = " Name the page in the form [page N]." if paged else ""
    return f' Quote the words that say so, in quotation marks ("...").{page}' if cite == "quotes" else page


def _request(
    documents: Sequence[Document], question: str | None, task: Task, focus: str | None, length: int | None, cite: Cite
) -> str:
    """What is asked for, in words short enough for a very small model."""
    above = "the document above" if len(documents) == 1 else "the documents above"
    if task == "ask":
        if question is None or not question.strip():
            raise UsageError("the question is empty", hint="give it as the last argument or with -q")
        if focus is not None or length is not None:
            raise UsageError("focus and length belong to a summary, not to a question")
        return (
            f"Answer the question only from {above}; if the answer is not there, say so.{_citing(documents, cite)}"
            f"\n\nQuestion: {question}"
        )
    if question is not None:
        raise UsageError("a summary takes no question", hint="use --focus to say what it should dwell on")
    if length is not None and length < 1:
        raise UsageError(f"a summary of {length} words is not possible", hint="give --length at least 1")
    size = f" in about {length} words" if length is not None else ""
    stress = f" Focus on: {focus.strip()}" if focus is not None and focus.strip() else ""
    return f"Summarize {above}{size}. Use only what is written there.{stress}"
