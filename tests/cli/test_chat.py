"""`spsl chat`: questions that follow one another, from a pipe here; a terminal is in test_terminal."""

from __future__ import annotations

import json

import pytest

from spsl_cli.models import load_tokenizer
from tests.cli.run import check_failed, spsl


@pytest.fixture
def chat(model, note):
    def run(lines, *arguments):
        stdin = "".join(f"{line}\n" for line in lines).encode()
        return spsl("chat", note, "--model", model, "--max-new-tokens", 8, *arguments, stdin=stdin)

    return run


def answers(result):
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_every_line_is_answered(chat):
    first, second = answers(chat(["When?", "", "  What does it cost?  "], "--json"))
    assert (first["question"], second["question"]) == ("When?", "What does it cost?")
    assert first["usage"]["cached_tokens"] == 0


def test_the_first_answer_is_that_of_ask(chat, model, note):
    (first,) = answers(chat(["When?"], "--json"))
    alone = json.loads(spsl("ask", note, "When?", "--model", model, "--max-new-tokens", 8, "--json").stdout)
    assert first["token_ids"] == alone["token_ids"]
    assert first["prompt_token_ids"] == alone["prompt_token_ids"]


def test_turns_before_stand_in_the_prompt_and_are_not_read_again(chat, model):
    first, second, third = answers(chat(["When?", "What?", "Why?"], "--json"))
    prompt = load_tokenizer(model).decode(third["prompt_token_ids"])
    assert [prompt.count(word) for word in ("When?", "What?", "Why?")] == [1, 1, 1]
    documents = first["documents"][0]["tokens"]
    assert second["usage"]["cached_tokens"] >= documents
    assert third["usage"]["cached_tokens"] > second["usage"]["cached_tokens"]
    assert third["usage"]["prefilled_tokens"] < second["usage"]["prompt_tokens"] - documents


def test_what_is_used_again_changes_no_token(chat, model, note, monkeypatch):
    """The third turn's tokens, with nothing used again."""
    third = answers(chat(["When?", "What?", "Why?"], "--json"))[2]
    monkeypatch.setattr("spsl_cli.reuse.Reuse.prefix_for", lambda *_: None)
    again = answers(chat(["When?", "What?", "Why?"], "--json"))[2]
    assert again["usage"]["cached_tokens"] == 0
    assert again["token_ids"] == third["token_ids"]


def test_forget_begins_anew(chat):
    first, again = answers(chat(["When?", "/forget", "When?"], "--json"))
    assert again["prompt_token_ids"] == first["prompt_token_ids"]
    assert again["token_ids"] == first["token_ids"]


def test_text_answers_have_a_line_between_them(chat, model, note):
    result = chat(["When?", "What?"])
    assert result.stdout.endswith(b"\n\n")
    alone = spsl("ask", note, "When?", "--model", model, "--max-new-tokens", 8).stdout
    assert result.stdout.startswith(alone + b"\n")


def test_the_conversation_is_saved(chat, tmp_path):
    path = tmp_path / "talk.md"
    result = chat(["When?", f"/save {path}", "/quit", "never asked"])
    assert result.returncode == 0
    text = path.read_text(encoding="utf-8")
    assert "note.txt" in text
    assert "## When?" in text
    assert "never asked" not in text


def test_sources_and_help_go_to_standard_error(chat):
    result = chat(["/sources", "/help"])
    assert result.stdout == b""
    assert "note.txt: 1 page," in result.stderr.decode()
    assert "/forget" in result.stderr.decode()


def test_no_question_is_no_failure(chat):
    assert chat([]).returncode == 0


@pytest.mark.parametrize(("line", "word"), [("/nonsense", "/nonsense"), ("/save", "name of a file")])
def test_in_a_script_a_wrong_line_ends_it(chat, line, word):
    check_failed(chat([line]), 2, word)


def test_an_existing_file_is_not_written_over(chat, note):
    before = note.read_bytes()
    check_failed(chat([f"/save {note}"]), 2, "is there already")
    assert note.read_bytes() == before


def test_a_conversation_that_grows_too_long_says_so(chat):
    result = chat(["x" * 900, "y" * 900, "z" * 900])
    assert result.returncode == 4
    assert "exceed the model's context" in result.stderr.decode()


def test_standard_input_cannot_be_a_document(model):
    check_failed(spsl("chat", "-", "--model", model), 2, "questions")
