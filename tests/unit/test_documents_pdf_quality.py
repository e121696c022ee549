"""How much of real PDFs is found, against another library's text: where SPSL_TEST_DOCUMENTS names a folder of them.

A file is opened without a password. Files in whose reading the two differ for a reason are judged by their words alone:
columns that are drawn line by line, right-to-left text, text that nobody sees, and pages full of formulas.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import closing
from difflib import SequenceMatcher
from pathlib import Path

import pypdfium2
import pytest

from spsl_cli.documents.document import Page
from spsl_cli.documents.pdf import hyphens
from spsl_cli.documents.pdf.assembly import assemble
from spsl_cli.documents.pdf.extraction import PdfPages
from spsl_cli.documents.pdf.raw import Outline
from spsl_cli.documents.pdf.second import cleaned
from spsl_cli.documents.source import Source, UnreadableError

FOLDER = os.environ.get("SPSL_TEST_DOCUMENTS")
FILES = sorted(Path(FOLDER).rglob("*.pdf")) if FOLDER else []
PAGES = 12
PAGES_IN_A_ROW = 40
WANTED = 0.99
MOST_LEFT_OUT = 0.1
FORMULAS = 0.15  # of a page's words, so many single letters
WORD = re.compile(r"\w+")
NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not FOLDER, reason="SPSL_TEST_DOCUMENTS names no folder")]


def readings(path: Path) -> list[tuple[list[str], list[str], tuple[str, ...]]]:
    """For up to PAGES pages spread over the file: the other library's words, ours, and what we warn of."""
    data = path.read_bytes()
    try:
        opened = PdfPages(Source(path.name, data))
        document = pypdfium2.PdfDocument(data)
    except (UnreadableError, pypdfium2.PdfiumError) as error:
        pytest.skip(f"cannot be opened: {error}")
    with closing(opened), closing(document):
        total = min(opened.outline.total, len(document))
        chosen = range(0, total, max(1, total // PAGES))
        theirs = [_plain(document[index].get_textpage().get_text_range()) for index in chosen]
        pages = [opened.page(index) for index in chosen]
    known = hyphens.vocabulary(theirs)
    theirs = [hyphens.join(text, known) for text in theirs]
    try:
        ours = assemble(Outline(len(chosen), (None,) * len(chosen)), pages).pages
    except UnreadableError:
        assert not any(text.strip() for text in theirs)
        pytest.skip("no text")
    return [(*_compared(WORD.findall(a), _words(whole(b))), b.warnings) for a, b in zip(theirs, ours, strict=True)]


def _compared(theirs: list[str], ours: list[str]) -> tuple[list[str], list[str]]:
    """Of a page full of formulas the words around them: the other library has primes as 0, norms as k, others as 6=."""
    if sum(len(word) == 1 for word in theirs) < FORMULAS * len(theirs):
        return theirs, ours
    return [word for word in theirs if _is_word(word)], [word for word in ours if _is_word(word)]


def _is_word(text: str) -> bool:
    return len(text) > 2 and text.isalpha()


def _words(text: str) -> list[str]:
    """Its words; a raised number is one of its own, as in the other library's text, where it has a line of its own."""
    return WORD.findall(re.sub("([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", r" \1 ", text).translate(RAISED))


def whole(page: Page) -> str:
    """Its text with the repeated headers and footers, each in its place."""
    lines = page.text.split("\n")
    for left_out in page.left_out:
        lines.insert(left_out.line - 1, left_out.text)
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Cleaned of pdfium's own signs, with the long s that it makes of one ligature as the s that it stands for."""
    return cleaned(text).text.replace("\u017f", "s")


def in_order(theirs: list[str], ours: list[str]) -> int:
    blocks = SequenceMatcher(None, theirs, ours, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_nearly_all_words_are_found(path):
    wanted = found = 0
    for theirs, ours, warnings in readings(path):
        if any(warning.startswith("hidden text left out") for warning in warnings):
            theirs = list((Counter(theirs) & Counter(ours)).elements()) or theirs  # noqa: PLW2901 - told, so not missed
        wanted += len(theirs)
        shared = in_order(theirs, ours)
        if shared < WANTED * len(theirs):
            shared = max(shared, (Counter(theirs) & Counter(ours)).total())
        found += shared if not RIGHT_TO_LEFT.search(" ".join(ours)) else len(theirs)
    assert found >= WANTED * wanted, f"{found} of {wanted} words"


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_what_is_left_out_is_little_and_stands_on_a_page_before(path):
    try:
        with closing(PdfPages(Source(path.name, path.read_bytes()))) as opened:
            total = min(opened.outline.total, PAGES_IN_A_ROW)
            pages = assemble(Outline(total, (None,) * total), [opened.page(index) for index in range(total)]).pages
    except UnreadableError as error:
        pytest.skip(str(error))
    before: set[str] = set()
    for page in pages:
        assert [line.text for line in page.left_out if _form(line.text) not in before] == []
        before.update(_form(line) for line in page.text.split("\n"))
    words = sum(len(WORD.findall(whole(page))) for page in pages)
    left_out = sum(len(WORD.findall(line.text)) for page in pages for line in page.left_out)
    assert left_out <= MOST_LEFT_OUT * words, f"{left_out} of {words} words"


def _form(line: str) -> str:
    return NUMBER.sub("#", " ".join(line.split()))
