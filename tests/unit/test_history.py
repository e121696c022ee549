"""The history of runs: what is kept, what is not, and what is made of it."""

from __future__ import annotations

import json

import pytest

from spsl_cli import run_history
from spsl_cli.answer import ModelFacts
from spsl_cli.run_history import prefill_rate, without_secrets
from spsl_cli.storage import history

MODEL = ModelFacts("a model", "r1", "float32", "cpu", None)


def entry(tokens, seconds, revision="r1"):
    facts = {"id": "a model", "revision": revision, "dtype": "float32", "device": "cpu", "quantization": None}
    return {"model": facts, "usage": {"prefilled_tokens": tokens}, "timing": {"prefill_s": seconds}}


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(run_history, "cache_root", lambda: tmp_path / "cache")
    return run_history.history_file()


def test_the_newest_comes_first_and_only_its_owner_reads_it(path):
    for number in range(3):
        history.append(path, {"number": number, "text": "ü\n\x1b[31m"})
    assert [each["number"] for each in history.entries(path)] == [2, 1, 0]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes().isascii()
    assert path.read_bytes().count(b"\n") == 3


def test_lines_that_are_no_entries_are_passed_by(path):
    history.append(path, {"number": 1})
    with path.open("ab") as stream:
        stream.write(b"half a li\n[1]\n\xff\n")
    history.append(path, {"number": 2})
    assert [each["number"] for each in history.entries(path)] == [2, 1]


def test_there_may_be_no_history(path):
    assert list(history.entries(path)) == []
    assert prefill_rate(MODEL) is None


def test_the_older_half_goes(path, monkeypatch):
    monkeypatch.setattr(history, "LIMIT", 400)
    for number in range(100):
        history.append(path, {"number": number})
    numbers = [each["number"] for each in history.entries(path)]
    assert numbers[0] == 99
    assert 10 < len(numbers) < 40
    assert numbers == list(range(99, 99 - len(numbers), -1))
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_the_pace_of_the_last_runs(path):
    for each in (entry(1000, 1), entry(1000, 100), entry(1000, 10), entry(100, 1), entry(1000, 0), entry(9000, 90)):
        history.append(path, each)
    history.append(path, entry(9000, 1, revision="r2"))
    history.append(path, {"model": None})
    assert prefill_rate(MODEL) == 100
    for _ in range(5):
        history.append(path, entry(1000, 50))
    assert prefill_rate(MODEL) == 20


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["ask", "a.pdf", "--password", "hunter2", "Why?"], ["ask", "a.pdf", "--password", "...", "Why?"]),
        (["ask", "a.pdf", "--password=hunter2", "Why?"], ["ask", "a.pdf", "--password=...", "Why?"]),
        (["ask", "a.pdf", "Is --password used?"], ["ask", "a.pdf", "Is --password used?"]),
    ],
)
def test_passwords_are_not_remembered(words, kept):
    assert without_secrets(words) == kept


def test_an_entry_is_one_line_of_json(path):
    history.append(path, {"a": [1, {"b": "c"}]})
    assert json.loads(path.read_text()) == {"a": [1, {"b": "c"}]}
