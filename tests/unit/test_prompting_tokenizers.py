"""Small tokenizers of the kinds that models come with, and what `plain_tokenizer` makes of them."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import BPE, Unigram, WordLevel
from transformers import PreTrainedTokenizerFast

from spsl_cli.errors import UnsupportedModelError
from spsl_cli.prompting.data_tokens import encode_data
from spsl_cli.prompting.plain_tokenizer import plain_tokenizer

LINES = [
    "The quick brown fox jumps over the lazy dog.",
    "Question: what does the document say on page 3? Answer: nothing.",
    "Documents are data, and data are not instructions.\n\nThe end.",
]
UNKNOWN, BOS = "<unk>", "<s>"
CONTROL = ("<|start|>", "<|end|>", "<tool>")


def byte_level(added: tuple[str | AddedToken, ...] = CONTROL, **kwargs: Any) -> PreTrainedTokenizerFast:
    """Byte-level BPE like that of GPT-2, Llama 3, Qwen and SmolLM2; `added` tokens come behind the vocabulary."""
    backend = Tokenizer(BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    backend.train_from_iterator(LINES, trainer)
    backend.add_tokens([AddedToken(t, normalized=False, special=True) if isinstance(t, str) else t for t in added])
    return PreTrainedTokenizerFast(tokenizer_object=backend, **kwargs)


def with_bos(tokenizer: PreTrainedTokenizerFast, token: str) -> PreTrainedTokenizerFast:
    """The same tokenizer, putting `token` in front of every input by default."""
    number = tokenizer.convert_tokens_to_ids(token)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{token} $A", pair=f"{token} $A $B", special_tokens=[(token, number)]
    )
    return tokenizer


def sentencepiece(kind: str = "prepend", **kwargs: Any) -> PreTrainedTokenizerFast:
    """BPE with byte fallback like that of Llama 2 ("prepend") or of later conversions ("first", "always")."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁"]
    pieces += [*sorted(set("".join(LINES)) - set(" \n")), "th", "▁th", "▁d", "in", "er", "▁a"]
    merges = [("t", "h"), ("▁", "th"), ("▁", "d"), ("i", "n"), ("e", "r"), ("▁", "a")]
    vocab = {piece: number for number, piece in enumerate(pieces)}
    backend = Tokenizer(BPE(vocab=vocab, merges=merges, unk_token=UNKNOWN, fuse_unk=True, byte_fallback=True))
    if kind == "prepend":
        backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=kind, split=False)
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in ("<unk>", "<s>", "</s>")])
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token=UNKNOWN, bos_token=BOS, **kwargs)


def unigram(control: tuple[str, ...] = ("<s>", "</s>")) -> PreTrainedTokenizerFast:
    """A vocabulary that leads to its control tokens by itself: they are its best pieces."""
    letters = sorted(set("".join([*LINES, *control, "</>|日本\ufffd?"])) - {c for c in control if len(c) == 1})
    backend = Tokenizer(Unigram([("<unk>", -20.0), *((c, 0.0) for c in control), *((c, -5.0) for c in letters)], 0))
    backend.decoder = decoders.Fuse()
    backend.add_special_tokens(["<unk>", *control])
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token=UNKNOWN)


def word_level() -> PreTrainedTokenizerFast:
    """Words or nothing: every other word is `<unk>`, a control token."""
    backend = Tokenizer(WordLevel({"<unk>": 0, "a": 1, "dog": 2, "?": 3}, unk_token=UNKNOWN))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.add_special_tokens(["<unk>"])
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token=UNKNOWN)


def test_ordinary_text_gets_the_ids_that_the_models_tokenizer_gives() -> None:
    tokenizer = byte_level()
    for line in [*LINES, "", " \n\t ", "naïve 漢字 😀 <|en d|>"]:
        assert encode_data(tokenizer, line) == tokenizer(line, add_special_tokens=False)["input_ids"]


def test_added_white_space_keeps_its_own_ids() -> None:
    """Models are taught indentation by them; behind a control token their ids are not the next free ones."""
    spaces = AddedToken("    ", normalized=False, special=False)
    tokenizer = byte_level(("<|start|>", spaces, AddedToken("\n\n", normalized=True, rstrip=True)))
    ids = encode_data(tokenizer, "x    y\n\n z<|start|>")
    assert tokenizer.convert_tokens_to_ids("    ") in ids
    assert tokenizer.convert_tokens_to_ids("\n\n") in ids
    assert tokenizer.convert_tokens_to_ids("<|start|>") not in ids
    assert tokenizer.decode(ids) == "x    y\n\n z<|start|>"


@pytest.mark.parametrize("kind", ["prepend", "first", "always"])
def test_no_space_is_put_in_front_of_a_piece_of_text(kind: str) -> None:
    tokenizer = sentencepiece(kind)
    pieces = tokenizer.convert_ids_to_tokens(encode_data(tokenizer, "the dog"))
    assert pieces == ["th", "e", "▁d", "o", "g"]
    assert tokenizer("the dog", add_special_tokens=False).tokens()[0] == "▁th"


def test_a_byte_level_tokenizer_with_prefix_space_adds_none_either() -> None:
    tokenizer = byte_level()
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=True)]
    )
    assert tokenizer.decode(encode_data(tokenizer, "dog 12")) == "dog 12"


def test_the_vocabulary_is_shared_and_the_models_tokenizer_left_alone() -> None:
    tokenizer = byte_level()
    before = tokenizer.backend_tokenizer.to_str()
    plain = plain_tokenizer(tokenizer)
    assert plain.control_ids == frozenset(tokenizer.convert_tokens_to_ids(list(CONTROL)))
    assert tokenizer.backend_tokenizer.to_str() == before


def test_truncation_set_in_the_tokenizer_file_does_not_cut_data() -> None:
    tokenizer = byte_level()
    tokenizer.backend_tokenizer.enable_truncation(max_length=3)
    assert tokenizer.decode(encode_data(tokenizer, LINES[0])) == LINES[0]


@pytest.mark.parametrize("unit", ["a line of text\n", "word ", "x"])
def test_long_texts_go_through_in_chunks_without_a_seam(unit: str) -> None:
    tokenizer = byte_level()
    text = unit * (200_000 // len(unit))
    assert tokenizer.decode(encode_data(tokenizer, text)) == text
    if unit.strip() != unit:
        assert encode_data(tokenizer, text) == tokenizer(text, add_special_tokens=False)["input_ids"]


def test_a_tokenizer_without_the_library_is_refused() -> None:
    class Slow:
        is_fast = False

    with pytest.raises(UnsupportedModelError, match=r"Slow.*tokenizer\.json"):
        plain_tokenizer(Slow())  # type: ignore[arg-type]
