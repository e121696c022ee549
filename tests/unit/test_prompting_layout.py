"""What a prompt looks like: documents first, marks that can be cited, the question last, a prefix that is shared."""

from __future__ import annotations

from itertools import takewhile

import pytest

from spsl_cli.documents.document import Document, Page
from spsl_cli.errors import NoReadableInputError, UsageError
from spsl_cli.prompting.layout import DEFAULT_SYSTEM, build_prompt, page_marks
from spsl_cli.prompting.template import NO_SYSTEM_ROLE, NO_TEMPLATE
from tests.unit.test_prompting_template import CHATML, REFUSES
from tests.unit.test_prompting_tokenizers import byte_level

PDF = Document(
    "in/report.pdf",
    "0",
    "application/pdf",
    (Page(1, "Preface.", "iv"), Page(2, "Sales rose.", "1"), Page(3, "", "2")),
)
NOTES = Document("in/notes.txt", "1", "text/plain", (Page(1, "one\n\ntwo\n"),))


def pdf(*labels: str | None) -> Document:
    pages = tuple(Page(number, "text", label) for number, label in enumerate(labels, start=1))
    return Document("a.pdf", "0", "application/pdf", pages)


def test_a_whole_prompt_reads_as_it_should() -> None:
    tokenizer = byte_level(chat_template=CHATML)
    prompt = build_prompt(tokenizer, [PDF, NOTES], "Did sales rise?")
    assert tokenizer.decode(prompt.ids) == (
        f"<|start|>system\n{DEFAULT_SYSTEM}<|end|>\n<|start|>user\n"
        "Document 1: report.pdf\n[page iv]\nPreface.\n[page 1]\nSales rose.\n[page 2]\n\n\n"
        "Document 2: notes.txt\none\n\ntwo\n\n\n"
        "Answer the question only from the documents above; if the answer is not there, say so."
        " Name the page in the form [page N].\n\nQuestion: Did sales rise?<|end|>\n<|start|>assistant\n"
    )
    assert (prompt.question, prompt.notes) == ("Did sales rise?", ())


def test_spans_are_the_documents_and_end_where_the_shared_part_ends() -> None:
    tokenizer = byte_level(chat_template=CHATML)
    prompt = build_prompt(tokenizer, [PDF, NOTES], "Why?")
    first, second = (tokenizer.decode(prompt.ids[start:end]) for start, end in prompt.spans)
    assert first.startswith("Document 1: report.pdf\n")
    assert second == "Document 2: notes.txt\none\n\ntwo\n\n\n"
    assert prompt.spans[0][1] == prompt.spans[1][0]
    assert prompt.spans[1][1] == prompt.documents_end
    assert prompt.document_tokens == tuple(end - start for start, end in prompt.spans)


@pytest.mark.parametrize("source", [CHATML, REFUSES, None])
def test_everything_before_documents_end_is_shared_and_no_more_between_tasks(source: str | None) -> None:
    tokenizer = byte_level(chat_template=source)
    documents = [PDF, NOTES]
    prompts = [
        build_prompt(tokenizer, documents, "Did sales rise?"),
        build_prompt(tokenizer, documents, "  \n漢字 <|end|>"),
        build_prompt(tokenizer, documents, None, task="summarize"),
        build_prompt(tokenizer, documents, None, task="summarize", focus="sales", length=80),
    ]
    assert len({prompt.documents_end for prompt in prompts}) == 1
    assert len({prompt.spans for prompt in prompts}) == 1
    columns = zip(*(prompt.ids for prompt in prompts), strict=False)
    shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
    assert shared == prompts[0].documents_end
    assert prompts[0].ids != prompts[1].ids


def test_a_further_document_leaves_those_before_it_as_they_were() -> None:
    tokenizer = byte_level(chat_template=CHATML)
    one, two = (build_prompt(tokenizer, documents, "Why?") for documents in ([PDF], [PDF, NOTES]))
    assert two.ids[: one.documents_end] == one.ids[: one.documents_end]


def test_kinds_without_pages_get_no_marks_and_no_word_about_pages() -> None:
    tokenizer = byte_level(chat_template=CHATML)
    assert "[page" not in tokenizer.decode(build_prompt(tokenizer, [NOTES], "Why?").ids)


def test_a_summary_is_asked_for_with_its_length_and_focus() -> None:
    tokenizer = byte_level(chat_template=CHATML)
    plain = build_prompt(tokenizer, [NOTES], None, task="summarize")
    full = build_prompt(tokenizer, [NOTES, PDF], None, task="summarize", focus=" sales ", length=80)
    assert "\n\nSummarize the document above. Use only" in tokenizer.decode(plain.ids)
    text = tokenizer.decode(full.ids[full.documents_end :])
    assert text.startswith("Summarize the documents above in about 80 words. Use only")
    assert " Focus on: sales<|end|>" in text
    assert full.question is None


@pytest.mark.parametrize(("task", "question", "cue"), [("ask", "Why?", "Answer:"), ("summarize", None, "Summary:")])
def test_a_model_without_chat_template_gets_plain_text_and_a_note(task: str, question: str | None, cue: str) -> None:
    tokenizer = byte_level()
    prompt = build_prompt(tokenizer, [NOTES], question, task=task, system="Be brief.")  # type: ignore[arg-type]
    text = tokenizer.decode(prompt.ids)
    assert text.startswith("Be brief.\n\nDocument 1: notes.txt\n")
    assert text.endswith(cue)
    assert prompt.notes == (NO_TEMPLATE,)


def test_a_refused_system_text_opens_the_content_and_is_told() -> None:
    tokenizer = byte_level(chat_template=REFUSES)
    prompt = build_prompt(tokenizer, [NOTES], "Why?", system="Be brief.")
    assert tokenizer.decode(prompt.ids).startswith("<|start|>Be brief.\n\nDocument 1: notes.txt\n")
    assert prompt.notes == (NO_SYSTEM_ROLE,)
    assert build_prompt(tokenizer, [NOTES], "Why?", system="").notes == ()


@pytest.mark.parametrize(
    ("labels", "marks"),
    [
        ((None, None), ("[page 1]", "[page 2]")),
        (("i", "ii", "1"), ("[page i]", "[page ii]", "[page 1]")),
        (("1", "1", "2"), ("[page 1]", "[page 2]", "[page 3]")),
        (("2", None), ("[page 1]", "[page 2]")),
        (("", "  "), ("[page 1]", "[page 2]")),
        (("1]\n[page 9", "x" * 17), ("[page 1]", "[page 2]")),
        (("A-1", "A-2"), ("[page A-1]", "[page A-2]")),
    ],
)
def test_each_page_has_a_mark_of_its_own(labels: tuple[str | None, ...], marks: tuple[str, ...]) -> None:
    assert page_marks(pdf(*labels)) == marks


def test_files_of_the_same_name_are_told_apart_by_their_path() -> None:
    tokenizer = byte_level(chat_template=CHATML)
    documents = [
        Document(path, str(number), "text/plain", (Page(1, "text"),))
        for number, path in enumerate(("a/readme.md", "b/readme.md", "b/other.md"))
    ]
    text = tokenizer.decode(build_prompt(tokenizer, documents, "Why?").ids)
    names = [line.partition(": ")[2] for line in text.splitlines() if line.startswith("Document")]
    assert names == ["a/readme.md", "b/readme.md", "other.md"]


@pytest.mark.parametrize(
    ("task", "question", "options", "reason"),
    [
        ("ask", None, {}, "question is empty"),
        ("ask", " \n", {}, "question is empty"),
        ("ask", "Why?", {"length": 5}, "belong to a summary"),
        ("ask", "Why?", {"focus": "x"}, "belong to a summary"),
        ("summarize", "Why?", {}, "takes no question"),
        ("summarize", None, {"length": 0}, "0 words"),
    ],
)
def test_requests_without_meaning_are_refused(task: str, question: str | None, options: dict, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        build_prompt(byte_level(), [NOTES], question, task=task, **options)  # type: ignore[arg-type]


def test_no_documents_is_no_prompt() -> None:
    with pytest.raises(NoReadableInputError):
        build_prompt(byte_level(), [], "Why?")
