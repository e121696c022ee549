"""What makes one line of a PDF page: raised numbers, words broken at its end, forms filled in later, rows of tables."""

from __future__ import annotations

import pytest

from spsl_cli.documents import read_paths
from spsl_cli.documents.pdf.hyphens import join, vocabulary
from tests.unit.test_documents_pdf import make_pdf
from tests.unit.test_documents_pdf_page import at, build, read

COURIER = b"<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding>>"


def text(content: bytes) -> str:
    """Of letters that are 0.6 of their size wide."""
    return read(build(content, font=COURIER)).text


def behind(first: str, sign: str, rest: str = "", *, size: float = 7, rise: float = 4) -> bytes:
    """Three pieces side by side, the second smaller and raised."""
    x = 50 + 7.2 * len(first)
    end = x + 0.6 * size * len(sign)
    return at(50, 700, first) + at(x, 700 + rise, sign, size=size) + (at(end, 700, rest) if rest else b"")


# --- raised numbers


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (behind("1.5 x 10", "6", " cells"), "1.5 x 10⁶ cells"),
        (behind("1.5 x 10", "-12"), "1.5 x 10⁻¹²"),
        (behind("rose by 5", "1", " percent"), "rose by 5¹ percent"),
        (behind("so it is", "1,2", " said"), "so it is¹,² said"),
        (behind("10", "2n", " steps"), "10^(2n) steps"),
        (behind("the 5", "th", " day"), "the 5th day"),
        (behind("a map of R", "n", " into"), "a map of R^(n) into"),
        (behind("[x", "k", "]"), "[x^(k)]"),
        (behind("article N", "o", " 7"), "article No 7"),
        (behind("as M", "e", " Blum"), "as Me Blum"),
        (behind("a word", "n", " more"), "a wordn more"),
        (behind("10", "6", size=9, rise=3), "10⁶"),
        # On the line, below it, as large as the line, or too far above: no exponent.
        (behind("10", "6", rise=0), "106"),
        (behind("CO", "2", rise=-3), "CO2"),
        (behind("10", "6", size=12, rise=3), "106"),
        # A fraction.
        (behind("age 70", "1", "/2"), "age 70 1/2"),
    ],
)
def test_raised_numbers_are_no_more_digits_of_what_they_stand_behind(content, shown):
    assert text(content) == shown


def test_a_raised_number_with_its_own_operator_is_raised():
    assert text(b"BT /F 12 Tf 50 700 Td (20 m)Tj 5 Ts /F 7 Tf (2)Tj 0 Ts /F 12 Tf ( of land)Tj ET") == "20 m² of land"


def test_a_raised_number_before_a_note_stays_one():
    assert text(at(50, 704, "1", size=7) + at(56, 700, "See the annex.")) == "1 See the annex."


def test_digits_set_apart_by_the_spacing_of_characters_are_columns():
    """One string through five columns of a table; a title set in spaced letters stays a word."""
    assert text(b"BT /F 6 Tf 50 700 Td 35 Tc (00000) Tj ET") == "0 0 0 0 0"
    assert text(b"BT /F 6 Tf 50 700 Td 9 Tc (HARBOUR) Tj ET") == "HARBOUR"


# --- words broken at a line's end


@pytest.mark.parametrize(
    ("broken", "joined"),
    [
        ("the har-\nbour wall", "the harbour\nwall"),
        ("Verfü-\ngung steht", "Verfügung\nsteht"),
        ("l'inter-\nnational, hier", "l'international,\nhier"),
        ("(inter-\nnational)", "(international)"),
        ("pre-\nand post-war", "pre-\nand post-war"),
        ("Vor-\nund Nachteile", "Vor-\nund Nachteile"),
        ("avant-\net après", "avant-\net après"),
        ("order XK-\nab now", "order XK-ab\nnow"),
        ("an e-\nmail to", "an e-mail\nto"),
        ("mother-in-\nlaw came", "mother-in-law\ncame"),
        ("long-\nterm-loans", "long-term-loans"),
        ("http://a.example/long-\npath/x.html here", "http://a.example/long-path/x.html\nhere"),
        ("mail ann-\nlee@b.example to", "mail ann-lee@b.example\nto"),
        ("h2o-\nbased", "h2o-based"),
        ("iPhone-\nlike", "iPhone-like"),
        ("a non-\nEU state", "a non-\nEU state"),
        # A soft hyphen never belongs to the word.
        ("mother-in-\nlaw", "mother-in-law"),
        ("an e\u00ad\nmail", "an email"),
    ],
)
def test_only_a_plain_word_loses_its_hyphen(broken, joined):
    assert join(broken, frozenset()) == joined


def test_a_word_known_elsewhere_wins():
    pages = ["We saw thousands of a thousand and governmental words.", "a thous-\nand, non-govern-\nmental"]
    assert join(pages[1], vocabulary(pages)) == "a thousand,\nnon-governmental"


def test_words_of_cells_side_by_side_are_not_joined(tmp_path):
    """A letterhead: what the left cell breaks off, its own next line goes on with, and not what is read next."""
    content = at(50, 700, "which is a well-") + at(300, 700, "lies in the old har-")
    content += at(50, 680, "known address") + at(300, 680, "bour district")
    content += at(50, 640, "and below it a har-") + at(50, 620, "bour in one column")
    (tmp_path / "a.pdf").write_bytes(make_pdf(content, font=COURIER))
    shown = read_paths([str(tmp_path / "a.pdf")]).documents[0].text
    assert "well-" in shown
    assert "harknown" not in shown.replace(" ", "")
    assert "a harbour" in shown


def test_line_numbers_of_what_is_not_joined_count_without_what_was_left_out(tmp_path):
    """On every page a header above the line whose word stays broken."""
    pages = [
        at(50, 780, "The harbour handbook") + at(50, 700, f"page {name} has a well-") + at(300, 700, "right har-")
        + at(50, 680, "known cell") + at(300, 680, "bour cell")
        for name in ("one", "two", "three", "four", "five")
    ]  # fmt: skip
    (tmp_path / "a.pdf").write_bytes(make_pdf(*pages, font=COURIER))
    document = read_paths([str(tmp_path / "a.pdf")]).documents[0]
    assert document.pages[3].left_out
    assert not any("harknown" in page.text.replace(" ", "") for page in document.pages)


# --- forms whose values were drawn later

LABELS = ("Name:", "Date of birth:", "Policy number:", "Premium:", "Agent:")
VALUES = ("Anna Klein", "12 May 1980", "PX-9931", "410 EUR", "R. Moss")


@pytest.mark.parametrize("step", [20, 30, 16.9])
def test_values_drawn_after_all_labels_stand_beside_them(step):
    content = b"".join(at(50, 700 - step * n, label) for n, label in enumerate(LABELS))
    content += b"".join(at(250, 700 - step * n + (n % 2), value) for n, value in enumerate(VALUES))
    wanted = [f"{label} {value}" for label, value in zip(LABELS, VALUES, strict=True)]
    assert text(content).split("\n") == wanted


@pytest.mark.parametrize("blank", ["______", "......", "      "])
def test_what_is_written_on_a_blank_stands_in_it(blank):
    content = at(50, 700, f"The rent is {blank} euro.") + at(50, 670, f"It begins on {blank * 2} for good.")
    content += at(50 + 7.2 * 13, 702, "900") + at(50 + 7.2 * 14, 671, "1 May 2024")
    assert text(content) == "The rent is 900 euro.\nIt begins on 1 May 2024 for good."


def test_blanks_that_nobody_filled_in_stay():
    assert text(at(50, 700, "Tenant: ______ Date: ......")) == "Tenant: ______ Date: ......"


def test_numbers_of_a_table_drawn_column_by_column_make_its_rows():
    columns = ("Year", "2019", "2020", "2021"), ("Revenue", "100", "120", "90"), ("Profit", "10", "12", "-9")
    content = b""
    for x, column in zip((50, 200, 350), columns, strict=True):
        content += b"".join(at(x, 700 - 13 * n, cell) for n, cell in enumerate(column))
    assert text(content).split("\n") == ["Year Revenue Profit", "2019 100 10", "2020 120 12", "2021 90 -9"]


def test_blocks_of_lines_side_by_side_stay_apart():
    blocks = (
        ("Bill to:", "Anna Klein", "Main Street 5", "Bigtown"),
        ("Ship to:", "Otto Gross", "Side Alley 7", "Smallville"),
    )
    content = b"".join(
        at(x, 700 - 14 * n, line) for x, b in zip((50, 320), blocks, strict=True) for n, line in enumerate(b)
    )
    assert text(content).split("\n") == [*blocks[0], *blocks[1]]


def test_a_note_in_the_margin_does_not_run_into_the_text():
    prose = ["The tenant pays the rent on", "the first day of each month", "to the account of the landlord"]
    content = b"".join(at(150, 700 - 14 * n, line) for n, line in enumerate(prose)) + at(400, 686, "See annex")
    assert text(content).split("\n") == [*prose, "See annex"]


def test_a_number_and_its_date_in_the_margin_do_not_run_into_the_text():
    prose = ["The register is open to all who", "work for the harbour, and holds", "the depths of the last years"]
    margin = ["2.3.59", "(01-17-2023)", "Background"]
    content = b"".join(at(50, 700 - 14 * n, line) for n, line in enumerate(margin))
    content += b"".join(at(200, 700 - 14 * n, line) for n, line in enumerate(prose))
    assert text(content).split("\n") == [*margin, *prose]


def test_signs_raised_beside_lower_ones_make_no_line_of_their_own():
    content = at(50, 704, "(i)", size=7) + at(80, 698, "j, w", size=7) + at(120, 704, "(k)", size=7)
    assert text(content).split("\n") == ["(i)", "j, w", "(k)"]


def test_numbers_of_lines_do_not_run_into_the_text():
    prose = [f"Line of the pleading that is number {n}" for n in range(1, 7)]
    content = b"".join(at(50, 700 - 14 * n, str(n)) for n in range(1, 7))
    content += b"".join(at(90, 700 - 14 * n, line) for n, line in enumerate(prose, 1))
    assert text(content).split("\n") == ["1", "2", "3", "4", "5", "6", *prose]


# --- tables of prose


def cell(row: int, side: str) -> list[str]:
    return [f"The {side} wording of", f"the clause number {row}", f"as it is in force {row}"]


def table(rows: int, *, ruled: bool, step: float = 60) -> tuple[bytes, list[str]]:
    content, wanted = b"", []
    for row in range(rows):
        top = 750 - step * row
        for n in range(3):
            for x, side in ((50, "old"), (320, "new")):
                content += at(x, top - 14 * n, cell(row, side)[n])
        wanted += [*cell(row, "old"), *cell(row, "new")]
        if ruled:
            content += b"45 %f 530 0.5 re f " % (top + 11)
    if ruled:
        content += b"45 %f m 575 %f l S 45 %f m 45 761 l S " % (761 - step * rows, 761 - step * rows, 761 - step * rows)
    return content, wanted


@pytest.mark.parametrize(("ruled", "step"), [(True, 60), (True, 42), (False, 60)])
def test_a_table_of_prose_is_read_row_by_row(ruled, step):
    content, wanted = table(5, ruled=ruled, step=step)
    assert text(content).split("\n") == wanted


def test_questions_and_answers_make_rows():
    rows = [(f"Who pays the fee number {n}?", f"The tenant pays fee {n}") for n in range(1, 11)]
    content = b"".join(at(50, 750 - 20 * n, a) + at(320, 750 - 20 * n, b) for n, (a, b) in enumerate(rows))
    assert text(content).split("\n") == [f"{a} {b}" for a, b in rows]


def test_columns_of_text_with_a_rule_between_them_stay_columns():
    content = b"0 765 600 0.5 re f 300 100 m 300 760 l S "
    names = [[f"{side} line {n} of this column" for n in range(14)] for side in ("first", "second")]
    for n in range(14):
        content += at(40, 730 - 14 * n, names[0][n]) + at(320, 730 - 14 * n, names[1][n])
    assert text(content).split("\n") == [*names[0], *names[1]]


def test_paragraphs_of_two_columns_at_other_heights_stay_columns():
    columns = []
    content: list[tuple[float, bytes]] = []
    for x, lengths in ((40, (3, 5, 4, 3)), (320, (5, 3, 3, 4))):
        y, lines = 730.0, []
        for p, length in enumerate(lengths):
            for n in range(length):
                lines.append(f"Column {x} has {p} and {n} here")
                content.append((y, at(x, y, lines[-1])))
                y -= 14
            y -= 10
        columns += lines
    drawn = b"".join(shown for _, shown in sorted(content, key=lambda one: -one[0]))
    assert text(drawn).split("\n") == columns
