"""`--dry-run`: what a run would take, with no model loaded."""

from __future__ import annotations

import json

import pytest

from spsl_cli.models import loading
from tests.cli.run import check_failed, spsl


@pytest.fixture(autouse=True)
def _no_model(monkeypatch):
    """Nothing may load weights."""

    def refuse(*_, **__):
        raise AssertionError("a dry run loads no model")

    monkeypatch.setattr(loading, "load", refuse)
    monkeypatch.setattr("spsl_cli.models.load", refuse)


def plan(*words):
    result = spsl(*words, "--dry-run", "--json")
    assert result.returncode == 0, result.stderr.decode()
    return json.loads(result.stdout)


@pytest.mark.parametrize("words", [("ask", "Why?"), ("summarize",)], ids=["ask", "summarize"])
def test_tokens_and_memory(model, note, words):
    command, *question = words
    found = plan(command, note, *question, "--model", model, "--max-new-tokens", 30)
    assert found["schema"] == "spsl.plan/1"
    assert found["command"] == command
    (document,) = found["documents"]
    assert len(note.read_bytes()) < document["tokens"] < found["usage"]["prompt_tokens"]
    assert found["usage"]["new_tokens"] == 30
    assert found["usage"]["excess"] == 0
    assert found["usage"]["context_length"] == 2048
    memory = found["plan"]
    positions = found["usage"]["prompt_tokens"] + 30
    assert memory["tokens"] == positions
    assert memory["kv"] == positions * 3 * 2 * 2 * 8 * 4  # layers, keys and values, heads, their size, float32
    parts = ("weights", "kv", "draft_view", "importance", "pending", "workspace")
    assert memory["total"] == sum(memory[part] for part in parts)
    assert all(memory[part] > 0 for part in parts)
    assert memory["longest_context"] == 2048
    assert memory["prefill_chunk"] == 512
    assert memory["fits"] is True


def test_the_prompt_is_that_of_the_run(model, note, monkeypatch):
    found = plan("ask", note, "Why?", "--model", model)
    monkeypatch.undo()
    answer = json.loads(spsl("ask", note, "Why?", "--model", model, "--max-new-tokens", 2, "--json").stdout)
    assert found["usage"]["prompt_tokens"] == answer["usage"]["prompt_tokens"]
    assert found["documents"] == answer["documents"]
    assert found["model"] == answer["model"]


def test_of_several_questions_the_longest(model, note):
    words = ("ask", note, "--model", model)
    short = plan(*words, "-q", "Why?")["usage"]["prompt_tokens"]
    both = plan(*words, "-q", "Why?", "-q", "Why, and since when?")["usage"]["prompt_tokens"]
    assert both == short + len(", and since when")


def test_what_does_not_fit_is_told_in_the_object_too(model, note):
    note.write_text("word " * 600)
    result = spsl("ask", note, "Why?", "--model", model, "--dry-run", "--json")
    assert result.returncode == 4
    assert "exceed the model's context of 2,048 tokens" in result.stderr.decode().splitlines()[-1]
    usage = json.loads(result.stdout)["usage"]
    assert usage["excess"] == usage["prompt_tokens"] + 256 - 2048 > 0


def test_nothing_to_read(model, tmp_path):
    result = spsl("ask", tmp_path / "none.txt", "Why?", "--model", model, "--dry-run", "--json")
    assert result.returncode == 3
    found = json.loads(result.stdout)
    assert found["documents"] == []
    assert len(found["skipped"]) == 1
    check_failed(spsl("ask", tmp_path / "none.txt", "Why?", "--model", model, "--dry-run"), 3, "no readable input")


def test_a_skipped_file_is_exit_7(model, note, tmp_path):
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 nothing behind")
    result = spsl("summarize", tmp_path, "--model", model, "--dry-run", "--json")
    assert result.returncode == 7
    assert len(json.loads(result.stdout)["skipped"]) == 1


def test_as_a_table(model, note):
    result = spsl("ask", note, "Why?", "--model", model, "--dry-run")
    assert result.returncode == 0
    text = result.stdout.decode()
    for words in ("note.txt", "new tokens at most", "keys and values", "it fits"):
        assert words in text


def test_what_was_read_before_is_counted(model, tmp_path, monkeypatch):
    book = tmp_path / "book.txt"
    book.write_text("A sentence of the book. " * 40)
    words = ("ask", book, "Why?", "--model", model)
    monkeypatch.undo()  # models may be loaded
    for name, value in {"CACHE": "on", "CACHE_DIR": str(tmp_path / "cache"), "NATIVE": "off"}.items():
        monkeypatch.setenv(f"SPSL_{name}", value)
    assert plan(*words)["usage"]["cached_tokens"] == 0
    answer = spsl("ask", book, "How?", "--model", model, "--max-new-tokens", 2, "--json")
    assert answer.returncode == 0, answer.stderr.decode()
    found = plan(*words)["usage"]
    answer = json.loads(spsl(*words, "--max-new-tokens", 2, "--json").stdout)
    assert found["cached_tokens"] == answer["usage"]["cached_tokens"] > 900
    assert plan(*words, "--no-cache")["usage"]["cached_tokens"] == 0
