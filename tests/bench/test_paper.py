"""The paper's figures beside a report's: which are judged, and that a report of another shape is not confirmed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spsl_cli.bench.paper import PAPER, compare_with_paper
from tests.bench.reports import PHASES, cell, main_cell, report, sweep, system

SUITES = ("main", "generalization", "speculation-length", "context-length", "compression", "batch", "entropy",
          "refresh-cost", "controller-regret")  # fmt: skip


def verdicts(found):
    return {comparison.what: comparison.verdict for comparison in compare_with_paper(found)}


@pytest.mark.parametrize("suite", SUITES)
def test_nothing_measured_is_not_comparable(suite):
    empty = replace(report(suite), cells=())
    comparisons = compare_with_paper(empty)
    assert comparisons
    for comparison in comparisons:
        assert (comparison.ours, comparison.verdict) == (None, "not comparable")
        assert comparison.why
        assert comparison.paper


def test_a_suite_of_no_one_else_has_no_comparisons():
    assert compare_with_paper(report("mine")) == ()


def test_main():
    found = verdicts(report())
    assert found == {
        "speedup over eager attention": "confirmed",
        f"speedup over our plain loop ({PAPER['main speedup'].what})": "not comparable",
        f"acceptance ({PAPER['main acceptance'].what})": "not comparable",
        "accepted a round, against SnapKV": "confirmed",
        "speedup over the plain loop, against SnapKV": "confirmed",
        f"tokens/s ({PAPER['main rate infinitebench'].what})": "not comparable",
    }
    (rate,) = [each for each in compare_with_paper(report()) if each.what.startswith("tokens/s")]
    assert (rate.paper, rate.ours, rate.why) == (14.81, 26.0, "another model and machine")


def test_a_speedup_whose_interval_reaches_1_is_not_confirmed():
    slow = cell("c", [system("ar"), system("sparsespec-l", speedup=0.9, eager=1.02)])
    assert verdicts(report(cells=[slow]))["speedup over eager attention"] == "not confirmed"


def test_generalization():
    cells = [
        cell(task, [system("sparsespec-l", eager=eager, acceptance=rate)], {"task": task})
        for task, eager, rate in (("qa", 1.6, 0.75), ("niah", 2.8, 0.80))
    ]
    both = compare_with_paper(report("generalization", cells))
    assert [each.verdict for each in both] == ["confirmed", "confirmed"]
    assert [each.ours for each in both] == ["1.60 to 2.80", "75.0% to 80.0%"]
    worse = cell("copying", [system("sparsespec-l", eager=0.9, acceptance=0.5)], {"task": "copying"})
    assert {each.verdict for each in compare_with_paper(report("generalization", [*cells, worse]))} == {"not confirmed"}


def lengths(rates, speeds, adaptive=1.5):
    fixed = [
        system(f"fixed-k{k}", speedup=speed, rate=20 * speed, acceptance=rate)
        for k, rate, speed in zip((4, 12, 20), rates, speeds, strict=True)
    ]
    ours = system("sparsespec-l", speedup=adaptive, rate=20 * adaptive, acceptance=0.8)
    return report("speculation-length", [cell("c", [system("ar"), *fixed, ours])])


def test_speculation_length():
    found = verdicts(lengths((0.93, 0.8, 0.68), (1.2, 1.4, 1.3)))
    assert found == {
        "acceptance as k grows": "confirmed",
        "best fixed k (efficiency inversion)": "confirmed",
        "SnapKV: acceptance as k grows": "not comparable",
        "adaptive, as a multiple of the best fixed k": "confirmed",
    }
    other = verdicts(lengths((0.6, 0.7, 0.8), (1.2, 1.4, 1.6)))
    assert set(other.values()) == {"not confirmed", "not comparable"}
    inversion = compare_with_paper(lengths((0.93, 0.8, 0.68), (1.2, 1.4, 1.3)))[1]
    assert inversion.ours == "12, of 4 to 20"


def test_context_length():
    growing = {"sparsespec-l": [(1.0, 1.2, 0.80), (1.1, 1.8, 0.82), (1.3, 2.5, 0.78)],
               "snapkv": [(0.9, 1.0, 0.6), (0.9, 1.2, 0.5), (1.0, 1.4, 0.4)]}  # fmt: skip
    found = verdicts(sweep("context-length", "context", (2000, 8000, 30000), growing))
    assert list(found.values()) == ["confirmed"] * 3
    falling = {"sparsespec-l": [(1.3, 2.5, 0.9), (1.1, 1.8, 0.82), (0.9, 1.2, 0.5)]}
    found = verdicts(sweep("context-length", "context", (2000, 8000, 30000), falling))
    assert list(found.values()) == ["not confirmed", "not confirmed", "not comparable"]


def test_intervals_that_meet_decide_nothing():
    flat = {"sparsespec-l": [(1.0, 1.20, 0.8), (1.0, 1.25, 0.8)]}
    first = compare_with_paper(sweep("context-length", "context", (2000, 8000), flat))[0]
    assert (first.verdict, first.why) == ("not confirmed", "intervals meet")


@pytest.mark.parametrize(("best", "verdict"), [(0.1, "confirmed"), (0.05, "confirmed"), (0.4, "not confirmed")])
def test_compression(best, verdict):
    budgets = (0.05, 0.1, 0.2, 0.4)
    figures = {"sparsespec-l": [(1.5 if share == best else 1.1, 2.0, 0.6 + share) for share in budgets]}
    found = compare_with_paper(sweep("compression", "budget", budgets, figures))
    assert [each.verdict for each in found] == [verdict, "confirmed"]
    assert found[0].ours == f"{100 * best:g}%, of 5% to 40%"
    assert found[1].ours == "65.0% (5%) to 100.0% (40%)"


def test_batch():
    figures = {"sparsespec-l": [(1.0, 2.0, 0.8), (1.2, 2.2, 0.8), (1.5, 2.5, 0.8)],
               "snapkv": [(0.8, 1.0, 0.5), (1.18, 1.2, 0.5), (1.2, 1.2, 0.5)]}  # fmt: skip
    found = verdicts(sweep("batch", "batch", (1, 2, 4), figures))
    assert found["speedup over the plain loop as the batch grows"] == "confirmed"
    assert [found[f"speedup over the plain loop, against SnapKV, batch {size}"] for size in (1, 2, 4)] == [
        "confirmed", "not confirmed", "confirmed"]  # fmt: skip


def bins(low, high):
    return [{"low": 0.0, "high": 1.0, "tokens": 90, "accepted": low},
            {"low": 1.0, "high": 2.0, "tokens": 0, "accepted": 0.0},
            {"low": 2.0, "high": 9.0, "tokens": 40, "accepted": high}]  # fmt: skip


def test_entropy():
    found = compare_with_paper(report("entropy", findings={"auc": 0.7, "bins": bins(0.9, 0.5)}))
    assert [(each.ours, each.verdict) for each in found] == [(0.7, "confirmed"), ("90.0% against 50.0%", "confirmed")]
    found = compare_with_paper(report("entropy", findings={"auc": 0.45, "bins": bins(0.5, 0.6)}))
    assert [each.verdict for each in found] == ["not confirmed", "not confirmed"]


def test_refresh_cost():
    found = compare_with_paper(report("refresh-cost"))
    assert found[0].ours == pytest.approx(1000 * PHASES["refresh"] / 10)
    assert [each.verdict for each in found] == ["not comparable", "confirmed"]
    busy = cell("c", [system("sparsespec-l", phases={**PHASES, "controller": 0.5})])
    assert compare_with_paper(report("refresh-cost", [busy]))[1].verdict == "not confirmed"


def test_controller_regret():
    systems = [system("fixed-k4", speedup=1.2), system("fixed-k10", speedup=1.6, rate=30.0, acceptance=0.6),
               system("sparsespec-l", speedup=1.2, acceptance=0.8)]  # fmt: skip
    lead, rates = compare_with_paper(report("controller-regret", [cell("c", systems)]))
    assert lead.ours == pytest.approx(0.75)
    assert lead.verdict == "not confirmed"
    assert (rates.verdict, rates.ours) == ("confirmed", "80.0% against 60.0%")


def test_shares_are_shares_and_every_figure_has_a_place():
    for figure in PAPER.values():
        assert figure.where
        assert figure.what
        assert figure.unit != "share" or 0 < figure.value < 1
    assert main_cell().systems[-1].unavailable
