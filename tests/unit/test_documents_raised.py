"""Raised text: an exponent must not be read as more digits of what it stands behind, in HTML and in Word."""

from __future__ import annotations

import pytest

from spsl_cli.documents.html import plain
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.markup.raised import raised
from tests.unit.test_documents_docx import paragraph, read, run, word

RAISED = '<w:vertAlign w:val="superscript"/>'


@pytest.mark.parametrize(
    ("before", "text", "shown"),
    [
        ("10", "6", "⁶"),
        ("10", "-3", "⁻³"),
        ("10", "\u20133", "⁻³"),
        ("Ca", "2+", "²⁺"),
        ("H", "+", "⁺"),
        ("2", "0.5", "^(0.5)"),
        ("4", "1/2", "^(1/2)"),
        ("10", "0,5", "^(0,5)"),
        ("2", "n", "^(n)"),
        ("x", "n+1", "^(n+1)"),
        ("(a + b)", "2n", "^(2n)"),
        ("2e", "ix", "^(ix)"),
        ("f", "(n)", "^(n)"),
        ("51", "st", "st"),
        ("XX", "e", "e"),
        ("Mr", "th", "th"),
        ("2", "nd", "nd"),
        ("widget", "patented", "patented"),
        ("word", "a", "^(a)"),
        ("word", "1,2", "^(1,2)"),
        ("word", "[1]", "[1]"),
        ("word", " [1]", " [1]"),
        ("word", "*", "*"),
        ("", "a", "a"),
        ("word ", "a", "a"),
        ("10", "6 ", "⁶ "),
    ],
)
def test_what_is_raised_stands_apart(before: str, text: str, shown: str) -> None:
    assert raised(text, before) == shown


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("2<sup>0.5</sup> of 4<sup>1/2</sup>", "2^(0.5) of 4^(1/2)"),
        ("2<sup>n</sup>x, 10<sup><b>6</b></sup>", "2^(n)x, 10⁶"),
        ("e<sup>x<sup>2</sup></sup>", "e^(x²)"),
        ('10<span style="vertical-align:super">6</span> m', "10⁶ m"),
        ('10<b style="font-size:70%;vertical-align: SUPER">-6</b>', "10⁻⁶"),
        ("<style>.up{vertical-align:super}</style>10<i class=up>6</i>", "10⁶"),
        ('10<span style="vertical-align:middle">6</span>', "106"),
        ("<p>a<sup>x</sup></p><p><sup>b</sup> note", "a^(x)\n\nb note"),
        ("<pre>10<sup>6</sup> 2<sup>k</sup></pre>", "10⁶ 2^(k)"),
        ("x<sup>" + "long " * 20 + "</sup>", "x" + ("long " * 20).strip()),
        ("<table><tr><td>10<sup>0.5</sup><td>2</table>", "10^(0.5) | 2"),
    ],
)
def test_in_html(markup: str, expected: str) -> None:
    assert plain(markup, limits=Limits()) == expected


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (["2", run("0.5", RAISED)], "2^(0.5)"),
        (["2", run("0", RAISED), run(".", RAISED), run("5", RAISED), " m"], "2^(0.5) m"),
        (["2", run("n", RAISED), run("x")], "2^(n)x"),
        (["10", run("6", '<w:position w:val="8"/>'), " cells"], "10⁶ cells"),
        (["10", run("6", '<w:position w:val="-6"/>'), " cells"], "106 cells"),
        (["10", run("6", '<w:position w:val="2"/>'), " cells"], "106 cells"),
        (["the 21", run("st", RAISED), " day"], "the 21st day"),
    ],
)
def test_in_word(runs: list[str], expected: str) -> None:
    assert read(word(paragraph(*runs) + paragraph("end"))).pages[0].text == f"{expected}\n\nend"


def test_raised_text_ends_with_its_line() -> None:
    line = f"<w:r><w:rPr>{RAISED}</w:rPr><w:t>a</w:t><w:br/><w:t>b</w:t></w:r>"
    assert read(word(paragraph("x", line) + paragraph("y", run("2", RAISED)))).pages[0].text == "x^(a)\nb\n\ny²"
