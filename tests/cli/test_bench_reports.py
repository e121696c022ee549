"""`spsl bench show`, `compare`, `theory`, and the suites with a measurement made by hand instead of a run."""

from __future__ import annotations

import csv
import importlib.util
import json
import sys
from dataclasses import replace
from types import ModuleType

import pytest

from spsl_cli.bench.records import report_from_json, report_json
from spsl_cli.bench.shapes import KNOWN
from spsl_cli.cli.bench_suites import SUITES
from spsl_cli.events import Progress
from spsl_cli.render.answer import json_text
from tests.bench.reports import COMPARISONS, cell, interval, report, system
from tests.cli.run import check_failed, spsl, spsl_process
from tests.cli.test_schemas import check

DRAWS = importlib.util.find_spec("matplotlib") is not None
SCHEMA = "spsl.bench.1.schema.json"


def lengths():
    """Drafts of 2 and 8 tokens beside the plain loop, with an entropy suite's findings."""
    fixed = [
        system(f"fixed-k{k}", rate=20 * speedup, speedup=speedup, eager=3.0, acceptance=rate, accepted_length=k * rate,
               speculation={"drafted": 10 * k, "accepted": int(10 * k * rate), "k_histogram": {str(k): 10},
                            "draft_s": 0.1 * k, "verify_s": 0.6})
        for k, speedup, rate in ((2, 1.2, 0.95), (8, 1.1, 0.7))
    ]  # fmt: skip
    return report("speculation-length", [cell("qa, 2000", [system("ar"), *fixed])], comparisons=COMPARISONS)


@pytest.fixture
def saved(tmp_path):
    """Writes a report to a file."""

    def save(found, name="report.json"):
        path = tmp_path / name
        path.write_text(json_text(report_json(found)) + "\n", encoding="utf-8")
        return path

    return save


def stdout(result):
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


# ---- show ------------------------------------------------------------------------------------------------------------


def test_show(saved, tmp_path):
    text = stdout(spsl("bench", "show", saved(report(comparisons=COMPARISONS)), "--csv", tmp_path / "a.csv",
                       "--markdown", tmp_path / "a.md", "--plot", "-"))  # fmt: skip
    assert text.startswith("Table 1: systems on one task\ntiny, cpu float32, x86_64, 2 cores, 2026-12-01\n")
    assert "qa, 2000: 2,000 prompt tokens" in text
    assert "speedup over eager" in text
    assert "made by: spsl bench main --quick" in text
    assert "\u2588" in text
    assert len(list(csv.reader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()))) == 7
    assert (tmp_path / "a.md").read_text(encoding="utf-8").startswith("# Table 1")


@pytest.mark.skipif(not DRAWS, reason="plots are an extra")
def test_show_draws(saved, tmp_path):
    names = [tmp_path / "a.png", tmp_path / "b.svg"]
    stdout(spsl("bench", "show", saved(lengths()), *(word for name in names for word in ("--plot", name))))
    assert names[0].read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in names[1].read_bytes()


def test_an_escape_sequence_in_a_report_does_not_reach_the_terminal(saved):
    hostile = report(cells=[cell("c\x1b[2J", [system("sys\x1b]0;x\x07tem", speedup=1.0)])], notes=("\x1b[31mred",))
    text = stdout(spsl("bench", "show", saved(hostile), "--plot", "-"))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "red" in text


def test_show_says_what_is_wrong_with_a_file(saved, tmp_path):
    path = saved(report())
    check_failed(spsl("bench", "show", tmp_path / "none.json"), 3, "none.json", "No such file")
    check_failed(spsl("bench", "show", tmp_path), 3, "cannot be read")
    cut = tmp_path / "cut.json"
    cut.write_bytes(path.read_bytes()[:-200])
    check_failed(spsl("bench", "show", cut), 3, "cut.json is no JSON", "damaged")
    cut.write_bytes(b"\xff\xfe{}")
    check_failed(spsl("bench", "show", cut), 3, "cut.json")
    cut.write_text("[" * 100_000, encoding="utf-8")
    check_failed(spsl("bench", "show", cut), 3, "cut.json")
    for content, words in (
        ({"schema": "spsl.answer/1"}, "no report of a suite"),
        ({"schema": "spsl.bench/1", "systems": []}, "single measurement"),
        ({**report_json(report()), "cells": [3]}, "cells[0] is 3"),
        ([], "no report of a suite"),
    ):
        cut.write_text(json.dumps(content), encoding="utf-8")
        check_failed(spsl("bench", "show", cut), 2, "cut.json", words)


def test_files_are_checked_before_anything_is_done(saved, tmp_path):
    path = saved(report())
    check_failed(spsl("bench", "show", path, "--csv", tmp_path / "no" / "a.csv"), 2, "--csv", "no folder")
    check_failed(spsl("bench", "show", path, "--markdown", tmp_path), 2, "--markdown")
    check_failed(spsl("bench", "show", path, "--plot", tmp_path / "a.jpeg"), 2, "--plot", ".png or .svg")


def test_without_matplotlib_the_extra_is_named(saved, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    check_failed(spsl("bench", "show", saved(report()), "--plot", tmp_path / "a.png"), 2, "spsl[plots]")


# ---- compare ---------------------------------------------------------------------------------------------------------


def test_compare(saved):
    slower = replace(system("sparsespec-l", rate=26.0), speedup=interval(1.0))
    changed = report(cells=[replace(report().cells[0], systems=(system("ar"), slower))])
    text = stdout(spsl("bench", "compare", saved(report()), saved(changed, "b.json")))
    assert "Of 10 figures: 2 agree, 1 differ, 7 not comparable." in text
    (line,) = [line for line in text.splitlines() if "intervals are apart" in line]
    assert line.split()[:3] == ["qa,", "2000", "sparsespec-l"]
    assert "0.77" in line
    check_failed(spsl("bench", "compare", saved(report())), 2, "FILE", "spsl bench compare --help")


# ---- theory ----------------------------------------------------------------------------------------------------------


def test_theory():
    options = ("--model", "llama-3.1-8b", "--context", 131_072, "--batch", 4, "--alpha", 0.95)
    text = stdout(spsl("bench", "theory", *options, "--plot", "-"))
    (best,) = [line.split() for line in text.splitlines() if line.endswith("k*")]
    assert float(best[3]) == pytest.approx(2.39, abs=0.03)
    (turn,) = [line.split() for line in text.splitlines() if line.endswith("  inversion")]
    assert int(turn[0]) == int(best[0]) + 1
    assert f"k* = {best[0]}: {best[3]}x; from k = {turn[0]} on longer drafts lose." in text
    assert text.count("\u2588") > 100


def test_theory_of_a_model_on_this_machine(model):
    text = stdout(spsl("bench", "theory", "--model", model, "--context", 2000, "--bits", "32"))
    assert "32 bits a weight, 2,000 tokens" in text


def test_theory_from_a_report(saved):
    text = stdout(spsl("bench", "theory", "--report", saved(lengths())))
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()[:1].isdigit()}
    assert text.startswith("qa, 2000: costs measured with k = 2, 8, alpha 0.9")
    assert (lines["2"][-1], lines["8"][-1], lines["3"][-1]) == ("1.20", "1.10", "-")
    check_failed(spsl("bench", "theory", "--report", saved(report())), 2, "no drafts of fixed length")


def test_theory_refuses_what_has_no_meaning():
    check_failed(spsl("bench", "theory", "--model", "no-such-model"), 5, "no-such-model", next(iter(KNOWN)))
    check_failed(spsl("bench", "theory", "--bits", "5"), 2, "5 bits")
    check_failed(spsl("bench", "theory", "--budget", "much"), 2, "'much' is not understood")
    check_failed(spsl("bench", "theory", "--budget", "1.5"), 2, "at most 1.0")
    check_failed(spsl("bench", "theory", "--alpha", "2"), 2, "--alpha")


# ---- suites ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def measured(monkeypatch):
    """Suites give the report set here; notes what they were asked for."""
    asked = []

    def run_suite(name, session, options, tell):
        tell(Progress("measure", 1, 2, "cells", 0.5))
        asked.append((name, session.settings, options))
        return replace(given["report"], suite=name)

    given = {"report": lengths(), "asked": asked}
    module = ModuleType("spsl_cli.bench.suites")
    module.run_suite = run_suite
    monkeypatch.setitem(sys.modules, "spsl_cli.bench.suites", module)
    return given


@pytest.mark.parametrize("suite", SUITES)
def test_every_suite_is_a_command(measured, suite):
    content = json.loads(stdout(spsl("bench", suite, "--quick", "--json", "-")))
    assert content["suite"] == suite
    (asked,) = measured["asked"]
    assert asked[0] == suite
    assert asked[2].quick
    assert asked[2].repeats is None
    text = stdout(spsl("bench", suite, "--help"))
    assert f"Example: spsl bench {suite} --quick" in text
    assert "--budget" in text
    assert not [option for option in ("--temperature", "--top-k", "--controller", "[[") if option in text]
    assert suite in stdout(spsl("bench", "--help"))


def test_options_of_a_suite(measured, tmp_path):
    text = stdout(spsl("bench", "main", "--repeats", 5, "--context", 2000, "--context", 8000, "--systems", "ar,snapkv",
                       "--systems", "fixed-k4", "--task", "qa", "--data", "x.txt", "--budget", 0.2, "-o",
                       tmp_path / "r.json", "--csv", tmp_path / "r.csv", "--markdown", tmp_path / "r.md"))  # fmt: skip
    (_, settings, options) = measured["asked"][0]
    assert settings.budget == 0.2
    assert options.repeats == 5
    assert options.contexts == (2000, 8000)
    assert options.systems == ("ar", "snapkv", "fixed-k4")
    assert (options.tasks, options.data) == (("qa",), ("x.txt",))
    assert "Eq. 1 beside the measurements" in text
    kept = report_from_json(json.loads((tmp_path / "r.json").read_text(encoding="utf-8")))
    assert kept == replace(measured["report"], suite="main")
    assert (tmp_path / "r.csv").exists()
    assert (tmp_path / "r.md").exists()


def test_the_last_line_is_one_object(measured, tmp_path):
    result = spsl("bench", "batch", "--json", "-", "--csv", tmp_path / "r.csv")
    (line,) = stdout(result).splitlines()
    assert json.loads(line)["schema"] == "spsl.bench/1"


def test_what_was_finished_is_written_though_interrupted(measured, tmp_path):
    measured["report"] = replace(lengths(), complete=False)
    result = spsl("bench", "main", "--json", "-o", tmp_path / "r.json")
    assert result.returncode == 130
    assert json.loads(result.stdout)["complete"] is False
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["cells"]


def test_nothing_was_finished(measured, tmp_path):
    measured["report"] = replace(lengths(), cells=(), complete=False)
    plot = ("--plot", tmp_path / "r.png") if DRAWS else ()
    result = spsl("bench", "main", "--markdown", tmp_path / "r.md", *plot)
    assert result.returncode == 130
    assert "interrupted" in result.stdout.decode()
    assert ("nothing to plot" in result.stderr.decode()) is DRAWS
    assert [path.name for path in tmp_path.iterdir()] == ["r.md"]


def test_a_file_that_cannot_be_written_leaves_standard_output_empty(measured, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    check_failed(spsl("bench", "main", "--csv", tmp_path / "r.csv"), 1, "No space left")
    assert measured["asked"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("measured")
def test_what_a_suite_does_not_take(tmp_path):
    check_failed(spsl("bench", "main", "x.txt"), 2, "--data")
    check_failed(spsl("bench", "main", "-"), 2, "--data")
    for option in (("--k", "4"), ("--index", "snapkv"), ("--no-speculation",), ("--temperature", "1")):
        check_failed(spsl("bench", "main", *option), 2, "decides", option[0].replace("no-", ""))
    check_failed(spsl("bench", "main", "--repeats", "0"), 2, "--repeats", "spsl bench main --help")
    check_failed(spsl("bench", "main", "--plot", "-", "--json"), 2, "--plot")
    check_failed(spsl("bench", "main", "-o", tmp_path / "no" / "r.json"), 2, "no folder")


FINDINGS = {
    "auc": 0.6,
    "tokens": 7,
    "regret": {"auto": {"qa": 0.1}},
    "best fixed": {"qa": "fixed-k4"},
    "bins": [{"low": 0.0, "high": 1.5, "tokens": 7, "accepted": 0.5}],
}


@pytest.mark.parametrize(
    "found", [lengths(), report(comparisons=COMPARISONS, findings=FINDINGS)], ids=["lengths", "main"]
)
def test_a_report_is_what_is_published(found):
    check(json.loads(json_text(report_json(found))), SCHEMA)


def test_completion_knows_suites_and_options():
    for words, found in (
        ("spsl bench ma", "main"),
        ("spsl bench --comp", "--compare-ar"),
        ("spsl bench main --qu", "--quick"),
    ):
        answer = spsl_process(_SPSL_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(words.count(" ")))
        assert found in answer.stdout.decode().split()


def test_a_document_that_is_called_like_a_suite(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main").write_text("The ferry leaves at nine.\n", encoding="utf-8")
    result = spsl("bench", "./main", "--model", model, "--max-new-tokens", 4, "--repeats", 1, "--json")
    assert json.loads(stdout(result))["documents"][0]["path"].endswith("main")
