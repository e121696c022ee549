"""What an answer looked at: sentences in the document's own words, from weights of tokens; nothing is ever verified."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tokenizers import normalizers

from spsl_cli.citing.passages import LONGEST, looked_at, passages
from spsl_cli.documents import Document, Page, Place
from spsl_cli.prompting.layout import build_prompt
from spsl_cli.prompting.offsets import token_offsets
from tests.unit.test_prompting_template import CHATML
from tests.unit.test_prompting_tokenizers import byte_level, sentencepiece

LEASE = Document(
    "lease.pdf",
    "0" * 64,
    "application/pdf",
    (
        Page(1, "The tenant pays the rent.\nHeat is\nnot included. A dog is allowed.", "iv"),
        Page(2, "Repairs are the landlord's.", "1"),
    ),
)
NOTE = Document("note.txt", "1" * 64, "text/plain", (Page(1, "Keys are under the mat.\n\nThe bell is broken."),))
BOTH = (LEASE, NOTE)


def found(*weighed, documents=BOTH, **options):
    """The passages where these (document, words, weight) weigh, every character a token."""
    weights, offsets = [0.0, 5.0], [None, None]
    for number, document in enumerate(documents):
        for character in range(len(document.text)):
            offsets.append((number, character))
            weights.append(0.0)
    for number, words, weight in weighed:
        first = offsets.index((number, documents[number].text.index(words)))
        for index in range(first, first + len(words)):
            weights[index] = weight / len(words)
    return looked_at(weights, offsets, documents, **options)


def cut(text):
    starts = [*passages(text), len(text)]
    pieces = [text[start:end] for start, end in pairwise(starts)]
    assert "".join(pieces) == text
    assert all(len(piece.strip()) <= LONGEST for piece in pieces)
    return [" ".join(piece.split()) for piece in pieces]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rains today. It pours now! Does it stop?", ["It rains today.", "It pours now!", "Does it stop?"]),
        ("He said “it rains.” She went\nhome. It is late", ["He said “it rains.”", "She went home.", "It is late"]),
        ("It weighs 3.5 kg, i.e. not much, says Dr. Pell in Fig. 3 of it.", 1),
        ("The firm of A. Wren built the dome. It turns.", ["The firm of A. Wren built the dome.", "It turns."]),
        ("1. Introduction\n\nBees fly far away.", ["1. Introduction", "Bees fly far away."]),
        ("He waited… and then he left the house.", 1),
        ("今日は雨が降っていますので。明日は晴れるでしょう。", 2),
        ("page one has no end\fpage two has", ["page one has no end", "page two has"]),
        ("a line without end\n\nand another", ["a line without end", "and another"]),
        ("Scope\n\nBees fly far away.", ["Scope Bees fly far away."]),
        ("", [""]),
        ("\n\n", [""]),
    ],
)
def test_what_a_passage_is(text, sentences):
    pieces = cut(text)
    assert (len(pieces) if isinstance(sentences, int) else pieces) == sentences


def test_what_has_no_sentences_is_cut_at_its_lines_and_then_between_words():
    table = "\n".join(f"row {number}; {number * 7}; none" for number in range(60))
    assert cut(table) == table.splitlines()
    assert all(len(piece) > LONGEST // 2 for piece in cut("word " * 200)[:-1])
    assert [len(piece) for piece in cut("x" * 1000)] == [LONGEST, LONGEST, 200]


@pytest.mark.parametrize("unit", ["a. ", ".", ". ", "\n", " \n", "x\n", "? x", "…", "\f", '."', "Dr. \n\n", " "])
def test_long_texts_of_any_kind_are_cut_in_linear_time(unit):
    """A quarter of a million units: in quadratic time one of these takes minutes."""
    text = unit * 250_000 + "z"
    starts = list(passages(text))
    assert starts == sorted(set(starts))
    assert max(end - start for start, end in pairwise([*starts, len(text)])) <= 2 * LONGEST or not text.strip(" z\n")


def test_a_passage_has_the_documents_words_its_place_and_its_share():
    first, second = found((0, "Heat is\nnot", 6.0), (1, "bell", 2.0))
    assert (first.path, first.place, first.text, first.weight) == (
        "lease.pdf", Place(1, "iv", 2), "Heat is not included.", pytest.approx(0.75),
    )  # fmt: skip
    assert (second.path, second.place, second.text) == ("note.txt", Place(1, None, 3), "The bell is broken.")
    assert first.told() == 'looked at: "Heat is not included." (lease.pdf, page iv, line 2)'
    assert "verified" not in first.told()


def test_neighbours_are_one_passage_but_not_over_documents():
    (both,) = found((0, "Heat", 1.0), (0, "dog", 1.0))
    assert both.text == "Heat is not included. A dog is allowed."
    assert both.weight == pytest.approx(1.0)
    assert len(found((0, "Repairs are", 1.0), (1, "Keys are", 1.0))) == 2


def test_no_more_than_asked_for_and_none_that_weighs_little():
    weighed = [(0, "tenant", 3.0), (0, "dog", 2.0), (1, "Keys", 2.5), (1, "bell", 0.1)]
    assert [passage.text for passage in found(*weighed, most=1)] == ["The tenant pays the rent."]
    assert {passage.text for passage in found(*weighed, most=4)} == {
        "The tenant pays the rent.", "A dog is allowed.", "Keys are under the mat.",
    }  # fmt: skip


def test_the_same_weight_counts_for_more_in_a_shorter_passage():
    text = "The short one is here. " + "This one goes on and on, " * 8 + "and ends at last."
    document = Document("a.txt", "0" * 64, "text/plain", (Page(1, text),))
    (only,) = found((0, "short", 1.0), (0, "goes", 1.1), documents=(document,), most=1)
    assert only.text == "The short one is here."


def test_the_best_for_its_length_stands_first_though_two_together_weigh_more():
    first, second = found((1, "Keys are", 3.0), (0, "tenant", 2.5), (0, "Heat", 2.0))
    assert (first.text, second.text) == ("Keys are under the mat.", "The tenant pays the rent. Heat is not included.")
    assert first.weight < second.weight


def test_without_weight_on_documents_there_is_nothing():
    assert found() == ()
    assert looked_at([1.0, 2.0], [None, None], BOTH) == ()
    with pytest.raises(ValueError, match="argument 2 is"):
        looked_at([1.0], [], BOTH)


# ---- from tokens to characters ---------------------------------------------------------------------------------------


def nfc():
    tokenizer = byte_level(chat_template=CHATML)
    tokenizer.backend_tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def offsets_of(tokenizer, documents):
    prompt = build_prompt(tokenizer, documents, "Why?")
    offsets = token_offsets(tokenizer, prompt.ids, prompt.spans, documents)
    assert len(offsets) == len(prompt.ids)
    assert all(offset is None for offset in offsets[: prompt.spans[0][0]] + offsets[prompt.documents_end :])
    return prompt, offsets


@pytest.mark.parametrize("build", [byte_level, sentencepiece, nfc])
def test_tokens_lead_to_their_characters(build):
    tokenizer = build()
    strange = Document(
        "s.txt", "2" * 64, "text/plain", (Page(1, "漢字 😀 naïve  two\n\n\tend <|end|>\nDocument 1: s.txt"),)
    )
    documents = (LEASE, NOTE, strange)
    prompt, offsets = offsets_of(tokenizer, documents)
    seen = [set(), set(), set()]
    for index, offset in enumerate(offsets):
        if offset is None:
            continue
        number, character = offset
        seen[number].add(character)
        start, end = prompt.spans[number]
        assert start <= index < end
        text = tokenizer.decode([prompt.ids[index]] * 2, skip_special_tokens=True).strip()
        if text and "\ufffd" not in text:
            assert documents[number].text.startswith(text[0], character)
    for document, characters in zip(documents, seen, strict=True):
        assert characters <= set(range(len(document.text)))
        for word in ("tenant", "Repairs", "mat.", "bell", "two", "漢", "字", "end", "Document"):
            if word in document.text:
                assert document.text.index(word) in characters


def test_header_and_page_marks_stand_for_no_character():
    page = Document(
        "2.pdf", "0" * 64, "application/pdf", (Page(1, "2.pdf"), Page(2, "2"), Page(3, ""), Page(4, "[page 4]"))
    )
    tokenizer = byte_level(chat_template=CHATML)
    prompt, offsets = offsets_of(tokenizer, [page])
    inside = [token for token, offset in zip(prompt.ids, offsets, strict=True) if offset is not None]
    assert tokenizer.decode(inside) == "2.pdf2[page 4]"
    assert {offset[1] for offset in offsets if offset} <= {0, 1, 2, 3, 4, 6, *range(9, 17)}


def test_a_tokenizer_that_composes_characters_leads_to_the_right_line():
    text = "cafe\u0301 au lait e\u0301te\u0301\nsecond line\nthe thi\u0301rd\n"
    document = Document("a.txt", "0" * 64, "text/plain", (Page(1, text),))
    _, offsets = offsets_of(nfc(), [document])
    characters = {offset[1] for offset in offsets if offset}
    assert {0, text.index("second"), text.index("line"), text.index("the")} <= characters
    assert max(characters) < len(text)


def test_a_page_that_a_tokenizer_changes_otherwise_has_no_offsets_but_its_neighbours_have():
    tokenizer = byte_level(chat_template=CHATML)
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace("rent", "toll")
    _, offsets = offsets_of(tokenizer, [LEASE, NOTE])
    second = LEASE.text.index("\f")
    assert {number for number, _ in filter(None, offsets)} == {0, 1}
    assert all(character > second for number, character in filter(None, offsets) if number == 0)


def test_a_lone_surrogate_does_not_lose_its_page():
    document = Document("a.txt", "0" * 64, "text/plain", (Page(1, "one \ud800 two"),))
    _, offsets = offsets_of(byte_level(chat_template=CHATML), [document])
    assert (0, 6) in offsets
