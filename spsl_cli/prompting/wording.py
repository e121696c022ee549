"""What is asked for behind the documents, in words short enough for a very small model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from spsl_cli.documents.document import Document
from spsl_cli.errors import UsageError

Task = Literal["ask", "summarize", "instruct"]
"""A question, a summary, or an instruction that stands there as it is."""
Cite = Literal["none", "pages", "quotes"]
Stage = Literal["whole", "part", "merge"]
"""From whole documents, from a part of them, or from what was said of parts."""


def request_text(
    documents: Sequence[Document],
    question: str | None,
    task: Task,
    focus: str | None,
    length: int | None,
    cite: Cite,
    stage: Stage = "whole",
    schema: str | None = None,
) -> str:
    """The request. `schema`: of what JSON the answer is to be. Raises UsageError if it makes no sense."""
    form = "" if schema is None else f" Answer with JSON of this schema: {schema}"
    if task != "summarize":
        if question is None or not question.strip():
            raise UsageError("the question is empty", hint="give it as the last argument or with -q")
        if focus is not None or length is not None:
            raise UsageError("focus and length belong to a summary, not to a question")
        if task == "instruct":
            return f"{question}{form}"
        return f"{_answering(above(documents), stage)}{_citing(documents, cite)}{form}\n\nQuestion: {question}"
    if question is not None:
        raise UsageError("a summary takes no question", hint="use --focus to say what it should dwell on")
    if length is not None and length < 1:
        raise UsageError(f"a summary of {length} words is not possible", hint="give --length at least 1")
    size = f" in about {length} words" if length is not None else ""
    stress = f" Focus on: {focus.strip()}" if focus is not None and focus.strip() else ""
    what = "the summaries above in one summary" if stage == "merge" else above(documents)
    return f"Summarize {what}{size}. Use only what is written there.{stress}{form}"


def above(documents: Sequence[Document]) -> str:
    """What the documents are called, which stand before the request."""
    return "the document above" if len(documents) == 1 else "the documents above"


def _answering(texts: str, stage: Stage) -> str:
    if stage == "part":
        return f"Answer the question only from {texts}; if nothing there answers it, say only: Not found."
    if stage == "merge":
        return (
            "Each text above answers the same question from another part of the documents. "
            "Give one answer from them; if none of them has it, say so."
        )
    return f"Answer the question only from {texts}; if the answer is not there, say so."


def _citing(documents: Sequence[Document], cite: Cite) -> str:
    paged = cite != "none" and any(document.paged for document in documents)
    page = " Name the page in the form [page N]." if paged else ""
    return f' Quote the words that say so, in quotation marks ("...").{page}' if cite == "quotes" else page
