"""Documents in parts: everything is there, in order, nothing is too long, and cuts respect the structure."""

from __future__ import annotations

import random

import pytest

from spsl_cli.documents.document import Document, Page
from spsl_cli.prompting.parts import split


def words(text):
    return len(text.split())


def document(*pages, path="a.txt", media_type="text/plain"):
    return Document(path, "0" * 64, media_type, tuple(Page(i, text) for i, text in enumerate(pages, start=1)))


def report(*pages, path="r.pdf"):
    return document(*pages, path=path, media_type="application/pdf")


def text_of(parts):
    return " ".join(page.text for part in parts for one in part for page in one.pages).split()


def size(part):
    return sum(words(page.text) for one in part for page in one.pages)


def test_what_fits_is_one_part():
    documents = [document("one two three"), document("four", path="b.txt")]
    (part,) = split(documents, words, 10)
    assert [(one.path, one.text) for one in part] == [("a.txt", "one two three"), ("b.txt", "four")]


def test_a_part_ends_between_documents_where_it_can():
    documents = [document("w " * 70), document("v " * 60, path="b.txt"), document("u " * 70, path="c.txt")]
    parts = split(documents, words, 100)
    assert [[one.path for one in part] for part in parts] == [["a.txt"], ["b.txt"], ["c.txt"]]


def test_a_part_ends_before_a_chapter_rather_than_a_page_and_before_a_page_rather_than_a_paragraph():
    chapter = report("a " * 30, "b " * 30, "Chapter 2\n" + "c " * 20, "d " * 18, "e " * 90)
    first = split([chapter], words, 100)[0]
    assert [page.number for page in first[0].pages] == [1, 2]
    pages = report("a " * 30 + "\n\n" + "b " * 30, "c " * 10 + "\n\n" + "d " * 60, "e " * 60)
    assert [page.number for page in split([pages], words, 100)[0][0].pages] == [1]


def test_a_heading_of_markdown_is_a_chapter():
    text = "\n\n".join(["# One", "a " * 40, "b " * 30, "# Two", "c " * 10, "d " * 80])
    assert split([document(text)], words, 100)[0][0].text.split()[-1] == "b"


def test_pages_keep_their_numbers_and_labels():
    pages = tuple(Page(number, "w " * 50, label) for number, label in ((1, "i"), (2, "ii"), (3, "1")))
    parts = split([Document("r.pdf", "0" * 64, "application/pdf", pages)], words, 50)
    assert [[(page.number, page.label) for page in part[0].pages] for part in parts] == [
        [(1, "i")],
        [(2, "ii")],
        [(3, "1")],
    ]


def test_parts_are_about_as_long_as_one_another():
    sizes = [size(part) for part in split([document("\n\n".join(["w " * 10] * 21))], words, 100)]
    assert len(sizes) == 3
    assert min(sizes) >= 50


def test_what_every_document_and_page_takes_besides_its_text_is_counted():
    parts = split([report(*["w " * 20] * 10)], words, 100, overhead=5)
    assert all(sum(words(page.text) + 5 for page in part[0].pages) <= 100 for part in parts)
    assert len(parts) == 3


@pytest.mark.parametrize("text", ["x" * 5000, "word " * 5000, "line\n" * 5000, "字" * 3000, "", "   \n\n  "])
def test_a_text_without_structure_is_cut_all_the_same(text):
    parts = split([document(text)], len, 700)
    assert "".join(text_of(parts)) == "".join(text.split())
    assert all(len(page.text) <= 700 for part in parts for one in part for page in one.pages)


def test_no_limit_is_no_part():
    with pytest.raises(ValueError, match="0 tokens"):
        split([document("a")], words, 0)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_or_told_twice_and_nothing_is_too_long(seed):
    chance = random.Random(seed)

    def some_text():
        blocks = [" ".join(f"w{chance.randrange(10**6)}" for _ in range(chance.randrange(60))) for _ in range(9)]
        return chance.choice(["\n", "\n\n", " \n \n", "\n# H\n\n"]).join(blocks)

    documents = [
        (report if chance.random() < 0.5 else document)(
            *[some_text() for _ in range(chance.choice([1, 3]))], path=str(n)
        )
        for n in range(chance.randrange(1, 5))
    ]
    limit = chance.choice([40, 150, 700])
    parts = split(documents, words, limit)
    assert text_of(parts) == text_of([documents])
    assert all(size(part) <= limit for part in parts)
