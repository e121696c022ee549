"""The panel's lines for every size: no line too wide, a height that stays, kinds told apart without colour."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from spsl_cli.events import (
    Comparison,
    Event,
    Finished,
    Piece,
    Progress,
    RoundEvent,
    SpeculationStats,
    Started,
    TextEvent,
    TokenKind,
)
from spsl_cli.render.answer_tail import AnswerTail
from spsl_cli.render.figures import Outcome
from spsl_cli.render.glyphs import ASCII, UNICODE, Glyphs
from spsl_cli.render.layout import outcome_lines, panel_lines
from spsl_cli.render.line import Line, crop, fitting, width
from spsl_cli.render.rounds import round_row, token_text
from spsl_cli.render.view import RunView

STATS = SpeculationStats(
    enabled=True, controller="calibrated", budget=0.1, new_tokens=101, rounds=25, drafted=100, accepted=75, bonus=25,
    k_histogram={4: 25}, decode_s=5.0, plain_step_s=0.1,
)  # fmt: skip
STARTED = Started(
    "ask", "org/a-model-with-a-long-name-7B", "cuda:0", "bfloat16", ("a/b/report.pdf", "notes.txt", "c.md"), 31204, 512,
    "calibrated", 0.1, "What was the revenue in 2023, and where did all of it come from? \u53ce\u5165",
)  # fmt: skip
ROUND = RoundEvent(
    (
        Piece(" The", TokenKind.ACCEPTED),
        Piece("\u4e2d\u6587", TokenKind.ACCEPTED),
        Piece(" grew", TokenKind.BONUS),
        Piece("[bold]", TokenKind.REJECTED),
        Piece("\n", TokenKind.REJECTED),
    ),
    4,
    STATS,
    5.0,
)
SIZES = [(20, 6), (24, 8), (36, 10), (37, 11), (40, 12), (60, 16), (64, 20), (65, 20), (80, 24), (120, 40), (300, 100)]
TEXT = (
    "Some words of an answer, \u4e2d\u6587\u4e5f\u5e94\u5f53 \U0001f469\u200d\U0001f680 \u2764\ufe0f and more.\n\n" * 40
)


def view(*events: Event) -> RunView:
    run = RunView()
    for event in events:
        run.apply(event, now=0.0)
    return run


def texts(run: RunView, size: tuple[int, int], glyphs: Glyphs = UNICODE, now: float = 0.0) -> list[str]:
    return [line.text for line in panel_lines(run, *size, glyphs, now)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_no_line_reaches_the_edge_and_the_height_stays(size: tuple[int, int], glyphs: Glyphs) -> None:
    run = view(Progress("fetch model", 1e6, 1e9, "B", 3.0), STARTED, Progress("prefill", 1000, 31204, "tokens", 1.0))
    assert all(width(text) < size[0] for text in texts(run, size, glyphs, now=100.0))
    heights = set()
    ending = (
        Progress("compare with AR", 7, 512, "tokens", 1.0),
        Finished("stop", STATS, Comparison("ar", 1.0, 1.0, 1.5, identical=False, first_difference=3, top2_margin=0.1)),
    )
    rounds = [replace(ROUND, stats=replace(STATS, rounds=n, accepted=n * 999, drafted=n * 2000)) for n in range(40)]
    for event in (TextEvent("A"), *rounds, TextEvent(TEXT), *ending):
        run.apply(event, now=1.0)
        lines = panel_lines(run, *size, glyphs, 2.0)
        assert all(line.width < size[0] for line in lines), max(lines, key=lambda line: line.width).text
        heights.add(len(lines))
    assert len(heights) == 1
    assert heights.pop() < size[1]


def test_the_figures_are_all_there_and_the_estimate_is_called_one() -> None:
    shown = "\n".join(texts(view(STARTED, ROUND), (80, 24)))
    for part in (
        "spsl ask", "org/a-model-with-a-long-name-7B", "cuda:0 bfloat16", "report.pdf, notes.txt, c.md",
        "31,204 prompt tokens", "101 of 512 tokens", "calibrated", "budget 10 %", "75", "25 rejected",
        "acceptance  75.0 %", "mean accepted  3.00", "rounds    25", "20.0", "speedup over AR 2.00x estimated",
    ):  # fmt: skip
        assert part in shown, part


def test_a_comparison_replaces_the_estimate() -> None:
    compared = Comparison("ar", 1.0, 1.0, 1.62, identical=True)
    shown = "\n".join(texts(view(STARTED, ROUND, compared), (80, 24)))
    assert "speedup over AR 1.62x measured  identical to AR" in shown
    assert "estimated" not in shown


@pytest.mark.parametrize("size", SIZES)
def test_every_size_names_the_speedup_with_its_label(size: tuple[int, int]) -> None:
    assert "2.00x estimated" in texts(view(STARTED, ROUND), size)[-1]
    untimed = replace(ROUND, stats=replace(STATS, plain_step_s=None))
    last = texts(view(STARTED, untimed), size)[-1]
    assert "x " not in last
    assert "-" in last
    if size[0] > 64:
        assert "needs a timed plain step" in last


def test_before_the_first_round_no_figure_is_made_up() -> None:
    shown = texts(view(STARTED, TextEvent("A")), (80, 24))
    assert shown[-1].split() == ["tokens/s", "-", "speedup", "over", "AR", "-", "needs", "a", "timed", "plain", "step"]
    assert "acceptance       -" in shown[-2]


def test_without_speculation_the_panel_says_so() -> None:
    off = replace(STATS, enabled=False, rounds=0, drafted=0, accepted=0)
    shown = texts(view(STARTED, replace(ROUND, stats=off, pieces=(Piece("a", TokenKind.PLAIN),))), (80, 24))
    assert shown[-3] == "speculation off"
    assert "estimated needs" not in shown[-1]


@pytest.mark.parametrize(
    ("glyphs", "row"),
    [
        (UNICODE, "   25    2/4  \u2713The \u2713\u4e2d\u6587 \u25c6grew \u2717[bold] \u2717\u21b5"),
        (ASCII, "   25    2/4  +The +\u4e2d\u6587 *grew ![bold] !\\n"),
    ],
    ids=["unicode", "ascii"],
)
def test_kinds_differ_by_marks(glyphs: Glyphs, row: str) -> None:
    assert round_row(ROUND, 79, glyphs).text == row
    assert len(set(glyphs.marks.values())) == len(TokenKind)


def test_tokens_that_show_nothing_are_made_visible() -> None:
    shown = [
        token_text(Piece(text, TokenKind.PLAIN), UNICODE) for text in ("\n\n", "  ", "\r\n", "", "\x1b[2J", "a\tb")
    ]
    assert shown == ["\u21b5\u21b5", "\u2423\u2423", "\u21b5", "", "", "a b"]


def test_a_row_that_does_not_fit_says_so() -> None:
    long = replace(ROUND, pieces=tuple(Piece(f" word{n}", TokenKind.ACCEPTED) for n in range(20)))
    row = round_row(long, 40, UNICODE)
    assert row.width <= 40
    assert row.text.endswith("\u2026")


def test_preparing_shows_each_stage_and_its_bar() -> None:
    run = view(
        Progress("fetch model", 101e6, 101e6, "B", 2.0), STARTED, Progress("prefill", 7801, 31204, "tokens", 3.0)
    )
    lines = texts(run, (80, 24), now=3.9)
    assert lines[0].startswith("spsl ask")
    assert lines[3] == "\u2713 fetch model       101.0 MB  50.5 MB/s  2.0 s"
    bar = "\u2501" * 4 + "\u2500" * 11
    assert lines[4] == f"\u25b8 prefill           {bar}   7,801 of 31,204 tokens  2,600 tokens/s"


def test_what_a_stage_counts_is_shortened_rather_than_left_out() -> None:
    run = view(Progress("read documents", 30, 400, "pages of the-yearly-report-of-the-harbour-board.pdf"))
    (line,) = texts(run, (80, 24), now=3.0)
    assert "   30 of 400 pages of the-yearly-" in line
    assert line.endswith("\u2026")


def test_a_stage_without_length_counts_seconds() -> None:
    run = view(Progress("load model", 0, None))
    assert texts(run, (80, 24), now=0.4) == ["\u25b8 load model      "]
    assert texts(run, (80, 24), now=7.9)[0].endswith("  7 s")


def test_the_answer_tail_wraps_between_words_and_never_rewrites_a_broken_line() -> None:
    rng = random.Random(5)
    text = "word and another, \u4e2d\u6587\u5b57\u7b26 " * 50 + "x" * 90 + "\n\n- end"
    tail = AnswerTail(30)
    shown: list[str] = []
    at = 0
    while at < len(text):
        size = rng.randint(1, 9)
        tail.feed(text[at : at + size])
        at += size
        lines = tail.lines(30, 1000)
        assert all(width(line) <= 30 for line in lines)
        assert lines[: len(shown) - 1] == shown[:-1]
        shown = lines
    assert shown[-3:] == ["x" * 30, "", "- end"]
    assert not any(line.startswith(" ") or "wor" in line.replace("word", "") for line in shown)
    whole = AnswerTail(30)
    whole.feed(text)
    assert whole.lines(30, 1000) == shown


def test_the_answer_tail_follows_a_new_width() -> None:
    tail = AnswerTail(80)
    tail.feed("one two three four\n\tfive")
    assert tail.lines(80, 5) == ["one two three four", "    five"]
    assert tail.lines(9, 5) == ["one two", "three", "four", "    five"]
    assert tail.lines(9, 2) == ["four", "    five"]


def test_the_answer_tail_holds_only_a_tail() -> None:
    tail = AnswerTail(20)
    for number in range(20_000):
        tail.feed(f"{number} ")
    assert tail.lines(20, 3)[-1].endswith("19999 ")
    assert len(tail.lines(19, 10_000)) <= 101
    assert len(tail._raw) <= 12_000


def test_widths_are_upper_bounds_and_cuts_make_progress() -> None:
    assert width("a\u4e2d") == 3
    assert width("\U0001f469\u200d\U0001f680") == 4
    assert width("\u2764\ufe0f") == 2
    assert width("e\u0301") == 1
    assert fitting("\u4e2d\u6587", 1) == 1
    assert crop("abcdef", 4, "\u2026") == "abc\u2026"
    assert crop("\u4e2d\u6587\u5b57", 4, "\u2026") == "\u4e2d\u2026"
    assert crop("abc", 0, "\u2026") == ""


def test_a_line_cleans_whatever_is_added() -> None:
    line = Line().add("a\x1b]52;c;AA\x07\nb\x9b", "bold").add("")
    assert line.text == "a b"
    assert line.width == 3


@pytest.mark.parametrize("columns", [24, 40, 80, 200])
def test_what_stays_is_short_and_fits(columns: int) -> None:
    outcome = Outcome(STATS, "stop", Comparison("ar", 1.0, 1.0, 1.62, identical=True), label="Why?\x1b[2J")
    lines = outcome_lines(outcome, columns, UNICODE)
    assert all(line.width < columns for line in lines)
    assert lines[0].text == "Why?"
    if columns == 80:
        assert [line.text for line in lines[1:]] == [
            "\u2713 101 tokens in 5.0 s (20.0/s) \u00b7 accepted 75 of 100 \u00b7 1.62x AR measured",
            "  identical to AR",
        ]


def test_an_interrupted_answer_has_another_mark() -> None:
    assert outcome_lines(Outcome(STATS, "interrupted"), 80, UNICODE)[0].text.startswith("\u2717 101 tokens")


def test_a_second_answer_starts_afresh_and_the_first_is_settled() -> None:
    run = view(STARTED, ROUND, TextEvent("first"), Finished("stop", STATS), replace(STARTED, question="Second?"))
    assert [entry.label for entry in run.settled if isinstance(entry, Outcome)] == [STARTED.question]
    assert run.decoding
    shown = "\n".join(texts(run, (80, 24)))
    assert "first" not in shown
    assert "  0 of 512 tokens" in shown
    again = run.outcome(unless_ended="interrupted")
    assert again is None  # nothing was decoded yet
