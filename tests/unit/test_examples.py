"""The example documents: the PDF is what its script builds, and the README's answers stand where it says."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from pypdf import PdfReader

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
REPORT = "sparsespec-report.pdf"
# The rule of thumb for tokens of these texts, numbers and tables included; the README's counts are a tokenizer's.
TOKENS_PER_WORD = 1.6
SIZES = {REPORT: (2_000, 6_000), "harbour-handbook.md": (2_000, 6_000), "field-notes.txt": (1_000, 2_500)}
# Other releases of reportlab name themselves in other words; the text must be the same under all.
BUILT_WITH = "5.1.0"
CELLS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Question:
    """One line of a table of the README."""

    document: str
    question: str
    answer: str
    where: str
    words: str


def pdf_pages(path: Path) -> list[str]:
    return [page.extract_text() for page in PdfReader(path).pages]


def text_of(document: str) -> str:
    path = EXAMPLES / document
    return "\n".join(pdf_pages(path)) if path.suffix == ".pdf" else path.read_text(encoding="utf-8")


def one_line(text: str) -> str:
    return " ".join(text.split())


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows under the heads, escaped bars made plain."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip().replace("\\|", "|") for cell in CELLS.split(line)[1:-1]] for line in lines]
    return [row for row in cells[1:] if set(row[0]) != {"-"}]


def readme_parts() -> list[str]:
    return re.split(r"\n## ", (EXAMPLES / "README.md").read_text(encoding="utf-8"))


def questions() -> list[Question]:
    found = []
    for part in readme_parts()[1:]:
        title, _, table = part.partition("\n")
        found += [Question(title.strip(" `"), *row) for row in rows(table)]
    return found


def place(document: str, where: str) -> str:
    """The page, numbered section, or part under a heading in capitals that `where` names."""
    if where.startswith("page "):
        return pdf_pages(EXAMPLES / document)[int(where.removeprefix("page ")) - 1]
    text = text_of(document)
    if where.startswith("section "):
        heads = (part for part in text.split("\n## ") if part.startswith(where.removeprefix("section ") + ". "))
    else:
        heads = (part for part in re.split(r"\n\n(?=[A-Z]{2})", text) if part.startswith(where))
    return next(heads)


@pytest.fixture
def arithmetic(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("sparsespec_report.arithmetic")


def test_every_example_has_four_or_five_questions() -> None:
    counts = {name: sum(question.document == name for question in questions()) for name in SIZES}
    assert sum(counts.values()) == len(questions())
    assert all(4 <= count <= 5 for count in counts.values()), counts


@pytest.mark.parametrize("question", questions(), ids=lambda question: question.question)
def test_the_answer_stands_where_the_readme_says(question: Question) -> None:
    assert question.answer in question.words
    assert question.words in one_line(place(question.document, question.where))


@pytest.mark.parametrize(("document", "bounds"), SIZES.items(), ids=SIZES)
def test_sizes_stay_in_bounds_and_agree_with_the_readme(document: str, bounds: tuple[int, int]) -> None:
    told = {row[0].strip("`"): int(row[2].replace(",", "")) for row in rows(readme_parts()[0])}[document]
    estimate = TOKENS_PER_WORD * len(text_of(document).split())
    assert bounds[0] <= estimate <= bounds[1]
    assert bounds[0] <= told <= bounds[1]
    assert abs(estimate - told) < 0.1 * told


@pytest.mark.skipif(importlib.util.find_spec("reportlab") is None, reason="reportlab, a dev extra, is not installed")
def test_the_report_is_what_its_script_builds(tmp_path: Path) -> None:
    built = tmp_path / "report.pdf"
    subprocess.run([sys.executable, "-B", str(EXAMPLES / "build_report.py"), str(built)], check=True)
    assert pdf_pages(built) == pdf_pages(EXAMPLES / REPORT)
    if importlib.metadata.version("reportlab") == BUILT_WITH:
        assert built.read_bytes() == (EXAMPLES / REPORT).read_bytes()


def test_the_report_prints_page_numbers_and_lists_its_sections() -> None:
    pages = pdf_pages(EXAMPLES / REPORT)
    assert 5 <= len(pages) <= 8
    for number, text in enumerate(pages, 1):
        assert text.rstrip().endswith(f"Page {number}")
    contents = re.findall(r"^ ?(\d\. .+) (\d)$", pages[0], re.MULTILINE)
    assert len(contents) == 9
    for title, number in contents:
        assert re.search(rf"^ ?{re.escape(title)}$", pages[int(number) - 1], re.MULTILINE)


def test_the_report_extracts_without_control_characters() -> None:
    text = text_of(REPORT)
    assert not re.search(r"[^\n\x20-\x7e\u00a0-\uffff]", text)
    assert "\ufffd" not in text


def test_expected_acceptance_agrees_with_counting_outcomes(arithmetic: ModuleType) -> None:
    probabilities = (0.9, 0.5, 0.8)
    stop_after = [1 - 0.9, 0.9 * 0.5, 0.9 * 0.5 * (1 - 0.8), 0.9 * 0.5 * 0.8]
    expected = sum(accepted * chance for accepted, chance in enumerate(stop_after))
    assert arithmetic.expected_accepted(probabilities) == pytest.approx(expected)


def test_the_acceptance_behind_a_share_is_found_again(arithmetic: ModuleType) -> None:
    share = arithmetic.expected_accepted([0.91] * 6) / 6
    assert arithmetic.per_token_acceptance(share, 6) == pytest.approx(0.91)


def test_speculative_sampling_keeps_the_distribution(arithmetic: ModuleType) -> None:
    for p, q in (((0.5, 0.3, 0.2), (0.7, 0.2, 0.1)), ((1.0, 0.0), (0.0, 1.0)), ((0.4, 0.6), (0.4, 0.6))):
        assert arithmetic.commit_probabilities(p, q)[2] == pytest.approx(list(p))
