"""Tables, CSV and Markdown of a report made by hand, and two reports side by side."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from spsl_cli.bench.report import table
from spsl_cli.bench.report.charts import panels
from spsl_cli.bench.report.compare import compare_reports, pair_rows
from spsl_cli.bench.report.csv import csv_text
from spsl_cli.bench.report.markdown import markdown
from spsl_cli.bench.report.terminal_plots import terminal_text
from tests.bench.reports import COMPARISONS, MACHINE, MODEL, cell, interval, main_cell, report, sweep, system

ROWS = [
    ("ar", "20.0 (19.0-21.0)", "-", "3.30 (3.25-3.35)", "yes", "-", "-", "0.50", "-"),
    ("hf-eager", "6.0 (5.0-7.0)", "-", "-", "yes", "-", "-", "0.50", "-"),
    ("sparsespec-l", "26.0 (25.0-27.0)", "1.30 (1.25-1.35)", "4.30 (4.25-4.35)", "yes", "81.0%", "3.10", "0.50",
     "1,074"),
    ("snapkv", "18.0 (17.0-19.0)", "0.90 (0.85-0.95)", "3.00 (2.95-3.05)", "yes", "62.0%", "1.20", "-", "-"),
    ("streaming", "19.0 (19.0-19.0)", "-", "-", "no, from 17, margin 1e-05", "40.0%", "-", "-", "-"),
]  # fmt: skip


def test_rows_of_a_cell():
    assert table.cell_table(main_cell()) == (table.COLUMNS, ROWS)
    assert table.missing_lines(main_cell()) == ["not run: eagle-3: needs trained weights | name them"]
    title = table.cell_title(replace(main_cell(), noisy=True))
    assert title == ("qa, 2000: 2,000 prompt tokens, 64 new, 3 repeats, prefill 1.5 s; noise hides some effects")
    unsure = cell("c", [system("snapkv", speedup=1.02, noisy=True)])
    columns = ("system", "tokens/s", "speedup over ar", "same tokens")
    assert table.cell_table(unsure) == (columns, [("snapkv", "20.0 (19.0-21.0)", "1.02 (0.97-1.07), noise", "yes")])
    narrow = [("snapkv", "20.0", "1.02 (0.97-1.07)?", "yes")]
    assert table.cell_table(unsure, wide=False) == (("system", "tok/s", "over ar", "same"), narrow)
    assert table.cell_table(main_cell(), wide=False)[1][4][4] == "to 17"
    assert "4 prompts, " in table.cell_title(cell("c", [], batch=4))


def test_what_stands_below_the_cells():
    found = report(comparisons=COMPARISONS, findings={"auc": 0.638, "bins": []}, complete=False)
    assert table.comparison_rows(found) == [
        ("speedup over eager", "2.79", "4.3", "confirmed", "above 1; the size is another machine's")
    ]
    assert table.comparison_lines(found) == [
        "confirmed: speedup over eager: paper 2.79, ours 4.3 (above 1; the size is another machine's)"
    ]
    assert table.summary_lines(found) == [
        "auc: 0.638", "a busy machine", "interrupted: these are the cells that were finished",
        "made by: spsl bench main --quick",
    ]  # fmt: skip
    assert table.headline(found) == "tiny, cpu float32, x86_64, 2 cores, 2026-12-01"
    assert [title for title, _, _ in table.further_tables(found)] == ["Beside the paper", "Where the time goes"]
    assert next(table.phase_rows(found))[2].startswith("draft 27.0%, verify 53.9%")


def test_findings_across_cells():
    bins = [{"low": 0.0, "high": 1.5, "tokens": 1234, "accepted": 0.5}]
    found = report(
        findings={"auc": None, "regret": {"auto": {"qa": 0.125}}, "best fixed": {"qa": "fixed-k4"}, "bins": bins}
    )
    assert list(table.finding_rows(found)) == [
        ("regret", "auto", "qa", "0.125"),
        ("best fixed", "qa", "", "fixed-k4"),
        ("accepted", "1,234 tokens", "0.00-1.50 nats", "50.0%"),
    ]
    assert table.summary_lines(found)[0] == "auc: -"


def test_eq_1_stands_beside_measurements():
    fixed = system("fixed-k4", rate=25.0, speedup=1.25, accepted_length=3.0)
    found = report(cells=[cell("c", [system("ar"), fixed])])
    ((name, which, k, predicted, measured),) = table.prediction_rows(found)
    assert (name, which, k, measured) == ("c", "fixed-k4", "4", "1.25")
    assert float(predicted) == pytest.approx(4 * 0.05 / (4 * 0.025 + 0.22), abs=0.01)


def test_csv_has_a_line_for_each_system():
    found = report(cells=[main_cell(), cell("k, 8", [system("fixed-k8", phases={"draft": 2.0})], {"k": 8})])
    lines = list(csv.DictReader(io.StringIO(csv_text(found))))
    assert [line["system"] for line in lines] == [*(row[0] for row in ROWS), "eagle-3", "fixed-k8"]
    ours = lines[2]
    assert (ours["speedup_low"], ours["speedup_median"], ours["speedup_high"]) == ("1.25", "1.3", "1.35")
    assert (ours["setting_task"], ours["setting_k"], ours["phase_draft_s"]) == ("qa", "", "1.0")
    assert (lines[-1]["setting_k"], lines[-1]["phase_draft_s"], lines[-1]["phase_verify_s"]) == ("8", "2.0", "")
    assert lines[5]["unavailable"] == "needs trained weights | name them"
    assert lines[5]["speedup_median"] == ""
    assert (lines[4]["identical"], lines[4]["noisy"]) == ("False", "False")


def test_markdown_is_a_page_with_a_table_for_each_cell():
    found = report(cells=[main_cell(), main_cell()], comparisons=COMPARISONS)
    text = markdown(found)
    assert text.startswith(
        "# Table 1: systems on one task\n\ntiny, cpu float32, x86\\_64, 2 cores, 2026-12-01\n\n## qa, 2000: "
    )
    assert "| sparsespec-l | 26.0 (25.0-27.0) | 1.30 (1.25-1.35) |" in text
    assert "needs trained weights \\| name them" in text
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert html.count("<table>") == 4
    assert html.count("<tr>") == 2 * (1 + len(ROWS)) + 2 + 5
    assert "| name them" in html


@pytest.mark.parametrize("name", ["a|b", "<b>", "x\n# y", "[l](u)", "`c`"])
def test_names_stay_names_in_markdown(name):
    html = MarkdownIt("commonmark").enable("table").render(markdown(report(cells=[cell("c", [system(name)])])))
    shown = " ".join(name.split()).replace("<", "&lt;").replace(">", "&gt;")
    assert f"<td>{shown}</td>" in html


# ---- two reports -----------------------------------------------------------------------------------------------------


def verdicts(first, second, figure="speedup over ar"):
    return {(pair.cell, pair.system): (pair.verdict, pair.why) for pair in compare_reports(first, second)
            if pair.figure == figure}  # fmt: skip


def one(median, **more):
    return report(cells=[cell("c", [replace(system("sparsespec-l"), speedup=interval(median))])], **more)


def test_reports_agree_where_intervals_meet():
    assert verdicts(one(1.30), one(1.38)) == {("c", "sparsespec-l"): ("agree", "the intervals meet")}
    assert verdicts(one(1.30), one(1.50)) == {("c", "sparsespec-l"): ("differ", "the intervals are apart")}
    (pair,) = [pair for pair in compare_reports(one(1.0), one(1.5)) if pair.figure == "speedup over ar"]
    assert pair.ratio == pytest.approx(1.5)
    assert pair_rows([pair]) == [
        ("c", "sparsespec-l", "speedup over ar", "1.00 (0.95-1.05)", "1.50 (1.45-1.55)", "1.50", "differ",
         "the intervals are apart")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": {**MODEL, "id": "other"}}, "another model (id: tiny, other)"),
        ({"machine": {**MACHINE, "threads": 4}}, "another machine (threads: 2, 4)"),
        ({"suite": "batch"}, "another suite (main, batch)"),
    ],
)
def test_other_models_machines_and_suites_are_not_compared(change, words):
    found = compare_reports(one(1.3), replace(one(1.3), **change))
    assert found
    assert {(pair.verdict, pair.why) for pair in found} == {("not comparable", words)}


def test_cells_and_systems_of_one_report_only():
    first = report(
        cells=[cell("a", [system("x", speedup=1.0), system("y", speedup=1.0)]), cell("b", [system("x", speedup=2.0)])]
    )
    second = report(cells=[cell("a", [system("x", speedup=1.0)]), cell("c", [system("x", speedup=1.0)])])
    assert verdicts(first, second) == {
        ("a", "x"): ("agree", "the intervals meet"),
        ("a", "y"): ("not comparable", "not in the second report"),
        ("b", "x"): ("not comparable", "not in the second report"),
        ("c", "x"): ("not comparable", "not in the first report"),
    }


def test_other_settings_are_other_cells_and_other_lengths_other_figures():
    other = report(cells=[cell("c", one(1.3).cells[0].systems, {"budget": 0.2})])
    assert {verdict for verdict, _ in verdicts(one(1.3), other).values()} == {"not comparable"}
    longer = replace(one(1.3), cells=(replace(one(1.3).cells[0], new_tokens=65),))
    assert verdicts(one(1.3), longer)["c", "sparsespec-l"] == ("not comparable", "other prompts or other lengths")


# ---- bars of characters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("width", [80, 200])
def test_bars_fit_into_the_terminal(width, unicode):
    found = sweep("refresh-cost", "context", (2000, 30000), {"sparsespec-l": [(1.0, 1.2, 0.8), (1.3, 2.5, 0.7)]})
    text = terminal_text([*panels(report()), *panels(found)], width, unicode=unicode)
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii() is not unicode
    assert "sparsespec-l" in text
    assert "paper" in text


def test_bars_are_as_long_as_what_they_show():
    (panel, *_) = panels(report())
    lines = {line.split()[0]: line for line in terminal_text([panel], 80, unicode=False).splitlines()}
    assert lines["sparsespec-l"].count("#") / lines["snapkv"].count("#") == pytest.approx(1.3 / 0.9, rel=0.05)
    assert lines["sparsespec-l"].endswith(" 1.30")


def test_stacks_tell_their_parts_apart():
    stack = panels(report())[-1]
    (line,) = [line for line in terminal_text([stack], 80, unicode=False).splitlines() if line.startswith("snapkv")]
    assert line.count("=") > line.count("#") > line.count("+") > 0


def test_what_may_be_noise_is_marked_beside_its_bar():
    sure, unsure = system("auto", speedup=1.4), replace(system("svip", speedup=1.01), noisy=True)
    (panel, *_) = panels(report(cells=[cell("c", [system("ar"), sure, unsure])]))
    lines = terminal_text([panel], 80, unicode=False).splitlines()
    assert [line.split()[0] for line in lines if line.endswith("?")] == ["svip"]
    assert "  ?: cannot be told from 1" in lines
    (panel, *_) = panels(report(cells=[cell("c", [system("ar"), sure])]))
    assert "?" not in terminal_text([panel], 80, unicode=False)
