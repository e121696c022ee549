"""Samples become prompts as `ask` would build them, all of a batch in one run, and outputs become text again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spsl_cli.bench.cell import Cell, measure_cell
from spsl_cli.bench.prompts import SessionPrompts
from spsl_cli.bench.tasks.base import Sample
from spsl_cli.config import resolve_settings
from spsl_cli.errors import PromptTooLongError
from spsl_cli.events import Progress
from spsl_cli.session import Session
from tests.models import byte_tokenizer, save_chat_model

NEW = 8


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_chat_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def session(model, tmp_path):
    settings = resolve_settings({"model": str(model)}, environ={}, file=tmp_path / "none.toml")
    return Session(settings, [].append, baselines=True)


def samples(*texts):
    return tuple(Sample("made", number, text, f"What is said in {number}?") for number, text in enumerate(texts))


def test_rows_hold_their_own_text_and_question_and_have_the_room_that_is_wanted(session):
    run = SessionPrompts(session).prefilled(samples("A ticket costs four crowns.", "It rains."), NEW)
    tokenizer = byte_tokenizer()
    first, second = (tokenizer.decode(request.prompt_ids) for request in run.requests)
    assert "A ticket costs four crowns." in first
    assert "What is said in 0?" in first
    assert "It rains." in second
    assert "What is said in 1?" in second
    assert run.cache.lengths == [len(request.prompt_ids) for request in run.requests]
    assert [output.max_new_tokens for output in run.outputs] == [NEW, NEW]


def test_tokens_become_text_without_the_one_that_ends_it(session):
    prompts = SessionPrompts(session)
    prompts.prefilled(samples("a", "b"), NEW)
    ids = byte_tokenizer()("four crowns", add_special_tokens=False)["input_ids"]
    assert prompts.answers([[*ids, 257], ids[:4]]) == ["four crowns", "four"]


def test_what_does_not_fit_is_refused_and_not_cut(session):
    with pytest.raises(PromptTooLongError, match="exceed the model's context"):
        SessionPrompts(session).prefilled(samples("x" * 4000), NEW)
    with pytest.raises(PromptTooLongError):  # nor are there fewer new tokens than the task calls for
        SessionPrompts(session).prefilled(samples("x" * 1500), 600)


def test_a_cell_of_a_session(session):
    texts = samples("A ticket costs four crowns. " * 8, "It rains. " * 20)
    plan = Cell("made", {}, texts, ("ar", "hf-eager", "hf-sdpa", "fixed-k2"), NEW, repeats=1)
    found = measure_cell(plan, SessionPrompts(session), lambda *_: None)
    assert all(system.identical for system in found.systems)
    assert found.system("hf-sdpa").speedup is not None
    told = [event for event in session.report.__self__ if isinstance(event, Progress)]
    assert sum(event.stage == "prefill" for event in told) >= 2


def test_each_task_is_worded_as_what_it_is(session):
    """A summary as `summarize` words it; an instruction as it is, without the rules for answering a question."""
    wanted = (
        Sample("asked", 0, "It rains.", "Does it rain?"),
        Sample("told", 1, "It rains.", "Write a story.", wording="instruct"),
        Sample("summed up", 2, "It rains.", "", wording="summarize"),
    )
    run = SessionPrompts(session).prefilled(wanted, NEW)
    asked, told, summed_up = (byte_tokenizer().decode(request.prompt_ids) for request in run.requests)
    assert "Question: Does it rain?" in asked
    assert "Write a story." in told
    assert "Question:" not in told
    assert "only from" not in told
    assert "Summarize the document above" in summed_up


def test_the_same_samples_are_prefilled_once_and_others_anew(session):
    prompts = SessionPrompts(session)
    first = prompts.prefilled(samples("It rains."), NEW)
    assert prompts.prefilled(samples("It rains."), NEW) is first
    assert prompts.prefilled(samples("It rains."), NEW + 1) is not first
    assert prompts.prefilled(samples("It snows."), NEW + 1) is not first


def test_a_budget_decodes_the_same_behind_another_ones_cell(session):
    texts = samples("A ticket costs four crowns. " * 8)
    plans = [
        Cell(f"budget {budget}", {"budget": budget}, texts, ("ar", "fixed-k2", "snapkv-k2"), NEW, repeats=1,
             config=replace(session.config, budget=budget))
        for budget in (0.4, 0.05)
    ]  # fmt: skip
    behind = SessionPrompts(session)
    together = [measure_cell(plan, behind, lambda *_: None) for plan in plans]
    alone = [measure_cell(plan, SessionPrompts(session), lambda *_: None) for plan in plans]
    for one, other in zip(together, alone, strict=True):
        assert [system.identical for system in one.systems] == [True] * 3
        assert [system.acceptance for system in one.systems] == [system.acceptance for system in other.systems]
        assert one.prefill_s > 0
