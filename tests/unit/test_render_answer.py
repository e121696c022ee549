"""The answer on standard output, JSON, and one-line messages."""

from __future__ import annotations

import io
import json
import math

import pytest

from spsl_cli.events import Piece, RoundEvent, SpeculationStats, TextEvent, TokenKind
from spsl_cli.render import Streams, write_answer, write_error, write_json, write_warning
from spsl_cli.render.json_lines import JsonLinesReporter
from spsl_cli.render.streams import Stream


def streams(*, terminal: bool = False, colour: bool = False, encoding: str = "utf-8") -> Streams:
    def stream(*, required: bool) -> Stream:
        file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
        return Stream(file, required=required, is_terminal=terminal, styled=terminal, colour=colour)

    return Streams(stream(required=True), stream(required=False))


def written(stream: Stream) -> str:
    assert isinstance(stream.file, io.TextIOWrapper)
    buffer = stream.file.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(stream.encoding)


@pytest.mark.parametrize("text", ["answer", "answer\n", "answer\n\n\n"])
def test_an_answer_ends_with_one_newline(text: str) -> None:
    place = streams()
    write_answer(place, text)
    assert written(place.out) == "answer\n"
    assert written(place.err) == ""


def test_an_answer_in_a_file_keeps_all_but_controls() -> None:
    place = streams()
    write_answer(place, "a\x1b[31mb\u200f [bold]c[/]\r\n  d\x07")
    assert written(place.out) == "ab\u200f [bold]c[/]\n  d\n"


def test_an_answer_on_a_terminal_is_cleaned_wholly() -> None:
    place = streams(terminal=True, colour=True)
    write_answer(place, "a\u202eb\x1b]52;c;AA\x07[red]c[/]")
    assert written(place.out) == "ab[red]c[/]\n"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_json_is_one_line_that_every_parser_reads(encoding: str) -> None:
    place = streams(encoding=encoding, terminal=True)
    value = {
        "answer": "caf\u00e9 \u4e2d \U0001f600 \x1b\x9b\u202e\u2028\n",
        "k": {0: 1},
        "rates": (1.5, math.nan, -math.inf),
    }
    write_json(place, value)
    text = written(place.out)
    assert text.endswith("}\n")
    assert text.count("\n") == 1
    assert not any(sign in text for sign in "\x1b\x9b\u202e\u2028")
    assert json.loads(text) == {"answer": value["answer"], "k": {"0": 1}, "rates": [1.5, None, None]}


def test_json_shows_letters_as_letters_where_it_can() -> None:
    place = streams()
    write_json(place, {"a": "\u4e2d\u00e9"})
    assert written(place.out) == '{"a": "\u4e2d\u00e9"}\n'


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_json_survives_a_file_name_that_is_no_text(encoding: str) -> None:
    place = streams(encoding=encoding)
    write_json(place, {"path": "bad\udcff.pdf"})
    assert json.loads(written(place.out)) == {"path": "bad\ufffd.pdf"}


def test_errors_and_warnings_are_one_clean_line() -> None:
    place = streams()
    write_error(place, "cannot read 'a\x1b[2J\nb.pdf':\r\n  no such file")
    write_warning(place, "x" * 300)
    assert written(place.err) == f"spsl: error: cannot read 'a b.pdf': no such file\nspsl: warning: {'x' * 300}\n"
    assert written(place.out) == ""


def test_errors_are_coloured_only_where_that_is_allowed() -> None:
    place = streams(terminal=True, colour=True)
    write_error(place, "broken\x1b[0m")
    assert written(place.err) == "\x1b[31mspsl: error:\x1b[0m broken\n"
    no_colour = streams(terminal=True)
    write_error(no_colour, "broken")
    assert written(no_colour.err) == "spsl: error: broken\n"


def test_events_as_json_lines() -> None:
    place = streams()
    stats = SpeculationStats(
        enabled=True, controller="fixed", budget=0.1, new_tokens=5, rounds=1, drafted=4, accepted=3,
        k_histogram={4: 1}, decode_s=2.0, plain_step_s=1.0,
    )  # fmt: skip
    with JsonLinesReporter(place) as report:
        report(TextEvent("a\n\x1b"))
        report(RoundEvent((Piece(" x", TokenKind.ACCEPTED),), 4, stats, 2.0))
    text, round_ = (json.loads(line) for line in written(place.out).splitlines())
    assert text == {"event": "text", "text": "a\n\x1b"}
    assert round_["event"] == "round"
    assert round_["pieces"] == [{"text": " x", "kind": "accepted"}]
    assert round_["stats"]["k_histogram"] == {"4": 1}
    assert (round_["stats"]["acceptance_rate"], round_["stats"]["estimated_speedup"]) == (0.75, 2.0)
