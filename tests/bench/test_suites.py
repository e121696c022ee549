"""Suites: plans that name what there is, whole reports of a tiny model, what is found in them, and interruptions."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import product

import pytest

from spsl_cli.bench.records import SuiteOptions, report_from_json, report_json
from spsl_cli.bench.suites import running
from spsl_cli.bench.suites.findings import auc, entropy_findings, regret_findings
from spsl_cli.bench.suites.plans import PLANS, plan_of
from spsl_cli.bench.systems.catalogue import CATALOGUE, check_names
from spsl_cli.bench.tasks.catalogue import task_names
from spsl_cli.cli.bench_suites import SUITES
from spsl_cli.config import resolve_settings
from spsl_cli.errors import UsageError
from spsl_cli.events import Notice, Progress
from spsl_cli.session import Session
from tests.bench.reports import cell, system
from tests.models import save_chat_model

SMALL = SuiteOptions(quick=True, repeats=1, contexts=(300,), systems=("ar", "fixed-k2", "auto"), tasks=("writing",))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_chat_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def told():
    return []


@pytest.fixture
def session(model, tmp_path, told):
    settings = resolve_settings({"model": str(model)}, environ={}, file=tmp_path / "none.toml")
    return Session(settings, told.append, baselines=True)


def run(session, told, name="main", **more):
    return running.run_suite(name, session, replace(SMALL, **more), told.append)


@pytest.mark.parametrize("name", PLANS)
def test_plans_name_systems_and_tasks_that_there_are(name):
    plan = plan_of(name)
    check_names(plan.systems)
    assert len(set(plan.systems)) == len(plan.systems)
    assert plan.systems[0] == "ar"
    for form in (plan.quick, plan.full):
        assert set(form.tasks) <= set(task_names())
        assert form.samples >= max(1, *plan.batches)


def test_the_command_line_and_the_plans_have_the_same_suites():
    assert tuple(SUITES) == tuple(PLANS)
    with pytest.raises(UsageError, match="no suite 'mane'"):
        plan_of("mane")


def test_the_main_suite_has_every_system_of_the_catalogue():
    assert {name.rpartition("-k")[0] or name for name in PLANS["main"].systems} == set(CATALOGUE)


def test_a_report_of_a_tiny_model(session, told):
    report = run(session, told)
    (one,) = report.cells
    assert report.complete
    assert one.settings == {"task": "writing", "context": 300}
    assert [each.name for each in one.systems] == ["ar", "fixed-k2", "auto"]
    assert all(each.identical for each in one.systems)
    written = json.dumps(report_json(report))
    assert json.dumps(report_json(report_from_json(json.loads(written)))) == written
    steps = [event for event in told if isinstance(event, Progress) and event.stage == "measure"]
    assert [step.done for step in steps] == list(range(8))  # `ar` once more at last
    assert {step.total for step in steps} == {7}
    assert steps[0].left_s is None
    assert all(step.left_s is not None for step in steps[1:])


@pytest.mark.slow
def test_budgets_and_batches_make_cells_of_their_own(session, told):
    budgets = run(session, told, "compression", systems=("ar", "fixed-k2"))
    assert [each.settings["budget"] for each in budgets.cells] == list(PLANS["compression"].budgets)
    assert [each.systems[1].speculation["budget"] for each in budgets.cells] == list(PLANS["compression"].budgets)
    batches = run(session, told, "batch", systems=("ar", "fixed-k2"))
    assert [each.batch for each in batches.cells] == [1, 2, 4]


def test_contexts_without_room_are_told_and_left_out(session, told):
    report = run(session, told, contexts=(300, 100_000))
    assert [each.settings["context"] for each in report.cells] == [300]
    assert any(isinstance(event, Notice) and "contexts left out: 100,000 tokens" in event.text for event in told)
    with pytest.raises(UsageError, match="no context of this suite fits"):
        run(session, told, contexts=(100_000,))


def test_an_interrupted_suite_goes_on_where_it_stopped(session, told, monkeypatch):
    """The second cell is stopped once; the run after it measures that cell alone."""
    measured, real = [], running.measure_cell

    def measure(one, *arguments):
        measured.append(one.name)
        if len(measured) == 2:
            raise KeyboardInterrupt
        return real(one, *arguments)

    monkeypatch.setattr(running, "measure_cell", measure)
    more = {"tasks": ("writing", "summary")}
    first = run(session, told, **more)
    assert (first.complete, len(first.cells)) == (False, 1)
    second = run(session, told, **more)
    assert (second.complete, len(second.cells)) == (True, 2)
    assert measured == ["writing 300", "summary 300", "summary 300"]
    assert second.cells[0] == first.cells[0]
    assert "1 of 2 cells were measured in an earlier run" in second.notes[0]
    run(session, told, **more)  # the journal is gone: all anew
    assert len(measured) == 5


def test_other_systems_or_lengths_are_not_taken_for_what_was_measured(session, told, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    real = running.measure_cell
    calls = []

    def measure(one, *arguments):
        calls.append(one.name)
        return real(one, *arguments) if len(calls) == 1 else stop()

    monkeypatch.setattr(running, "measure_cell", measure)
    assert not run(session, told, tasks=("writing", "summary")).complete
    monkeypatch.setattr(running, "measure_cell", stop)
    assert run(session, told, tasks=("writing", "summary"), systems=("ar", "fixed-k3")).cells == ()


def test_a_wrong_name_costs_no_time(session, told):
    with pytest.raises(UsageError, match="at most 16 tokens"):
        run(session, told, systems=("ar", "fixed-k99"))
    with pytest.raises(UsageError, match="no task 'cooking'"):
        run(session, told, tasks=("cooking",))


# --- findings


def test_auc_is_the_share_of_pairs_in_the_right_order():
    rng = random.Random(4)
    for _ in range(200):
        tokens = sorted((rng.randint(0, 6), rng.random() < 0.6) for _ in range(rng.randint(1, 12)))
        stood = [nats for nats, accepted in tokens if accepted]
        fell = [nats for nats, accepted in tokens if not accepted]
        pairs = [(a < b) + (a == b) / 2 for a, b in product(stood, fell)]
        assert auc(tokens) == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


def drafts(*judged):
    return {"drafts": [{"accepted": accepted, "entropies": list(entropies)} for accepted, entropies in judged]}


def test_only_tokens_that_were_judged_on_their_own_count():
    """Behind the first that fell nothing is known of the others."""
    one = cell("qa", [system("ar"), system("fixed-k4", speculation=drafts((2, (0.1, 0.2, 3.0, 9.0)), (0, (2.0, 8.0))))])
    found = entropy_findings([one])
    assert found["tokens"] == 4
    assert found["auc"] == 1.0
    assert [part["accepted"] for part in found["bins"]] == [1.0, 1.0, 0.0, 0.0]


def test_drafts_of_a_fixed_length_are_what_counts():
    ends_early = system("sparsespec-l", speculation=drafts((1, (0.5,))))
    fixed = system("fixed-k4", speculation=drafts((0, (2.0,)), (1, (1.0,))))
    assert entropy_findings([cell("qa", [ends_early, fixed])])["tokens"] == 2
    assert entropy_findings([cell("qa", [ends_early])])["tokens"] == 1
    assert entropy_findings([cell("qa", [system("ar")])]) == {}


def test_regret_is_what_is_left_out_of_the_best_fixed_length():
    adaptive = {"controller": "entropy"}
    systems = [system("ar"), system("fixed-k2", speedup=1.1), system("fixed-k8", speedup=1.25),
               system("auto", speedup=1.0, speculation=adaptive), system("svip", speculation=adaptive)]  # fmt: skip
    found = regret_findings([cell("qa", systems)])
    assert found["best fixed"] == {"qa": "fixed-k8"}
    assert found["regret"]["auto"]["qa"] == pytest.approx(0.2)
    assert "svip" not in found["regret"]  # other tokens: no speedup
    assert regret_findings([cell("qa", [system("ar"), system("auto", speedup=1.0, speculation=adaptive)])]) == {}
