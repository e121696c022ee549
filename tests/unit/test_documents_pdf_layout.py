"""Where text stands on a page: rows, words, columns, tables, text on its side, and right-to-left text."""

from __future__ import annotations

import math

import pytest

from spsl_cli.documents.pdf import bidi
from tests.unit.test_documents_pdf import lines, unicode_font
from tests.unit.test_documents_pdf_page import at, build, read

LEFT = ("The harbour was built by hand", "in the years after the flood,", "and every stone came by boat", "from")
RIGHT = ("Its wall has been mended twice", "since then, once with concrete", "and once with the old stones", "back")


def text(content: bytes) -> str:
    return read(build(content)).text


def words(content: bytes) -> list[str]:
    return text(content).split()


# --- words


@pytest.mark.parametrize("gap", [200, 278, 400])
def test_a_gap_within_a_string_is_a_blank(gap):
    assert text(b"BT /F 12 Tf 50 700 Td [(two)-%d(words)]TJ ET" % gap) == "two words"


@pytest.mark.parametrize("gap", [-60, 0, 30, 90])
def test_kerning_parts_no_words(gap):
    assert text(b"BT /F 12 Tf 50 700 Td [(o)%d(ne)%d(word)]TJ ET" % (gap, gap)) == "oneword"


def test_letters_spaced_out_evenly_make_words():
    shown = b"(C)-200(O)-200(N)-200(T)-200(E)-200(N)-200(T)-600(P)-200(A)-200(G)-200(E)"
    assert text(b"BT /F 12 Tf 50 700 Td [%s]TJ ET" % shown) == "CONTENT PAGE"
    placed = [*zip(range(50, 134, 12), "HARBOUR", strict=True), *zip(range(144, 192, 12), "MAST", strict=True)]
    assert text(b"".join(at(x, 700, sign) for x, sign in placed)) == "HARBOUR MAST"


def test_single_signs_of_a_formula_stay_apart():
    assert text(b"".join(at(50 + 14 * n, 700, sign) for n, sign in enumerate("a+b=c"))) == "a + b = c"


def test_wide_spacing_that_is_taken_back_is_a_gap_elsewhere():
    assert text(b"BT /F 12 Tf 3.3 Tc 50 700 Td [(45)275(5)275(9)]TJ ET") == "4 559"


def test_raised_and_lowered_signs_stay_in_their_line():
    content = at(50, 700, "The area of 12 m") + at(138, 704, "2", size=7) + at(143, 700, "was measured twice.")
    assert text(content) == "The area of 12 m² was measured twice."


def test_a_large_first_letter_begins_its_word():
    content = at(50, 660, "O", size=48) + at(88, 686, "nce there was a ferry") + at(88, 672, "between the two")
    assert text(content + at(50, 658, "islands.")).startswith("Once there was a ferry\n")


# --- directions


@pytest.mark.parametrize("angle", [0, 30, 45, 90, 137, 180, 270, 315])
@pytest.mark.parametrize("letter_by_letter", [False, True])
def test_text_at_any_angle_is_read_along_its_line(angle, letter_by_letter):
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    matrix = f"{cos:.5f} {sin:.5f} {-sin:.5f} {cos:.5f}"
    if letter_by_letter:
        # Courier: 0.6 of the size a letter, so that the pen's way is known.
        sign = "Depth below quay"
        content = b"".join(
            at(300 + 7.2 * n * cos, 400 + 7.2 * n * sin, letter, matrix=matrix)
            for n, letter in enumerate(sign)
            if letter != " "
        )
        font = b"<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding>>"
        assert read(build(content, font=font)).text == sign
    else:
        assert text(at(300, 400, "Depth below the quay", matrix=matrix)) == "Depth below the quay"


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_turned_page_reads_as_an_upright_one(rotation):
    content = lines("First line", "Second line")
    page = read(build(content, page=b"/Rotate %d" % rotation))
    assert page.text == "First line\nSecond line"


def test_a_table_on_its_side_keeps_its_rows():
    rows = [("Port", "Depth"), ("Bergen", "11"), ("Oslo", "9")]
    content = b""
    for n, row in enumerate(rows):
        content += b"".join(at(100 + 20 * n, 100 + 150 * c, cell, matrix="0 1 -1 0") for c, cell in enumerate(row))
    assert [line.split() for line in text(content).split("\n")] == [list(row) for row in rows]


def test_vertical_text_is_read_from_top_to_bottom():
    font = b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/UniJIS-UTF16-V/DescendantFonts[6 0 R]>>"
    below = b"<</Type/Font/Subtype/CIDFontType0/BaseFont/X/DW 1000>>"
    first, second = ("灯台の光".encode("utf-16-be").hex(), "海の上".encode("utf-16-be").hex())
    content = f"BT /F 12 Tf 500 700 Td <{first}> Tj ET BT /F 12 Tf 480 700 Td <{second}> Tj ET".encode()
    assert read(build(content, font=font, more=(below,))).text == "灯台の光\n海の上"


# --- columns and tables


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("rise", [0, 5])
def test_columns_drawn_line_by_line_are_read_one_after_the_other(columns, rise):
    names = ("First", "Second", "Third")[:columns]
    texts = [[f"{name} line {n} of this column" for n in range(1, 15)] for name in names]
    content = at(50, 760, "A Heading over all of the columns of this page, which is long enough")
    for n in range(14):
        for c in range(columns):
            content += at(40 + 185 * c, 730 - 14 * n + rise * (c % 2), texts[c][n])
    heading, *rest = text(content).split("\n")
    assert heading.startswith("A Heading")
    assert rest == [line for column in texts for line in column]


def test_columns_drawn_one_after_the_other_keep_their_order():
    content = b"".join(at(50, 700 - 14 * n, line) for n, line in enumerate(LEFT))
    content += b"".join(at(320, 700 - 14 * n, line) for n, line in enumerate(RIGHT))
    assert text(content).split("\n") == [*LEFT, *RIGHT]


def test_a_table_keeps_its_rows():
    rows = [(f"Item {n}", str(12 * n), f"{n}.50") for n in range(1, 16)]
    content = b""
    for n, row in enumerate(rows):
        content += b"".join(at(x, 700 - 15 * n, cell) for x, cell in zip((50, 250, 400), row, strict=True))
    assert text(content).split("\n") == [" ".join(row) for row in rows]


def test_cells_of_a_row_are_put_in_order():
    assert text(at(300, 700, "right") + at(50, 700, "left") + at(170, 700, "middle")) == "left middle right"


def test_lines_drawn_from_the_bottom_up_are_read_from_the_top_down():
    content = b"".join(at(50, 700 - 30 * n, f"Line {n}") for n in reversed(range(1, 12)))
    assert text(content).split("\n") == [f"Line {n}" for n in range(1, 12)]


# --- right to left


@pytest.mark.parametrize(
    ("seen", "meant"),
    [
        ("םולש", "שלום"),
        ("םלוע םולש", "שלום עולם"),
        ("!םולש", "שלום!"),
        ("2024 תנש", "שנת 2024"),
        ("12.5 םלוש ריחמ", "מחיר שולם 12.5"),
        ("םולש hello world רמא", "אמר hello world שלום"),
        ("he said םולש twice and left", "he said שלום twice and left"),
        ("(םולש) רמא", "אמר (שלום)"),
        ("plain text", "plain text"),
    ],
)
def test_right_to_left_text_is_put_in_the_order_of_reading(seen, meant):
    assert bidi.logical(list(seen)) == meant


def test_shaped_letters_become_plain_ones_and_marks_follow_their_letter():
    assert bidi.logical(["\ufee1", "\ufefc", "\ufeb3"]) == "سلام"
    assert bidi.logical(["ב", "ש", "\u05c1"]) == "ש\u05c1ב"


@pytest.mark.parametrize("by_letter", [False, True])
def test_hebrew_on_a_page_is_in_the_order_of_reading(by_letter):
    seen = "םולש"  # as it is drawn, from left to right
    font, (below, cmap) = unicode_font({n: sign.encode("utf-16-be") for n, sign in enumerate(seen, 1)})
    font = font.replace(b"[4 0 R]", b"[6 0 R]").replace(b"/ToUnicode 5 0 R", b"/ToUnicode 7 0 R")
    if by_letter:
        # As one writes it: the first letter first, each further to the left.
        content = b"".join(b"BT /F 12 Tf %d 700 Td <%04X> Tj ET " % (50 + 6 * n, n) for n in (4, 3, 2, 1))
    else:
        content = b"BT /F 12 Tf 50 700 Td <0001000200030004> Tj ET"
    assert read(build(content, font=font, more=(below, cmap))).text == "שלום"


def test_words_keep_their_page_order():
    assert words(lines("one two", "three")) == ["one", "two", "three"]
