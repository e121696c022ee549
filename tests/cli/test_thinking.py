"""A reasoning model's thinking: in the JSON, not in the answer; shown where that is wanted."""

from __future__ import annotations

import json

import pytest

from spsl_cli.narration import Narrator
from tests.cli.run import spsl


@pytest.fixture
def ask(model, note, monkeypatch):
    monkeypatch.setattr(Narrator, "thinking", property(lambda _: "\nLet me see.\n"))

    def run(*arguments):
        return spsl("ask", note, "Why?", "--model", model, "--max-new-tokens", 4, *arguments)

    return run


def test_it_is_no_part_of_the_answer(ask):
    answer = json.loads(ask("--json").stdout)
    assert answer["thinking"] == "Let me see."
    assert "Let me see" not in answer["answer"]
    assert b"Let me see" not in ask().stdout


def test_it_is_shown_before_the_answer(ask):
    assert ask("--show-thinking").stdout.startswith(b"<think>\nLet me see.\n</think>\n\n")


def test_an_answer_that_ended_within_it_is_told(ask, monkeypatch):
    monkeypatch.setattr(Narrator, "thinking_open", property(lambda _: True))
    assert "while the model was thinking" in ask().stderr.decode()


def test_models_that_do_not_think_have_none(model, note):
    result = spsl("ask", note, "Why?", "--model", model, "--max-new-tokens", 4, "--json", "--show-thinking")
    assert json.loads(result.stdout)["thinking"] is None
