"""Markdown on a terminal: style for marks, prose as prose, and every character of the answer still there."""

from __future__ import annotations

import io
import random
import re

import pytest

from spsl_cli.render import Streams, write_answer
from spsl_cli.render.markdown import write_markdown
from spsl_cli.render.streams import Stream

STYLE = re.compile(r"\x1b\[[\d;]*m")


def drawn(text: str, columns: int = 80, *, colour: bool = True, unicode: bool = True) -> str:
    """What is written for `text`, style included."""

    class Place(Stream):
        def size(self) -> tuple[int, int]:
            return columns, 24

    file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8" if unicode else "ascii", newline="")
    write_markdown(Place(file, required=True, is_terminal=True, styled=True, colour=colour), text)
    return file.buffer.getvalue().decode(file.encoding)


def shown(text: str, columns: int = 80, **place: bool) -> str:
    """The same without style and without the newline at the end."""
    output = STYLE.sub("", drawn(text, columns, **place))
    assert output.endswith("\n")
    return output.removesuffix("\n")


PROSE = [
    "One line.",
    "Lines that a model wrote\nstay lines,\n\nand paragraphs paragraphs.",
    "2016. It was a year of change.\nThen came 2017.",
    "2016. One.\n2019. Another.\n7) A third.",
    "#1 is the best, #2 is not.",
    "#",
    "2*3*4 = 24, 2 * 3 * 4 = 24, f(a)*b*(c), x**2 + y**2, é*β*ж, *args and **kwargs.",
    "A footnote* and another**, p < 0.05*.",
    "*unclosed, and **unclosed\nclosed* on another** line",
    "snake_case, __init__, _private_, a_b_c and ___.",
    "- dialogue goes like this\n- and like that",
    "+ 5 degrees\n- 5 degrees",
    "-",
    "A title\n=======",
    "[a link](http://x.example/a_b 'title'), ![an image](file:///etc/passwd), <http://x.example>, [1]",
    "[1]: http://x.example 'a reference'",
    "<b>bold</b> <img src=x> <!-- comment --> &amp; &lt;",
    "<div>\nblock\n</div>",
    "> quoted\nnot quoted\n>> twice",
    r"\(x^2\) \[y\] \* \_ \# \\ C:\new",
    "[bold red]markup[/] :skull: [link=http://x]y[/link]",
    "~~struck~~ ~5 and ~6",
    "a | b\nc | d",
    "  two spaces before\n   three, and  two   three inside",
    "日本語の文章です。\n絵文字 😀 👩‍👩‍👧‍👦 🇩🇪",
    "one `unclosed code\nanother `line",
    "1. one\n1. one again\n3. three",
]


@pytest.mark.parametrize("text", PROSE)
def test_plain_prose_stays_as_it_is(text: str) -> None:
    expected = "\n".join(line.rstrip() for line in text.strip().split("\n"))
    assert shown(text, 120) == expected
    assert shown(f"Before.\n\n{text}\n\nAfter.", 120) == f"Before.\n\n{expected}\n\nAfter."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**bold** text", "\x1b[1mbold\x1b[0m text\n"),
        ("an *italic* word", "an \x1b[3mitalic\x1b[0m word\n"),
        ("***both***, (*it*).", "\x1b[1;3mboth\x1b[0m, (\x1b[3mit\x1b[0m).\n"),
        ("**a**: b", "\x1b[1ma\x1b[0m: b\n"),
        ("これは**重点**内容", "これは\x1b[1m重点\x1b[0m内容\n"),
        ("code: `a*b*c`.", "code: \x1b[1;36ma*b*c\x1b[0m.\n"),
        ("# Title\ntext", "\x1b[1;4mTitle\x1b[0m\ntext\n"),
        ("### Small *title*", "\x1b[1mSmall \x1b[0m\x1b[1;3mtitle\x1b[0m\n"),
    ],
)
def test_marks_become_style(text: str, expected: str) -> None:
    assert plain_style(drawn(text)) == plain_style(expected)


def plain_style(text: str) -> list[tuple[str, frozenset[str]]]:
    """Each character with the style codes in force."""
    signs, style = [], set()
    for code, sign in re.findall(r"\x1b\[([\d;]*)m|(.|\n)", text):
        if sign:
            signs.append((sign, frozenset(style)))
        elif code in ("0", ""):
            style = set()
        else:
            style |= set(code.split(";"))
    return signs


def test_without_colour_there_is_still_style() -> None:
    output = drawn("# Title\n\n**bold** and `code`\n\n```\ncode\n```", colour=False)
    assert not re.search(
        r"\x1b\[[\d;]*(?:3[0-7]|4\d|9\d)[\d;]*m", output.replace("\x1b[39m", "").replace("\x1b[49m", "")
    )
    assert "\x1b[1m" in output
    assert shown("```\ncode\n```") == "    code"


def test_lists_hang_and_keep_their_numbers() -> None:
    text = "- one two three four\n  - nested one two\n* star\n\n9. nine\n10. ten and eleven and twelve"
    assert shown(text, 20) == (
        "- one two three four\n  - nested one two\n• star\n\n9.  nine\n10. ten and eleven\n    and twelve"
    )


def test_empty_lines_between_items_stay() -> None:
    text = "1. one\n\n   more of one\n\n2. two\n   - a\n   - b\n3. three\nThe end."
    assert shown(text) == text


def test_code_is_shown_line_for_line() -> None:
    fence = "Run:\n```python\ndef f(x):\n\n    return **x** <b>\n```\nThen stop."
    assert shown(fence) == "Run:\npython\n    def f(x):\n\n        return **x** <b>\nThen stop."
    assert shown("text\n```\nunclosed *a*\n  # b") == "text\n    unclosed *a*\n      # b"
    assert shown("```\n```") == ""
    assert shown("    indented\n\n      more") == "    indented\n\n      more"
    assert shown("- a\n  ```\n  b\n  ```\n- c") == "- a\n      b\n- c"


def test_a_rule_is_as_wide_as_the_terminal() -> None:
    assert shown("a\n\n---\n\nb", 10) == "a\n\n──────────\n\nb"
    assert shown("a\n---\nb", 10) == "a\n──────────\nb"
    assert shown("***", 10, unicode=False) == "-" * 10


TABLE = "| Town | Share |\n|:--|--:|\n| 東京都 😀 | **5 %** |\n| Ulm | 50 % |"


def test_a_table_is_drawn_aligned() -> None:
    lines = shown(f"Look:\n\n{TABLE}\n\nThere.").split("\n")
    assert [line.split() for line in lines] == [
        ["Look:"], [], ["Town", "Share"], [lines[3]], ["東京都", "😀", "5", "%"], ["Ulm", "50", "%"], [], ["There."],
    ]  # fmt: skip
    assert set(lines[3]) == {"─"}
    assert [len(line) for line in (lines[2], lines[5])] == [len(lines[3])] * 2


def test_a_table_too_wide_for_the_terminal_is_lines() -> None:
    assert shown(TABLE, 8) == "Town |\nShare\n東京都\n😀 | 5 %\nUlm | 50\n%"


def test_a_table_that_markdown_would_cut_is_shown_as_written() -> None:
    text = "**Note**\n\n| a | b |\n|---|---|\n| c | d | lost |"
    assert shown(text) == text


def test_a_nest_that_markdown_would_cut_is_shown_as_written() -> None:
    text = "- " * 30 + "deep"
    assert shown(text) == text
    assert shown("- " * 5 + "deep", 8) == "- - - -\n- deep"


@pytest.mark.parametrize("text", ["", "\n\n", "  "])
def test_nothing_is_an_empty_line(text: str) -> None:
    assert drawn(text) == "\n"


def test_other_encodings_get_signs_that_they_have() -> None:
    assert "?" not in shown(f"* a\n\n---\n\n{TABLE.replace('東京都 😀', 'x')}", unicode=False)


def test_lines_fit_the_terminal_and_end_without_spaces() -> None:
    from rich.cells import cell_len  # noqa: PLC0415

    text = "\n\n".join([*PROSE, TABLE, "- " + "word " * 60, "漢" * 100, "```\n" + "x" * 200 + "\n```", "w" * 300])
    for columns in (80, 40, 21):
        for line in shown(text, columns).split("\n"):
            assert cell_len(line) <= columns
            assert line == line.rstrip()


SCRAPS = (*"*_`#>-+|~=[]()!<>&\\:.", "\n", "\n\n", " ", "    ", "**", "```", "\n```py\n", "\n| a | b |\n|--|--|\n| c ")
PIECES = (
    *SCRAPS,
    " a ",
    "b",
    "漢",
    "😀",
    "\n- ",
    "\n1. ",
    "\n2016. ",
    "\n# ",
    "\n---\n",
    "\n===\n",
    "[x](y)",
    "&lt;",
    "<b>",
)


@pytest.mark.parametrize("columns", [80, 40, 12])
def test_no_character_is_lost(columns: int) -> None:
    """1,000 answers of Markdown and scraps of it: whatever is no mark comes out, as often as it was written."""
    generator = random.Random(columns)
    for _ in range(1_000):
        text = "".join(generator.choices(PIECES, k=generator.randrange(1, 25)))
        output = shown(text, columns)
        assert letters(output) == letters(text), text


def letters(text: str) -> list[str]:
    return sorted(sign for sign in text if not sign.isspace() and sign not in "*`#-_|:~•─")


def place(*, styled: bool, terminal: bool) -> tuple[Streams, io.StringIO]:
    out = io.StringIO()
    stream = Stream(out, required=True, is_terminal=terminal, styled=styled, colour=styled)
    return Streams(stream, Stream(io.StringIO(), required=False)), out


def test_only_a_styled_terminal_gets_style() -> None:
    text = "# T\n\n**b** \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \u202e[a](http://x.example)"
    for styled, terminal in ((False, True), (False, False)):
        streams, out = place(styled=styled, terminal=terminal)
        write_answer(streams, text, markdown=True)
        assert out.getvalue().replace("\u202e", "") == "# T\n\n**b** link [a](http://x.example)\n"
    streams, out = place(styled=True, terminal=True)
    write_answer(streams, text, markdown=True)
    assert STYLE.sub("", out.getvalue()) == "T\n\nb link [a](http://x.example)\n"
    assert "\x1b]" not in out.getvalue()


def test_text_that_is_no_answer_is_not_drawn() -> None:
    """`spsl read` shows documents as the model gets them."""
    streams, out = place(styled=True, terminal=True)
    write_answer(streams, "# T **b**")
    assert out.getvalue() == "# T **b**\n"
