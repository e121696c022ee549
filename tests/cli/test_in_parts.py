"""`--overflow map-reduce`: documents too long for one prompt are asked part by part, and it is told."""

from __future__ import annotations

import json
import signal

import pytest

from spsl_cli.workflows import in_parts
from tests.cli.run import check_failed, spsl


@pytest.fixture
def book(tmp_path):
    """About 5,000 bytes, and so tokens, for a model with 2,048 positions."""
    path = tmp_path / "book.md"
    chapters = [f"# Chapter {n}\n\n" + f"In chapter {n} a ferry leaves. " * 30 for n in range(1, 6)]
    path.write_text("\n\n".join(chapters), encoding="utf-8")
    return path


@pytest.fixture
def ask(model, book):
    def run(*arguments, new=8):
        return spsl("ask", book, "When?", "--model", model, "--max-new-tokens", new, *arguments)

    return run


def test_without_it_the_choices_are_told(ask):
    check_failed(ask(), 4, "exceed the model's context of 2,048 tokens by", "--overflow map-reduce")


def test_every_part_is_read_and_the_answers_are_merged(ask, book):
    result = ask("--overflow", "map-reduce", "--json")
    assert result.returncode == 0
    answer = json.loads(result.stdout)
    parts = answer["parts"]
    assert len(parts) >= 3
    assert f"answered in {len(parts)} parts" in " ".join(answer["warnings"])
    assert sum(part["usage"]["new_tokens"] for part in parts) < answer["usage"]["new_tokens"]
    assert answer["usage"]["prompt_tokens"] > len(book.read_bytes())
    assert answer["documents"][0]["tokens"] > len(book.read_bytes()) * 0.9
    assert answer["speculation"]["estimated_speedup"] is None
    assert b"part 1 of" not in result.stdout


def test_what_fits_is_not_cut(ask, model, note):
    whole = spsl("ask", note, "When?", "--model", model, "--max-new-tokens", 8, "--json", "--overflow", "map-reduce")
    assert json.loads(whole.stdout)["parts"] is None


def test_parts_that_have_nothing_are_left_out(ask, monkeypatch):
    once, asked = in_parts.answer_once, []

    def answer_once(session, collection, request, begun):
        given = once(session, collection, request, begun)
        asked.append((request.stage, collection.documents))
        text = "Not found." if request.stage == "part" and len(asked) != 2 else given.text
        return type(given)(**{**vars(given), "text": text})

    monkeypatch.setattr(in_parts, "answer_once", answer_once)
    answer = json.loads(ask("--overflow", "map-reduce", "--json").stdout)
    assert {stage for stage, _ in asked} == {"part"}  # one answer needs no merging
    assert answer["answer"] == answer["parts"][1]["answer"]


def test_nothing_found_anywhere_is_the_answer(ask, monkeypatch):
    once = in_parts.answer_once
    monkeypatch.setattr(
        in_parts, "answer_once", lambda *args: type(given := once(*args))(**{**vars(given), "text": "Not found."})
    )
    assert json.loads(ask("--overflow", "map-reduce", "--json").stdout)["answer"] == "Not found."


def test_answers_too_long_for_one_prompt_are_merged_in_levels(ask, monkeypatch):
    once, stages = in_parts.answer_once, []

    def answer_once(session, collection, request, begun):
        given = once(session, collection, request, begun)
        stages.append(request.stage)
        return type(given)(**{**vars(given), "text": "word " * (80 if request.stage == "part" else 4)})

    monkeypatch.setattr(in_parts, "answer_once", answer_once)
    result = ask("--overflow", "map-reduce", "--json")
    assert result.returncode == 0, result.stderr
    assert stages.count("merge") >= 3


def test_ctrl_c_keeps_what_the_parts_have_said(ask, monkeypatch):
    once, asked = in_parts.answer_once, []

    def answer_once(session, collection, request, begun):
        asked.append(request.note)
        if len(asked) == 2:
            signal.raise_signal(signal.SIGINT)
        return once(session, collection, request, begun)

    monkeypatch.setattr(in_parts, "answer_once", answer_once)
    result = ask("--overflow", "map-reduce", "--json")
    assert result.returncode == 130
    answer = json.loads(result.stdout)
    assert answer["finish_reason"] == "interrupted"
    assert [part["finish_reason"] for part in answer["parts"]] == ["length", "interrupted"]
    assert "interrupted after 2 of" in " ".join(answer["warnings"])


@pytest.mark.parametrize("late", [False, True], ids=["before its first token", "after it"])
def test_ctrl_c_while_merging_keeps_the_parts(ask, monkeypatch, late):
    once = in_parts.answer_once

    def answer_once(session, collection, request, begun):
        if request.stage == "merge":
            if not late:
                session.interrupts.allow()
                session.interrupts._deferring = False
            signal.raise_signal(signal.SIGINT)
        return once(session, collection, request, begun)

    monkeypatch.setattr(in_parts, "answer_once", answer_once)
    result = ask("--overflow", "map-reduce", "--json")
    assert result.returncode == 130
    answer = json.loads(result.stdout)
    assert answer["answer"] == "\n\n".join(part["answer"] for part in answer["parts"])


def test_no_room_for_parts_is_the_error_of_before(ask):
    check_failed(ask("--overflow", "map-reduce", new=2000), 4, "no room for parts")


def test_the_setting_has_two_values(ask):
    check_failed(ask("--overflow", "truncate"), 2, "overflow", "error or map-reduce")


@pytest.mark.parametrize("questions", [("When?",), ("-q", "When?", "-q", "Where?")], ids=["one question", "two"])
def test_a_dry_run_counts_the_parts_that_a_run_has(ask, model, book, questions):
    command = ("ask", book, *questions, "--model", model, "--max-new-tokens", 8, "--overflow", "map-reduce", "--json")
    plan = json.loads(spsl(*command, "--dry-run").stdout)
    run = json.loads(spsl(*command).stdout)
    answers = run.get("answers", [run])
    assert plan["usage"]["parts"] == sum(len(answer["parts"]) for answer in answers) >= 3
    assert f"they would be asked in {plan['usage']['parts']} parts" in " ".join(plan["warnings"])
    assert json.loads(ask("--dry-run", "--json").stdout)["usage"]["parts"] == 0  # it would be refused


def test_a_dry_run_knows_that_there_is_no_room_for_parts(ask):
    result = ask("--overflow", "map-reduce", "--dry-run", "--json", new=2000)
    assert result.returncode == 4
    assert b"no room for parts" in result.stderr
    plan = json.loads(result.stdout)
    assert plan["usage"]["parts"] == 0
    assert plan["usage"]["excess"] > 0
