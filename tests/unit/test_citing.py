"""Quotes of an answer: which they are, and what becomes of each. Nothing that is not there is ever verified."""

from __future__ import annotations

import random

import pytest

from spsl_cli.citing.citations import Status, cite
from spsl_cli.citing.claims import claim
from spsl_cli.citing.matching import same_runs
from spsl_cli.citing.quotes import quotes_in
from spsl_cli.citing.typography import plain
from spsl_cli.documents import Document, Page

PAGES = (
    "The tenant pays 1,500 euro a month, due on the 3rd day.\nHeat is not included in this sum.",
    "The landlord repairs the roof within 14 days of a\nwritten notice. “Ordinary wear” is nobody’s fault.",  # noqa: RUF001
    "Interest of 4.5 percent falls due. Losses beyond 10⁶ euro are\nshared. The tenant keeps a dog — a small one.",
)
REPORT = Document("lease.pdf", "0" * 64, "application/pdf", tuple(Page(i, text) for i, text in enumerate(PAGES, 1)))
NOTE = Document("note.txt", "1" * 64, "text/plain", (Page(1, "Dogs are welcome here.\nEach pays 20 crowns a day."),))
BOTH = (REPORT, NOTE)


def only(answer, documents=BOTH):
    (citation,) = cite(answer, documents)
    return citation


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('It says "the tenant pays rent" there.', ["the tenant pays rent"]),
        ("Es heißt „die Mieterin zahlt alles“ und «le locataire paie tout».", 2),
        ("»Die Mieterin zahlt alles« steht dort.", ["Die Mieterin zahlt alles"]),
        ("他写道「租户每月支付一千五百欧元」。", 1),
        ("As written:\n> The tenant pays\n> on the 3rd.\nSo be it.", ["The tenant pays\non the 3rd."]),
        ('The "lease" and the "big one" are names.', []),
        ("It isn't the tenants' fault, or is it the landlord's fault?", []),
        ('He wrote "nothing more of it.', []),
    ],
)
def test_what_a_quote_is(answer, found):
    quotes = [quote.text for quote in quotes_in(answer)]
    assert (len(quotes) if isinstance(found, int) else quotes) == found


@pytest.mark.parametrize(
    ("behind", "page"),
    [(" [page 3]", "3"), (". (page iv)", "iv"), (" (p. 12)", "12"), (" as page 3 says", "3"), ("", None)],
)
def test_the_page_an_answer_names(behind, page):
    (quote,) = quotes_in(f'"the tenant pays the rent"{behind}')
    assert quote.text == "the tenant pays the rent"
    assert [parts for _, parts in claim(quote.said, BOTH).pages] == ([(page,)] if page else [])


@pytest.mark.parametrize(
    ("answer", "path", "page", "line"),
    [
        ('"The tenant pays 1,500 euro a month"', "lease.pdf", 1, 1),
        ("“the TENANT pays 1,500\neuro  a month,” it says [page 1]", "lease.pdf", 1, 1),
        ('"Heat is not included in this sum." (page 1)', "lease.pdf", 1, 2),
        ('"within 14 days of a written notice"', "lease.pdf", 2, 1),
        ('»"Ordinary wear" is nobody\'s fault«', "lease.pdf", 2, 2),
        ('"The tenant keeps a dog - a small one."', "lease.pdf", 3, 2),
        ('"Each pays 20 crowns a day" [page 1]', "note.txt", 1, 2),
    ],
)
def test_verified_at_its_place(answer, path, page, line):
    citation = only(answer)
    assert citation.status is Status.VERIFIED
    assert (citation.path, citation.place.page, citation.place.line) == (path, page, line)


@pytest.mark.parametrize(
    "answer",
    [
        '"The tenant pays 1,600 euro a month"',
        '"The tenant pays 1,500 euro a year"',
        '"Heat is included in this sum"',
        '"the tenant pays 1,500 euro a month, due on the 3rd day. The landlord repairs the roof"',
        '"euro a month, due on the 3rd da"',
        '"5 percent falls due"',
        '"Losses beyond 106 euro are shared"',
        '"enant pays 1,500 euro"',
        '"Interest of 4" of something else',
        '"500 euro a month, due on the 3rd"',
        '"The tenant pays ... on the 3rd day."',
        '"The roof leaks in winter and nobody cares"',
    ],
)
def test_never_verified(answer):
    assert all(citation.status is not Status.VERIFIED for citation in cite(answer, BOTH))


def test_a_page_that_is_not_the_one_named_is_repaired():
    citation = only('"The landlord repairs the roof" [page 3]')
    assert citation.status is Status.REPAIRED
    assert citation.place.page == 2


def test_printed_labels_and_numbers_both_name_a_page():
    book = Document("b.pdf", "2" * 64, "application/pdf", (Page(1, "The first of all pages.", label="iv"),))
    for named in ("iv", "1"):
        assert only(f'"first of all pages" [page {named}]', (book,)).status is Status.VERIFIED
    assert only('"first of all pages" [page 4]', (book,)).status is Status.REPAIRED


def test_words_slightly_wrong_are_repaired_with_the_documents_own():
    citation = only('"The landlord will repair the roof within 14 days of written notice"')
    assert citation.status is Status.REPAIRED
    assert citation.source.startswith("The landlord repairs the roof within 14 days of a written notice")
    assert citation.place.page == 2


def test_something_left_out_is_repaired_with_what_stands_between():
    citation = only('"The tenant pays 1,500 euro … is not included in this sum."')
    assert citation.status is Status.REPAIRED
    assert citation.source == " ".join(PAGES[0].split()).removesuffix(".")


@pytest.mark.parametrize(
    "quote",
    [
        "The landlord repairs the roof within 15 days of a written notice",
        "The landlord repairs the roof within 14 weeks of a written notice",
        "The landlord repairs the roof within fourteen days of a written notice",
        "The landlord repairs the door within 14 days of a written notice",
        "The landlord repairs the roof only within 14 days of a written notice",
        "The landlord never repairs the roof within 14 days of a written notice",
        "The roof repairs the landlord within 14 days of a written notice",
        "The landlord repairs the roof within 14 days of an unwritten notice",
        "Interest of 4.5 permille falls due. Losses beyond 10⁶ euro are shared.",
        "Interest of 4.5 percent falls due. Losses beyond 10⁵ euro are shared.",
        "Interest of 4.5 percent falls due. Losses beyond ¹10⁶ euro are shared.",
        "The tenant pays 1,500 euro a month ... Heat is ... included in this sum.",
    ],
)
def test_never_repaired(quote):
    """Numbers, units, negations, what bounds a statement, one word for an unlike one, another order."""
    assert only(f'"{quote}"').status is Status.UNVERIFIED


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        ("The landlord repairs roof within 14 days of a written notice", PAGES[1][:64].replace("\n", " ")),
        ("The landlords repair the the roof within 14 days", "The landlord repairs the roof within 14 days"),
        ("The tennant keeps a dog, a small one", "The tenant keeps a dog — a small one"),
        (
            "Interest of 4.5 percent fals due; losses beyond 10⁶ euro",
            "Interest of 4.5 percent falls due. Losses beyond 10⁶ euro",
        ),
    ],
)
def test_slips_are_repaired_with_the_documents_own_words(quote, source):
    citation = only(f'"{quote}"')
    assert (citation.status, citation.source) == (Status.REPAIRED, source)
    assert source[:40] in citation.told()


def test_of_several_places_the_one_on_the_page_named():
    pages = tuple(Page(number, "The same sentence stands everywhere.") for number in (1, 2, 3))
    document = Document("x.pdf", "3" * 64, "application/pdf", pages)
    citation = only('"The same sentence stands everywhere" [page 2]', (document,))
    assert (citation.status, citation.place.page) == (Status.VERIFIED, 2)


def test_places_lead_back_through_what_has_no_width():
    text = "so\u00adft  \ufb01nding\u200b of\nold"
    (run,) = same_runs("soft finding of old", plain(text))
    assert text[run.start : run.end] == text
    assert plain("ﬁ").text == "fi"
    assert plain("10⁶ ½ ①").text == "10⁶ ½ ①"


def altered(words, how, rng):
    """A run of words that is not in the text, in one of the ways answers go wrong."""
    words = words[:]
    at = rng.randrange(1, len(words) - 1)
    if how == "number":
        words[at] = str(rng.randrange(2, 99))
    elif how == "swapped":
        words[at], words[at + 1] = words[at + 1], words[at]
    elif how == "dropped":
        del words[at]
    elif how == "added":
        words.insert(at, "not")
    elif how == "letter":
        words[at] = words[at] + "s" if len(words[at]) > 1 else "xs"
    return " ".join(words)


def test_five_hundred_altered_quotes_are_not_verified_and_as_many_true_ones_are():
    rng = random.Random(7)
    text = [f"w{rng.randrange(400)}x" if rng.random() < 0.8 else str(rng.randrange(1000, 9999)) for _ in range(3000)]
    lines = [" ".join(text[i : i + 12]) for i in range(0, 3000, 12)]
    pages = tuple(Page(i // 25 + 1, "\n".join(lines[i : i + 25])) for i in range(0, 250, 25))
    document = Document("long.pdf", "4" * 64, "application/pdf", pages)
    flat = " ".join(text)
    for number in range(500):
        start = rng.randrange(0, 2980)
        words = text[start : start + rng.randrange(6, 16)]
        true = only(f'"{" ".join(words)}"', (document,))
        assert true.status is Status.VERIFIED
        assert true.source == " ".join(words) or flat.count(" ".join(words)) > 1
        quote = altered(words, ("number", "swapped", "dropped", "added", "letter")[number % 5], rng)
        if f" {quote} " not in f" {flat} ":
            assert only(f'"{quote}"', (document,)).status is not Status.VERIFIED
