"""Plain lines: what is told, what is not, and the figures in words."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from spsl_cli.events import (
    Comparison,
    Event,
    Finished,
    Notice,
    Prefill,
    Progress,
    RoundEvent,
    SpeculationStats,
    Started,
    TextEvent,
)
from spsl_cli.render import Streams, make_reporter
from spsl_cli.render.figures import amount, budget, duration, percent, rate, speedup
from spsl_cli.render.plain import PlainReporter
from spsl_cli.render.streams import Stream

STATS = SpeculationStats(
    enabled=True, controller="calibrated", budget=0.1, new_tokens=101, rounds=25, drafted=100, accepted=75, bonus=25,
    k_histogram={4: 25}, decode_s=5.0, plain_step_s=0.1,
)  # fmt: skip
STARTED = Started("ask", "m", "cpu", "float32", ("a.pdf",), 1000, 200, "calibrated", 0.1, "Why?")


def told(*events: Event, quiet: bool = False) -> str:
    file = io.StringIO()
    with PlainReporter(Streams(Stream(None, required=True), Stream(file, required=False)), quiet=quiet) as report:
        for event in events:
            report(event)
    return file.getvalue()


def test_a_run_in_lines() -> None:
    text = told(
        Notice("embedded model", warning=False),
        Notice("scan.pdf has\nno text"),
        Progress("load model", 0, None),
        Progress("load model", 1, 1, "", 1.25),
        Progress("read documents", 1, 3, "files", 0.1),
        Progress("read documents", 3, 3, "files", 0.5),
        STARTED,
        Prefill(400, 1000, 0.5),
        Prefill(1000, 1000, 2.0),
        TextEvent("text"),
        RoundEvent((), 4, STATS, 5.0),
        Finished("stop", STATS),
    )
    assert text.splitlines() == [
        "spsl: embedded model",
        "spsl: warning: scan.pdf has no text",
        "spsl: load model: 1.2 s",
        "spsl: read documents: 3 files in 0.50 s (6.0 files/s)",
        "spsl: prefill: 1,000 tokens in 2.0 s (500 tokens/s)",
        (
            "spsl: 101 tokens in 5.0 s, 20.0 tokens/s, complete, accepted 75 of 100 drafted (75.0 %), "
            "mean accepted 3.00, 25 rounds, speedup over AR 2.00x estimated"
        ),
    ]


def test_quiet_leaves_warnings() -> None:
    events = (Notice("fine", warning=False), Notice("careful"), Progress("prefill", 1, 1), Finished("stop", STATS))
    assert told(*events, quiet=True) == "spsl: warning: careful\n"


def test_a_stage_of_unknown_length_ends_with_the_next_and_one_cut_short_is_not_told() -> None:
    text = told(
        Progress("scan", 3, None, "files", 0.3),
        Progress("scan", 7, None, "files", 0.7),
        Progress("prefill", 10, 100, "tokens", 1.0),
        Finished("interrupted", STATS),
    )
    assert text.splitlines()[:1] == ["spsl: scan: 7 files in 0.70 s (10.0 files/s)"]
    assert "prefill" not in text
    assert "interrupted" in text


def test_the_end_of_a_stage_is_told_once_and_again_when_it_comes_again() -> None:
    end = Progress("prefill", 10, 10, "tokens", 1.0)
    assert told(end, end, Prefill(10, 10, 1.0)).count("\n") == 1
    assert told(end, Progress("prefill", 1, 10, "tokens"), end).count("\n") == 2


def test_several_answers_are_told_apart() -> None:
    second = replace(STARTED, question="And\x1b[2J then?")
    lines = told(STARTED, Finished("stop", STATS), second, Finished("length", STATS)).splitlines()
    assert lines[1].startswith("spsl: And then?: 101 tokens")
    assert "stopped by the length limit" in lines[1]


def test_a_comparison_is_measured_and_names_the_difference() -> None:
    same = Comparison("ar", 10.0, 10.0, 2.5, identical=True)
    assert "speedup over AR 2.50x measured, identical to AR" in told(STARTED, same, Finished("stop", STATS))
    other = Comparison("ar", 10.0, 10.0, 2.5, identical=False, first_difference=7, top2_margin=0.00213)
    assert "differs from AR at token 7 (top-2 margin 0.0021)" in told(Finished("stop", STATS, other))


def test_a_number_that_is_not_there_is_not_told() -> None:
    bare = SpeculationStats(enabled=True, controller="fixed", budget=64, new_tokens=1)
    text = told(Finished("stop", bare))
    assert "nothing drafted" in text
    assert "speedup" not in text
    assert "tokens/s" not in text
    off = replace(STATS, enabled=False)
    assert "speculation off" in told(Finished("stop", off))
    assert "estimated" not in told(Finished("stop", off))


def test_speedup_labels() -> None:
    assert speedup(STATS, None) == "2.00x estimated"
    assert speedup(replace(STATS, plain_step_s=None), None) == "-"
    assert speedup(STATS, Comparison("ar", 1.0, 1.0, 0.97, identical=True)) == "0.97x measured"
    for unknown in (None, float("nan")):
        assert speedup(STATS, Comparison("ar", 1.0, 1.0, unknown, identical=True)) == "2.00x estimated"
    assert speedup(replace(STATS, enabled=False), None) == "-"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.00 s"), (0.456, "0.46 s"), (12.34, "12.3 s"), (65, "1 min 05 s"), (4020, "1 h 07 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((3, None, "files"), "3 files"),
        ((1, 1, "files"), "1 file"),
        ((12, 1200, "tokens"), "   12 of 1,200 tokens"),
        ((45.2e6, 101e6, "B"), " 45.2 of 101.0 MB"),
        ((500, None, "bytes"), "500.0 B"),
        ((2, 5, ""), "2 of 5"),
    ],
)
def test_amounts(arguments: tuple[float, float | None, str], text: str) -> None:
    assert amount(*arguments) == text


def test_rates_and_budgets() -> None:
    assert rate(100, 0.0, "tokens") == ""
    assert rate(100, 40.0, "tokens") == "2.5 tokens/s"
    assert rate(3e9, 2.0, "B") == "1.5 GB/s"
    assert percent(float("nan")) == percent(None) == "-"
    assert (budget(0.1), budget(2048)) == ("10 %", "2,048 positions")


def test_which_reporter_is_made() -> None:
    def named(*, quiet: bool = False, plain: bool = False, **stream: bool) -> str:
        streams = Streams(Stream(None, required=True), Stream(io.StringIO(), required=False, **stream))
        return type(make_reporter(streams, quiet=quiet, plain=plain)).__name__

    assert named() == "PlainReporter"
    assert named(is_terminal=True) == "PlainReporter"  # a dumb terminal
    assert named(is_terminal=True, styled=True) == "LivePanel"
    assert named(is_terminal=True, styled=True, quiet=True) == "PlainReporter"
    assert named(is_terminal=True, styled=True, plain=True) == "PlainReporter"


def test_a_json_stream_goes_to_standard_output_and_plain_lines_to_standard_error() -> None:
    out, err = io.StringIO(), io.StringIO()
    streams = Streams(Stream(out, required=True), Stream(err, required=False, is_terminal=True, styled=True))
    with make_reporter(streams, json_stream=True) as report:
        report(Notice("careful"))
    assert out.getvalue() == '{"event": "notice", "text": "careful", "warning": true}\n'
    assert err.getvalue() == "spsl: warning: careful\n"
