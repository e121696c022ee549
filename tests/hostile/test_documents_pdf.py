"""Damaged and hostile PDFs: the page numbers stay right, the loss is told, and nothing raises or loops."""

from __future__ import annotations

import random
import zlib

import pytest

from spsl_cli.documents import read_paths
from spsl_cli.documents.pdf.assembly import assemble
from spsl_cli.documents.pdf.extraction import PdfPages
from spsl_cli.documents.pdf.interpreter import Interpreter
from spsl_cli.documents.source import Source
from tests.unit.test_documents_pdf import glyphs, lines, make_pdf, read_one, reason

DAMAGED = "damaged PDF: its list of objects was rebuilt, and parts may be missing"


def book(pages: int = 5) -> bytes:
    return make_pdf(*(lines(f"Chapter {number}.", "It was a long winter.") for number in range(1, pages + 1)))


def test_a_lost_table_and_trailer_are_rebuilt(tmp_path):
    data = book()
    without_table = data[: data.index(b"xref\n")]
    for damaged in (without_table, without_table + b"trailer\n<</Size 14/Root 1 0 R>>\n", data[:-30]):
        document = read_one(tmp_path, damaged)
        assert [page.text.partition(".")[0] for page in document.pages] == [f"Chapter {n}" for n in range(1, 6)]
        assert document.warnings == (DAMAGED,)


def test_a_file_cut_in_the_middle_tells_which_pages_are_missing(tmp_path):
    data = book()
    document = read_one(tmp_path, data[: data.index(b"Chapter 4") - 150])
    assert [page.number for page in document.pages] == [1, 2, 3, 4, 5]
    assert document.pages[2].text.startswith("Chapter 3")
    assert DAMAGED in document.notices
    assert any("4-5: could not be read" in notice for notice in document.notices)


def test_a_missing_page_leaves_the_others_their_numbers(tmp_path):
    document = read_one(tmp_path, make_pdf(lines("One"), lines("Three"), kids="4 0 R 99 0 R 6 0 R"))
    assert [(page.number, page.text) for page in document.pages] == [(1, "One"), (2, ""), (3, "Three")]
    assert document.pages[1].warnings[0] == "could not be read: it is missing from the file"


@pytest.mark.parametrize("kids", ["4 0 R 2 0 R", "2 0 R 4 0 R", "2 0 R 2 0 R 4 0 R"])
def test_a_page_tree_that_holds_itself(tmp_path, kids):
    document = read_one(tmp_path, make_pdf(lines("The only page."), kids=kids))
    assert document.text == "The only page."


def test_one_page_that_unpacks_to_a_hundred_megabytes(tmp_path):
    bomb = zlib.compress(b"\n" * 100_000_000)
    stream = b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(bomb), bomb)
    heavy = b"<</Type/Page/Parent 2 0 R/Resources<</Font<</F 3 0 R>>>>/Contents 4 0 R>>"
    data = make_pdf(lines("Before."), lines("After."), kids="6 0 R 5 0 R 8 0 R", more=(stream, heavy))
    document = read_one(tmp_path, data)
    assert [page.text for page in document.pages] == ["Before.", "", "After."]
    assert "page 2: could not be read: " in document.notices[0]


@pytest.mark.parametrize(
    "error", [KeyError("/Font"), RecursionError(), MemoryError(), ZeroDivisionError(), ValueError("x\ny")]
)
@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_page_that_fails_costs_itself_only(monkeypatch, error, failing):
    real, calls = Interpreter.run, []

    def run(self, data):
        calls.append(self)
        if len(calls) == failing:
            raise error
        return real(self, data)

    monkeypatch.setattr(Interpreter, "run", run)
    opened = PdfPages(Source("file.pdf", book(3)), pdfium=False)  # in this process, for a patch reaches no other
    pages = assemble(opened.outline, [opened.page(index) for index in range(3)]).pages
    assert [bool(page.text) for page in pages] == [number != failing for number in (1, 2, 3)]
    assert pages[failing - 1].warnings[0].startswith("could not be read: ")
    assert "\n" not in pages[failing - 1].warnings[0]
    assert not any(page.warnings for page in pages if page.number != failing)


def test_a_catalog_without_pages_says_what_is_missing(tmp_path):
    assert reason(tmp_path, book(1).replace(b"/Pages 2 0 R", b"/Other 2 0 R")) == "broken PDF: '/Pages' is missing"


def test_labels_that_fail_cost_only_themselves(tmp_path):
    data = book(2).replace(b"/Type/Catalog", b"/Type/Catalog/PageLabels<</Nums[0 9 0 R 1 (x)]>>")
    assert [page.label for page in read_one(tmp_path, data).pages] == [None, None]


@pytest.mark.parametrize(
    "data",
    [b"%PDF-", b"%PDF-1.7\n%%EOF", b"%PDF-1.7\n" + bytes(range(256)) * 40, b"\0" * 2000, make_pdf(kids="")],
    ids=["header", "header and end", "noise", "zeros", "no pages"],
)
def test_what_is_no_pdf_is_told_in_one_line(tmp_path, data):
    told = reason(tmp_path, data)
    assert told.startswith("broken PDF: ")
    assert "\n" not in told


def test_text_of_a_page_never_holds_controls_or_separators(tmp_path):
    codes = [code.to_bytes(2, "big") for code in (*range(0x20), *range(0x7F, 0xA0), 0xFFFE, 0xFFFF, 0xD800, 0xDFFF)]
    document = read_one(tmp_path, glyphs("start", *codes, "end"))
    document.text.encode()
    assert not {c for c in document.text if (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f" or c == "\f"}
    assert len(document.pages) == 1


def test_mutated_files_neither_raise_nor_reach_stderr(tmp_path, capfd):
    """Two hundred files with a few bytes changed, removed or doubled; the seed is fixed."""
    chance, data = random.Random(11), book(3)
    for number in range(200):
        mutated = bytearray(data)
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(mutated))
            match chance.randrange(3):
                case 0:
                    mutated[at] = chance.randrange(256)
                case 1:
                    del mutated[at : at + chance.randint(1, 40)]
                case _:
                    mutated[at:at] = mutated[at : at + chance.randint(1, 40)]
        (tmp_path / f"{number}.pdf").write_bytes(mutated)
    collection = read_paths([str(tmp_path)])
    assert len(collection.documents) + len(collection.skipped) == 200
    assert not any(skip.reason.startswith("could not be read") for skip in collection.skipped)
    for document in collection.documents:
        assert [page.number for page in document.pages] == list(range(1, len(document.pages) + 1))
        document.text.encode()
    assert capfd.readouterr() == ("", "")


def test_a_source_never_shows_its_password_or_bytes():
    assert "bronze" not in repr(Source("a.pdf", b"bronze", "bronze"))


def test_a_page_object_that_its_table_misses_is_found_all_the_same(tmp_path):
    data = book(3)
    at = data.index(b"%010d" % data.index(b"6 0 obj"))
    document = read_one(tmp_path, data[:at] + b"0000000003" + data[at + 10 :])
    assert [page.text.partition(".")[0] for page in document.pages] == ["Chapter 1", "Chapter 2", "Chapter 3"]
