"""Tables on standard output."""

from __future__ import annotations

import io
import re

import pytest

from spsl_cli.render import Streams, render_table
from spsl_cli.render.streams import Stream

COLUMNS = ("policy", "tokens/s", "acceptance")
ROWS = [("sparsespec-l", "41.2", "71.0 %"), ("\u4e2d\u6587", "1,234.5", None), ("a\x1b[2J[bold]b\n", 7, "-")]


def table(*, styled: bool, colour: bool = False, encoding: str = "utf-8", rows=ROWS, columns: int = 80) -> str:
    class OfWidth(Stream):
        def size(self):
            return (columns, 24)

    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="")
    out = OfWidth(file, required=True, is_terminal=styled, styled=styled, colour=colour)
    render_table(Streams(out, Stream(None, required=False)), "Speed\x07", COLUMNS, rows)
    return raw.getvalue().decode(encoding)


def test_plain_text_is_aligned() -> None:
    assert table(styled=False) == (
        "Speed\n"
        "\n"
        "policy        tokens/s  acceptance\n"
        "------------  --------  ----------\n"
        "sparsespec-l      41.2      71.0 %\n"
        "\u4e2d\u6587           1,234.5           -\n"
        "a[bold]b             7           -\n"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_terminal_gets_a_drawn_table_and_nothing_foreign(encoding: str) -> None:
    text = table(styled=True, colour=True, encoding=encoding)
    assert set(re.findall(r"\x1b\[[^a-zA-Z]*([a-zA-Z])", text)) == {"m"}
    shown = bare(text)
    assert "Speed" in shown
    assert "a[bold]b" in shown
    assert re.search(r"sparsespec-l\W+41\.2\W+71\.0 %", shown)


def test_rows_must_fit_the_columns() -> None:
    streams = Streams(Stream(io.StringIO(), required=True), Stream(None, required=False))
    with pytest.raises(ValueError, match="needs 3 cells"):
        render_table(streams, "t", COLUMNS, [("one",)])


def test_a_table_without_rows_is_a_head() -> None:
    out = io.StringIO()
    render_table(Streams(Stream(out, required=True), Stream(None, required=False)), "t", ("a", "b"), [])
    assert out.getvalue() == "t\n\na  b\n-  -\n"


def bare(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@pytest.mark.parametrize("columns", [20, 30, 40])
def test_a_row_too_wide_for_the_terminal_has_lines_of_its_own_and_no_broken_word(columns: int) -> None:
    rows = [("sparsespec-l with a long name", "41.2 (39.0-44.1), noise", None), ("ar", "32.0", "-")]
    lines = [line.rstrip() for line in bare(table(styled=True, rows=rows, columns=columns)).splitlines()]
    words = " ".join(lines).split()
    assert {"sparsespec-l", "long", "name", "tokens/s:", "41.2", "(39.0-44.1),", "noise", "ar", "32.0"} <= set(words)
    assert max(map(len, lines)) <= columns
    assert "acceptance:" not in words  # no row has one
    assert "  tokens/s: 32.0" in lines


def test_a_table_that_need_break_no_word_stays_one() -> None:
    rows = [("sparsespec-l " * 8, "41.2", "71 %")]
    assert "tokens/s:" not in bare(table(styled=True, rows=rows, columns=60))
