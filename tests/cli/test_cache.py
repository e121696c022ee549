"""Documents that were read before: by the command line, in one process and the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import spsl


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.txt"
    lines = (f"Line {i} of the book tells of ship {i * 7 % 100}, which left on day {i * 13 % 31}." for i in range(24))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SPSL_CACHE", "on")
    monkeypatch.setenv("SPSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SPSL_NATIVE", "off")  # what is compiled would be looked for there too


@pytest.fixture
def ask(model, book):
    def call(question, *options):
        questions = question if isinstance(question, tuple) else (question,)
        words = [word for text in questions for word in ("-q", text)]
        result = spsl("ask", book, *words, "--model", model, "--max-new-tokens", 12, "--json", *options)
        assert result.returncode == 0, result.stderr.decode()
        return json.loads(result.stdout), result.stderr.decode()

    return call


def without_times(answer):
    return {key: value for key, value in answer.items() if key not in ("timing", "usage", "speculation", "warnings")}


def stored(tmp_path):
    return list((tmp_path / "cache" / "kv").glob("*"))


def test_a_second_question_in_another_process(ask, tmp_path):
    first, _ = ask("Which ship left on day 3?")
    usage = first["usage"]
    assert usage["cached_tokens"] == 0
    assert usage["prefilled_tokens"] == usage["prompt_tokens"] > 1000
    second, told = ask("What is in line 5?")
    usage = second["usage"]
    assert usage["prefilled_tokens"] < 300
    assert usage["cached_tokens"] + usage["prefilled_tokens"] == usage["prompt_tokens"]
    assert f"{usage['cached_tokens']:,} of {usage['prompt_tokens']:,} prompt tokens were read before" in told
    fresh, _ = ask("What is in line 5?", "--no-cache")
    assert fresh["usage"]["cached_tokens"] == 0
    assert without_times(second) == without_times(fresh)
    assert len(stored(tmp_path)) == 1


def test_several_questions_in_one_process(ask, tmp_path):
    answers, _ = ask(("What is in line 5?", "And in line 6?", "What is in line 5?"))
    first, second, third = answers["answers"]
    assert [bool(one["usage"]["cached_tokens"]) for one in (first, second, third)] == [False, True, True]
    assert without_times(first) == without_times(third)
    alone, _ = ask("And in line 6?", "--no-cache")
    assert without_times(second) == without_times(alone)
    assert len(stored(tmp_path)) == 1


def test_what_follows_a_change_is_read_again(ask, book):
    ask("What is in line 5?")
    text = book.read_text(encoding="utf-8")
    book.write_text(text.replace("Line 20", "Line XX"), encoding="utf-8")
    answer, _ = ask("What is in line 5?")
    assert 512 <= answer["usage"]["cached_tokens"] < answer["usage"]["prompt_tokens"] - 300
    fresh, _ = ask("What is in line 5?", "--no-cache")
    assert without_times(answer) == without_times(fresh)


def test_another_model_does_not_use_it(ask, tmp_path):
    from tests.models import save_chat_model  # noqa: PLC0415

    ask("What is in line 5?")
    other = save_chat_model(tmp_path / "other" / "tiny", seed=4)
    answer, _ = ask("What is in line 5?", "--model", other)
    assert answer["usage"]["cached_tokens"] == 0


def test_a_damaged_store_is_told_and_passed_by(ask, tmp_path):
    want, _ = ask("What is in line 5?")
    (path,) = stored(tmp_path)
    data = bytearray(path.read_bytes())
    data[-5] ^= 8
    path.write_bytes(bytes(data))
    answer, told = ask("What is in line 5?")
    assert "damaged" in told
    assert len(answer["warnings"]) == 1
    assert without_times(answer) == without_times(want)


def test_switched_off_nothing_is_stored(ask, tmp_path, monkeypatch):
    ask("What is in line 5?", "--no-cache")
    monkeypatch.setenv("SPSL_CACHE", "off")
    ask("What is in line 5?")
    assert stored(tmp_path) == []


def test_list_and_clear(ask, tmp_path):
    empty = json.loads(spsl("cache", "list", "--json").stdout)
    assert empty["entries"] == []
    answer, _ = ask("What is in line 5?")
    listed = json.loads(spsl("cache", "list", "--json").stdout)
    (entry,) = listed["entries"]
    assert entry["model"] == answer["model"]["id"]
    assert 1000 < entry["tokens"] < answer["usage"]["prompt_tokens"]
    assert entry["bytes"] == Path(entry["path"]).stat().st_size
    assert entry["model"] in spsl("cache", "list").stdout.decode()
    cleared = spsl("cache", "clear")
    assert cleared.returncode == 0
    assert "removed 1 stored file" in cleared.stderr.decode()
    assert stored(tmp_path) == []


def test_a_run_is_remembered_with_all_it_takes_to_run_it_again(ask, book, model, tmp_path, monkeypatch):
    history = tmp_path / "cache" / "history.jsonl"
    ask("What is in line 5?", "--no-history")
    monkeypatch.setenv("SPSL_HISTORY", "off")
    ask("What is in line 5?")
    assert not history.exists()
    monkeypatch.setenv("SPSL_HISTORY", "on")
    monkeypatch.setattr("sys.argv", ["spsl", "ask", str(book), "What is in line 5?"])
    answer, _ = ask("What is in line 5?")
    entry = json.loads(history.read_text())
    assert entry["words"] == ["ask", str(book), "What is in line 5?"]
    assert entry["folder"] == str(Path.cwd())
    for name in ("answer", "model", "documents", "usage", "question"):
        assert entry[name] == answer[name]
    assert "prompt_token_ids" not in entry
    planned = json.loads(spsl("ask", book, "A new one?", "--no-cache", "--model", model, "--dry-run", "--json").stdout)
    assert planned["timing"]["prefill_s"] is None  # what was read before says nothing of the pace
    ask("What is in line 5?", "--no-cache")
    planned = json.loads(spsl("ask", book, "A new one?", "--no-cache", "--model", model, "--dry-run", "--json").stdout)
    assert planned["timing"]["prefill_s"] > 0
