"""What is drawn: panels by suite, axes with units, legends, the paper's figures; files of either format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="plots are an extra")

from spsl_cli.bench.report.charts import panels, theory_panel
from spsl_cli.bench.report.plots import check_plot_file, draw, plot_bytes
from spsl_cli.bench.theory import Costs, make_curve
from spsl_cli.errors import UsageError
from tests.bench.reports import PHASES, cell, report, sweep, system

OURS = {"sparsespec-l": [(1.0, 1.2, 0.80), (1.1, 1.8, 0.82), (1.3, 2.5, 0.78)],
        "snapkv": [(0.9, 1.0, 0.6), (0.9, 1.2, 0.5), (1.0, 1.4, 0.4)]}  # fmt: skip
BINS = [
    {"low": 0.0, "high": 0.5, "tokens": 90, "accepted": 0.9},
    {"low": 0.5, "high": 2.0, "tokens": 9, "accepted": 0.5},
]


def axes_of(found):
    """Title -> axes and the labels of its legend."""
    figure = draw(panels(found), "title")
    drawn = {}
    for part in figure.subfigs:
        if part.axes:
            labels = [text.get_text() for legend in part.legends for text in legend.get_texts()]
            drawn[part.axes[0].get_title()] = (part.axes[0], labels)
    return drawn


def curves(axes):
    """Lines with a marker for every point; lines across have none."""
    return [line for line in axes.get_lines() if line.get_marker() not in ("None", "", None, "_", "|")]


def lengths():
    fixed = [system(f"{base}-k{k}", rate=20.0, speedup=1.5 - k / 50, acceptance=0.95 - k / 50, phases=PHASES,
                    by_position=(0.9,) * k) for base in ("fixed", "snapkv") for k in (4, 12, 20)]  # fmt: skip
    ours = system("sparsespec-l", speedup=1.6, acceptance=0.8, by_position=(0.9, 0.8), phases=PHASES)
    return report("speculation-length", [cell("c", [system("ar"), *fixed, ours])])


def test_speculation_length():
    drawn = axes_of(lengths())
    assert list(drawn) == [
        "speedup over ar", "acceptance", "acceptance by position in the draft", "where the time goes",
    ]  # fmt: skip
    speedup, labels = drawn["speedup over ar"]
    assert (speedup.get_xlabel(), speedup.get_ylabel()) == ("draft length k (tokens)", "speedup (x)")
    assert set(labels) == {"fixed", "snapkv", "1: as fast", "1.6: sparsespec-l, adaptive", "paper: best fixed k",
                           "paper: SnapKV"}  # fmt: skip
    assert [list(line.get_xdata()) for line in curves(speedup)] == [[4, 12, 20], [4, 12, 20], [12], [2, 16]]
    acceptance, labels = drawn["acceptance"]
    assert list(curves(acceptance)[0].get_ydata()) == pytest.approx([0.87, 0.71, 0.55])
    assert [label for label in labels if label.startswith("paper")] == ["paper: fixed", "paper: SnapKV"]
    assert acceptance.get_ylim() == (0, 1.05)
    positions, labels = drawn["acceptance by position in the draft"]
    assert labels == ["fixed-k20", "snapkv-k20", "sparsespec-l"]
    assert len(curves(positions)) == 3
    time, labels = drawn["where the time goes"]
    assert labels == list(PHASES)
    assert time.get_ylabel() == "time a new token (ms)"
    assert len(time.patches) == 7 * len(PHASES)


@pytest.mark.parametrize(
    ("suite", "axis", "values", "label", "titles"),
    [
        ("context-length", "context", (2000, 8000, 30000), "context (tokens)",
         ["speedup over eager attention", "speedup over ar", "acceptance"]),
        ("compression", "budget", (0.05, 0.1, 0.2), "budget (% of the positions)", ["speedup over ar", "acceptance"]),
        ("batch", "batch", (1, 2, 4), "batch (prompts)", ["speedup over ar", "acceptance"]),
    ],
)  # fmt: skip
def test_sweeps(suite, axis, values, label, titles):
    drawn = axes_of(sweep(suite, axis, values, OURS))
    assert list(drawn) == [*titles, "where the time goes"]
    for title in titles:
        axes, labels = drawn[title]
        assert axes.get_xlabel() == label
        assert {"sparsespec-l", "snapkv"} <= set(labels)
        expected = [100 * value for value in values] if axis == "budget" else list(values)
        assert list(curves(axes)[0].get_xdata()) == pytest.approx(expected)
    told = [text for _, labels in drawn.values() for text in labels]
    assert any("paper" in text for text in told)


def test_lines_differ_without_colour():
    axes, _ = axes_of(lengths())["speedup over ar"]
    styles = [(line.get_marker(), line.get_linestyle()) for line in curves(axes)]
    assert len(set(styles)) == len(styles)


def test_main_and_intervals():
    drawn = axes_of(report())
    assert list(drawn)[:2] == ["speedup over ar", "speedup over eager attention"]
    axes, labels = drawn["speedup over ar"]
    assert [bar.get_height() for bar in axes.patches] == [1.3, 0.9]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["sparsespec-l", "snapkv"]
    (errors,) = [container for container in axes.containers if hasattr(container, "has_yerr")]
    assert errors.has_yerr
    assert labels == ["1: as fast"]
    assert any("2.79" in label for label in drawn["speedup over eager attention"][1])


def test_entropy():
    drawn = axes_of(report("entropy", findings={"auc": 0.7, "bins": BINS}))
    axes, labels = drawn["acceptance by draft entropy"]
    assert "nats" in axes.get_xlabel()
    assert [bar.get_height() for bar in axes.patches] == [0.9, 0.5]
    assert len(labels) == 2
    assert "AUC 0.700 (paper 0.638)" in [text.get_text() for text in axes.texts]


def test_refresh_cost():
    drawn = axes_of(sweep("refresh-cost", "context", (2000, 8000, 30000), OURS))
    axes, labels = drawn["refresh of the index"]
    assert axes.get_ylabel() == "time a round (ms)"
    assert list(curves(axes)[0].get_ydata()) == [50.0, 50.0, 50.0]
    assert any("41.1 ms" in label for label in labels)
    assert len(drawn["where the time goes"][0].get_xticklabels()) == 6


def test_theory():
    found = make_curve(Costs(1.0, 0.3, ((0, 1.0),)), 0.9)
    figure = draw([theory_panel(found, "Eq. 1")], "title")
    (axes,) = figure.subfigs[0].axes
    assert len(curves(axes)[0].get_xdata()) == len(found.points)
    labels = [text.get_text() for text in figure.subfigs[0].legends[0].get_texts()]
    assert any(label.startswith(f"k* = {found.best.k}") for label in labels)
    assert f"inversion from k = {found.best.k + 1}" in labels


def test_tasks_are_told_apart():
    ours = [system("sparsespec-l", eager=2.0, acceptance=0.8)]
    cells = [
        cell(f"{task} {context}", ours, {"task": task}, context=context)
        for task in ("qa", "niah")
        for context in (2000, 4000)
    ]
    _, labels = axes_of(report("context-length", cells))["acceptance"]
    assert [label for label in labels if "paper" not in label] == ["sparsespec-l, qa", "sparsespec-l, niah"]


def test_files():
    png = plot_bytes(panels(report()), "100 $ and $x^2$", ".png")
    assert png.startswith(b"\x89PNG")
    assert (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (1200, 800)
    svg = plot_bytes(panels(report()), "100 $ and $x^2$", ".svg")
    assert svg == plot_bytes(panels(report()), "100 $ and $x^2$", ".svg")
    assert b"$x^2$" in svg
    assert b"sparsespec-l" in svg


def test_names_that_tell_no_format_and_empty_reports_are_refused():
    check_plot_file(Path("a.PNG"))
    with pytest.raises(UsageError, match=r"\.png or \.svg"):
        check_plot_file(Path("a.jpeg"))
    with pytest.raises(UsageError, match="nothing to plot"):
        draw([], "title")


def test_bars_that_may_be_noise_look_different_and_the_legend_says_so():
    noisy = replace(system("svip", speedup=1.01, eager=3.0), noisy=True)
    drawn = axes_of(report(cells=[cell("c", [system("ar"), system("auto", speedup=1.4, eager=4.0), noisy])]))
    axes, labels = drawn["speedup over ar"]
    assert [bar.get_hatch() for bar in axes.patches] == [None, ".."]
    assert "cannot be told from 1" in labels
    axes, labels = drawn["speedup over eager attention"]  # of that the mark does not tell
    assert {bar.get_hatch() for bar in axes.patches} == {None}
    assert "cannot be told from 1" not in labels


def test_a_system_looks_the_same_in_every_panel():
    """In the panel over `ar` there is no line of `ar`, in that over eager attention there is."""
    cells = [
        cell(f"context {tokens}", [system("ar", eager=2.0), system("auto", speedup=1.2, eager=3.0, acceptance=0.8)],
             {"context": tokens}, context=tokens)
        for tokens in (500, 1000)
    ]  # fmt: skip
    looks = {}
    for axes, _ in axes_of(report("context-length", cells)).values():
        for container in (each for each in axes.containers if hasattr(each, "has_yerr")):
            line = container[0]
            looks.setdefault(container.get_label(), set()).add((line.get_color(), line.get_marker()))
    assert set(looks) == {"ar", "auto"}
    assert [len(each) for each in looks.values()] == [1, 1]
    assert len(set.union(*looks.values())) == 2
