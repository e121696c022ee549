"""Text as tokens come: the pieces put together are the text of all ids, and no character is shown in halves."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from tokenizers import AddedToken, Tokenizer, decoders
from tokenizers.models import WordPiece
from transformers import PreTrainedTokenizerFast

from spsl_cli.prompting.detokenize import IncrementalText, piece
from tests.unit.test_prompting_tokenizers import LINES, byte_level, sentencepiece, unigram

TEXTS = [
    "漢字かな交じり文、한국어, ไทย, नमस्ते",
    "😀👩‍👩‍👧‍👦🏳️‍🌈 é e\u0301 \u200b🇩🇪",
    "  two  leading\n\n\tspaces  ",
    " ".join(LINES),
    "A real \ufffd stays, \ufffd\ufffd too.\ufffd",
]


def word_piece() -> PreTrainedTokenizerFast:
    vocab = ["[UNK]", "[CLS]", "the", "dog", "##s", "##gy", ".", "do"]
    backend = Tokenizer(WordPiece({word: number for number, word in enumerate(vocab)}, unk_token=vocab[0]))
    backend.decoder = decoders.WordPiece()
    backend.add_special_tokens(["[CLS]"])
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def metaspace() -> PreTrainedTokenizerFast:
    tokenizer = sentencepiece("first")
    tokenizer.backend_tokenizer.decoder = decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")]
    )
    return tokenizer


def decoded(tokenizer: PreTrainedTokenizerFast, ids: list[int]) -> str:
    return tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


def in_rounds(ids: list[int], generator: random.Random) -> Iterator[list[int]]:
    """The ids as a decoder brings them: a few at a time, sometimes none."""
    start = 0
    while start < len(ids):
        size = generator.randrange(0, 7)
        yield ids[start : start + size]
        start += size


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("build", [byte_level, sentencepiece, metaspace])
def test_cut_at_every_token_no_character_is_split(build: Callable[[], PreTrainedTokenizerFast], text: str) -> None:
    tokenizer = build()
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    for cut in range(len(ids) + 1):
        stream = IncrementalText(tokenizer)
        parts = [stream.push(ids[:cut]), stream.push(ids[cut:]), stream.flush()]
        assert "".join(parts) == stream.text == decoded(tokenizer, ids)
        assert text.lstrip().startswith(parts[0].lstrip())


@pytest.mark.parametrize("text", [*TEXTS, "\ufffd" * 60 + "end"])
def test_token_by_token_only_whole_characters_are_shown(text: str) -> None:
    tokenizer = byte_level()
    stream = IncrementalText(tokenizer)
    shown = ""
    for token in tokenizer(text)["input_ids"]:
        shown += stream.push([token])
        assert text.startswith(shown)
    assert shown + stream.flush() == text


@pytest.mark.parametrize("build", [byte_level, unigram, word_piece])
def test_random_ids(build: Callable[[], PreTrainedTokenizerFast]) -> None:
    """300 sequences of any ids, control tokens and ids the tokenizer does not know among them."""
    tokenizer = build()
    generator = random.Random(11)
    for _ in range(300):
        ids = [generator.randrange(len(tokenizer) + 5) for _ in range(generator.randrange(120))]
        stream = IncrementalText(tokenizer)
        pieces = [stream.push(part) for part in in_rounds(ids, generator)]
        pieces.append(stream.flush())
        assert "".join(pieces) == stream.text == decoded(tokenizer, ids)


def test_random_broken_bytes() -> None:
    """Bytes of which hardly any two belong together: what is held back, and for how long, matters most here."""
    tokenizer = byte_level()
    broken = [token for token in range(len(tokenizer)) if "\ufffd" in tokenizer.decode([token])]
    generator = random.Random(5)
    for length in [*range(60), 300, 1_000]:
        ids = generator.choices(broken, k=length)
        stream = IncrementalText(tokenizer)
        for part in in_rounds(ids, generator):
            stream.push(part)
        stream.flush()
        assert stream.text == decoded(tokenizer, ids)


def test_tokens_that_end_inside_a_character_every_time() -> None:
    """Each token holds the end of one character and the beginning of the next, so no token ends a character."""
    tokenizer = byte_level()
    text = "漢" * 100
    single = tokenizer(text)["input_ids"]
    assert len(single) == 300
    first, second, third = tokenizer.convert_ids_to_tokens(single[:3])
    tokenizer.add_tokens([AddedToken(third + first, special=False, normalized=False)])
    straddling = tokenizer.convert_tokens_to_ids(third + first)
    ids = [single[0], *[single[1], straddling] * 99, single[1], single[2]]
    assert decoded(tokenizer, ids) == text
    stream = IncrementalText(tokenizer)
    shown = [stream.push([token]) for token in ids]
    assert "".join(shown) == text
    assert set(shown) == {"", "漢"}
    assert second != third


@pytest.mark.parametrize("build", [sentencepiece, metaspace])
def test_spaces_between_words_stay_and_the_first_one_goes_as_in_one_piece(
    build: Callable[[], PreTrainedTokenizerFast],
) -> None:
    tokenizer = build()
    space = tokenizer.convert_tokens_to_ids("▁")
    ids = tokenizer("the dog", add_special_tokens=False)["input_ids"]
    for sequence in (ids, [space, *ids], [space, space, *ids, space, space, *ids], [2, *ids, 2, *ids]):
        stream = IncrementalText(tokenizer)
        for token in sequence:
            stream.push([token])
        stream.flush()
        assert stream.text == decoded(tokenizer, sequence)


def test_byte_fallback_keeps_what_was_whole_before_a_wrong_byte() -> None:
    tokenizer = sentencepiece()
    good = tokenizer("漢", add_special_tokens=False)["input_ids"]
    wrong = tokenizer.convert_tokens_to_ids("<0xFF>")
    letter = tokenizer.convert_tokens_to_ids("a")
    stream = IncrementalText(tokenizer)
    for token in [*good, wrong, letter]:
        stream.push([token])
    stream.flush()
    assert stream.text.startswith("漢")
    assert stream.text.endswith("\ufffda")


@pytest.mark.parametrize("text", ["漢", "a dog. ", "\ufffd"])
def test_the_cost_of_a_push_does_not_grow_with_the_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted are the tokens decoded for each new one, in the middle of 4,000; broken bytes included."""
    tokenizer = byte_level()
    ids = tokenizer(text * 4_000)["input_ids"][:3_999]
    stream = IncrementalText(tokenizer)
    longest = 0
    decode = PreTrainedTokenizerFast.decode

    def counting(self: PreTrainedTokenizerFast, token_ids: list[int], **kwargs: bool) -> str:
        nonlocal longest
        longest = max(longest, len(token_ids))
        return decode(self, token_ids, **kwargs)

    monkeypatch.setattr(PreTrainedTokenizerFast, "decode", counting)
    for token in ids:
        stream.push([token])
    assert 0 < longest <= 32


def test_an_unfinished_character_waits_for_the_end() -> None:
    tokenizer = byte_level()
    ids = tokenizer("a😀")["input_ids"]
    stream = IncrementalText(tokenizer)
    assert [stream.push([token]) for token in ids[:-1]] == ["a", "", "", ""]
    assert stream.flush() == "\ufffd"
    assert stream.flush() == ""
    assert stream.text == "a\ufffd"


def test_special_tokens_and_those_to_be_skipped_leave_no_trace() -> None:
    tokenizer = byte_level(("<|end|>", AddedToken("<tool>", special=False), AddedToken("<stop>", special=False)))
    ids = tokenizer("a<|end|>b<tool>c<stop>")["input_ids"]
    stream = IncrementalText(tokenizer, skip_ids=[tokenizer.convert_tokens_to_ids("<stop>")])
    assert stream.push(ids) + stream.flush() == "ab<tool>c"
    assert IncrementalText(tokenizer).push(ids) == "ab<tool>c<stop>"


def test_a_character_around_a_special_token_is_put_together() -> None:
    tokenizer = byte_level()
    first, second, third = tokenizer("漢")["input_ids"]
    end = tokenizer.convert_tokens_to_ids("<|end|>")
    assert IncrementalText(tokenizer).push([first, end, second, third]) == "漢"


def test_a_single_token_is_shown_with_its_space_its_name_or_as_broken() -> None:
    llama, gpt = sentencepiece(), byte_level()
    assert piece(llama, llama.convert_tokens_to_ids("▁th")) == " th"
    assert piece(llama, llama.convert_tokens_to_ids("th")) == "th"
    assert piece(llama, llama.convert_tokens_to_ids("▁")) == " "
    assert piece(llama, llama.convert_tokens_to_ids("<s>")) == "<s>"
    assert piece(gpt, gpt.convert_tokens_to_ids("<|end|>")) == "<|end|>"
    assert piece(gpt, gpt("漢")["input_ids"][0]) == "\ufffd"
    assert piece(gpt, len(gpt) + 7) == f"[{len(gpt) + 7}]"
