"""Headers and footers that run through a PDF: which are left out after their first page, and what is never touched."""

from __future__ import annotations

import json

import pytest

from spsl_cli.answer import read_json
from spsl_cli.cli.read import _shown
from spsl_cli.documents import Collection, LeftOut
from spsl_cli.documents.pdf.raw import RawPage
from spsl_cli.documents.pdf.running import repeated_lines
from tests.unit.test_documents_pdf import lines, make_pdf, read_one
from tests.unit.test_documents_pdf_page import at


def body(page: int, *, top: float = 700, count: int = 12) -> bytes:
    """Lines close to one another, different on each page."""
    words = ("quay", "mast", "rope", "sail", "tide", "buoy", "keel", "hull", "deck", "oars", "pier", "crew")
    return b"".join(
        at(50, top - 15 * n, f"The {words[(page + n) % 12]} of berth {page * 31 + n} was mended.") for n in range(count)
    )


def document(tmp_path, *pages: bytes):
    return read_one(tmp_path, make_pdf(*pages))


def left_out(tmp_path, *pages: bytes) -> list[list[str]]:
    return [[line.text for line in page.left_out] for page in document(tmp_path, *pages).pages]


def gone(*texts: str, margins: tuple[int, ...] = (0,)) -> list[list[int]]:
    """Of pages that consist of a line in the margin and another one: the lines left out."""
    return [sorted(page) for page in repeated_lines([RawPage(f"{text}\nText.", None, (), margins) for text in texts])]


# --- what is left out


def test_a_header_and_a_footer_stay_on_their_first_page_only(tmp_path):
    pages = [at(50, 760, "Report of the harbour board") + body(n) + at(280, 40, f"page {n + 1} of 6") for n in range(6)]
    read = document(tmp_path, *pages)
    assert read.text.count("Report of the harbour board") == 1
    assert read.pages[0].text.startswith("Report of the harbour board\n")
    assert read.pages[0].text.endswith("\npage 1 of 6")
    assert read.pages[0].left_out == ()
    for number, page in enumerate(read.pages[1:], 2):
        assert page.left_out == (LeftOut(1, "Report of the harbour board"), LeftOut(14, f"page {number} of 6"))
        assert page.text.count("\n") == 11
    assert read.notices == ()


def test_places_are_those_on_the_whole_page(tmp_path):
    read = document(tmp_path, *(at(50, 760, "The harbour board") + body(n) for n in range(5)))
    start = read.text.index("berth 62 ")
    assert (read.place(start).page, read.place(start).line) == (3, 2)
    assert read.place(read.text.index("berth 0 ")).line == 2


def test_a_footer_that_is_drawn_first_is_still_a_footer(tmp_path):
    pages = [at(50, 40, "For the members of the board only") + body(n) for n in range(4)]
    assert left_out(tmp_path, *pages) == [[], *[["For the members of the board only"]] * 3]


def test_odd_and_even_pages_may_have_headers_of_their_own(tmp_path):
    pages = [at(50, 760, ("Harbours of the north", "Third part: tides")[n % 2]) + body(n) for n in range(8)]
    assert left_out(tmp_path, *pages)[2:] == [["Harbours of the north"], ["Third part: tides"]] * 3


def test_each_chapter_shows_its_header_once(tmp_path):
    pages = [at(50, 760, f"Chapter {1 + n // 5}: of {'tides' if n < 5 else 'winds'}") + body(n) for n in range(10)]
    assert [bool(page) for page in left_out(tmp_path, *pages)] == ([False] + [True] * 4) * 2


def test_a_page_without_the_header_ends_nothing(tmp_path):
    pages = [(b"" if n == 3 else at(50, 760, "Of the harbour")) + body(n) for n in range(8)]
    assert [len(page) for page in left_out(tmp_path, *pages)] == [0, 1, 1, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "texts",
    [
        [f"- {n} -" for n in range(1, 7)],
        [f"Annual report {n + 41}" for n in range(6)],
        ["iii", "iv", "v", "vi", "vii", "viii"],
        [f"Section IX, page {numeral}" for numeral in ("XL", "XLI", "XLII", "XLIII", "XLIV", "XLV")],
        [f"{n} | Report 2023 | {n} of 6" for n in range(1, 7)],
        [f"page {n}/6, part 6" for n in range(1, 7)],
        [f"3-{n}" for n in range(1, 7)],
        ["Ä  report", "Ä report"] * 3,
    ],
)
def test_numbers_that_go_along_with_the_page_make_no_difference(texts):
    assert gone(*texts) == [[], *[[0]] * 5]


# --- what stays


@pytest.mark.parametrize(
    "texts",
    [
        [f"Total {n * 37 + 5:,}" for n in range(8)],
        [f"printed at 10:{n * 7:02d}" for n in range(8)],
        [f"{n * n + 3}" for n in range(8)],
        ["1.50"] * 8,
        ["}"] * 8,
        ["* * *"] * 8,
        [f"Line {n}" for n in (9, 8, 7, 6, 5, 4, 3, 3)],
        ["a report", "another report", "a third report", "the report"] * 2,
        ["The same", *(f"Chapter {name}" for name in "ABCDE"), "The same", "The end"],
        ["x" * 300] * 8,
    ],
)
def test_other_differences_and_signs_alone_leave_all_as_it_is(texts):
    assert gone(*texts) == [[]] * 8


def test_a_short_document_keeps_all(tmp_path):
    pages = [at(50, 760, "Report of the harbour board") + body(n) for n in range(3)]
    assert left_out(tmp_path, *pages) == [[]] * 3


def test_a_page_of_nothing_else_keeps_it(tmp_path):
    texts = [RawPage("The board\nText.", None, (), (0,))] * 4
    assert repeated_lines([*texts, RawPage("The board", None, (), (0,)), *texts])[4] == frozenset()


def test_lines_of_which_the_parser_says_nothing_or_nonsense_stay():
    assert gone(*["The same line"] * 6, margins=()) == [[]] * 6
    assert gone(*["The same line"] * 6, margins=(7, -1)) == [[]] * 6


def test_rows_of_a_table_stay(tmp_path):
    head = at(50, 700, "Berth") + at(200, 700, "Depth") + at(350, 700, "Length")
    rows = b"".join(
        at(50, 685 - 15 * n, f"B{n}") + at(200, 685 - 15 * n, f"{n}.50") + at(350, 685 - 15 * n, "120")
        for n in range(9)
    )
    total = at(50, 550, "Sum") + at(200, 550, "45.50") + at(350, 550, "1,080")
    assert left_out(tmp_path, *[head + rows + total] * 6) == [[]] * 6


def test_the_heading_of_a_table_below_a_header_stays(tmp_path):
    heading = b"".join(at(x, 715, word) for x, word in ((50, "Berth"), (200, "Depth"), (350, "Length"), (450, "Owner")))
    pages = [at(50, 760, "List of berths") + heading + body(n, top=690) for n in range(5)]
    assert left_out(tmp_path, *pages) == [[], *[["List of berths"]] * 4]


def test_dialogue_and_code_stay(tmp_path):
    speech = [lines("ANNA: Where is it?", f"BEN: On pier {n}.", *["ANNA: No.", "BEN: Yes."] * 6) for n in range(6)]
    assert left_out(tmp_path, *speech) == [[]] * 6
    ends = ("end", "else", "end", "return depth", "wait()", "end")
    code = [
        lines(f"depth = {n * n + 7}", end, "", f"def berth_{n}():", *["    wait()"] * 8, "", end)
        for n, end in enumerate(ends)
    ]
    assert left_out(tmp_path, *code) == [[]] * 6


def test_large_titles_of_slides_stay(tmp_path):
    pages = [at(50, 740, "Results", size=28) + body(n, top=680) for n in range(5)]
    assert left_out(tmp_path, *pages) == [[]] * 5


# --- how it is told


def test_what_is_left_out_is_shown_and_in_the_json(tmp_path):
    read = document(tmp_path, *(at(50, 760, "The harbour board") + body(n) for n in range(4)))
    pages = json.loads(json.dumps(read_json(Collection((read,)))))["documents"][0]["pages"]
    assert pages[0]["left_out"] == []
    assert pages[3]["left_out"] == [{"line": 1, "text": "The harbour board"}]
    assert '--- page 4 (left out, as on earlier pages: "The harbour board")\n' in _shown(read)
    assert "--- page 1\nThe harbour board\n" in _shown(read)
