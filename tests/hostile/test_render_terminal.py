"""Hostile text in every field of every event, through every renderer: nothing but our own sequences comes out."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from spsl_cli.events import (
    Comparison,
    Event,
    Finished,
    Notice,
    Piece,
    Progress,
    RoundEvent,
    SpeculationStats,
    Started,
    TextEvent,
    TokenKind,
)
from spsl_cli.render import Streams, render_table, write_answer, write_error, write_json, write_warning
from spsl_cli.render.json_lines import JsonLinesReporter
from spsl_cli.render.panel import LivePanel
from spsl_cli.render.plain import PlainReporter
from spsl_cli.render.streams import Stream

OURS = re.compile(r"\x1b\[(?:[\d;]*m|\d+A|[JK]|\?25[hl]|\?2026h\r|\?2026l)")
FORBIDDEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
STATS = SpeculationStats(
    enabled=True, controller="c", budget=0.1, new_tokens=9, rounds=2, drafted=8, accepted=6, k_histogram={4: 2},
    decode_s=1.0, plain_step_s=0.1,
)  # fmt: skip
ATTACKS = (
    "\x1b]52;c;ZXZpbA==\x07", "\x1b]0;owned\x1b\\", "\x1b[2J\x1b[H", "\x1b[?1049h",
    "\x1b]8;;file:///etc\x1b\\x\x1b]8;;\x1b\\",
    "\x9b31m", "\x9d52;c;AA\x9c", "\x1bP+q544e\x1b\\", "\x1b_G\x1b\\", "\x1bc", "\u202egnp.exe",
    "\u2066x", "\ud83d", "\x08\x08",
    "\r\x1b[K", "\x1b[6n", "[bold red]markup[/]", "[link=http://x]y[/link]", ":skull:", "\x0e\x0f", "\x1b[31", "\x1b",
)  # fmt: skip


def events(foreign: Callable[[], str]) -> list[Event]:
    finished = Finished(foreign(), STATS, Comparison(foreign(), 1.0, 1.0, 1.0, identical=True))
    started = Started(
        foreign(), foreign(), foreign(), foreign(), (foreign(), foreign()), 100, 50, foreign(), 0.1, foreign()
    )
    pieces = tuple(Piece(foreign(), kind) for kind in TokenKind)
    return [
        Notice(foreign()),
        Notice(foreign(), warning=False),
        Progress(foreign(), 1, 10, foreign(), 0.5),
        Progress(foreign(), 10, 10, foreign(), 0.5),
        started,
        TextEvent(foreign()),
        RoundEvent(pieces, 4, STATS, 1.0),
        TextEvent(foreign()),
        finished,
        replace(started, question=None),
        RoundEvent(pieces, None, STATS, 1.0),
        finished,
    ]


def place(*, styled: bool) -> tuple[Streams, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()

    def stream(file: io.StringIO, *, required: bool) -> Stream:
        return Stream(file, required=required, is_terminal=styled, styled=styled, colour=styled)

    return Streams(stream(out, required=True), stream(err, required=False)), out, err


def harmless(output: str, *, styled: bool) -> bool:
    rest = OURS.sub("", output).replace("\r\n", "\n") if styled else output
    return not FORBIDDEN.search(rest) and "\r" not in rest


@pytest.mark.parametrize("styled", [True, False], ids=["terminal", "file"])
def test_every_field_of_every_event(*, styled: bool) -> None:
    rng = random.Random(11)

    def foreign() -> str:
        return "".join(rng.choices([*ATTACKS, "text ", "\u4e2d", "\n"], k=rng.randint(1, 4)))

    for _ in range(60):
        streams, out, err = place(styled=styled)
        panel, plain, lines = LivePanel(streams), PlainReporter(streams), JsonLinesReporter(streams)
        for event in events(foreign):
            panel(event)
            if styled:
                panel.refresh()
            plain(event)
            lines(event)
        assert harmless(err.getvalue(), styled=styled), ascii(err.getvalue())
        assert harmless(out.getvalue(), styled=False), ascii(out.getvalue())


@pytest.mark.parametrize("styled", [True, False], ids=["terminal", "file"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_answers_errors_json_and_tables(attack: str, *, styled: bool) -> None:
    streams, out, err = place(styled=styled)
    write_answer(streams, f"a{attack}b")
    if not styled:  # a file keeps hidden format characters, which only a terminal would suffer from
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", out.getvalue())
        out.truncate(out.seek(0))
    write_json(streams, {attack: attack})
    render_table(streams, attack, [attack], [[attack]])
    write_error(streams, attack)
    write_warning(streams, attack)
    assert harmless(out.getvalue(), styled=styled), ascii(out.getvalue())
    assert harmless(err.getvalue(), styled=styled), ascii(err.getvalue())
    assert err.getvalue().count("\n") == 2
