"""Thinking and answer told apart: by the marks of each family, at every cut of the stream, and with no text lost."""

from __future__ import annotations

import random

import pytest
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from spsl_cli.prompting.detokenize import IncrementalText
from spsl_cli.prompting.thinking import ThinkingText
from spsl_cli.prompting.thinking_marks import PAIRS, thinking_marks
from tests.unit.test_prompting_tokenizers import byte_level, sentencepiece

HARMONY = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "<|constrain|>")
CHAT = "{% for m in messages %}{{ m.content }}{% endfor %}"
ANALYSIS = "<|channel|>analysis<|message|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>"


def tokens(*marks: str, special: bool = False, template: str = CHAT) -> PreTrainedTokenizerFast:
    """A model whose marks are tokens; `special` ones leave no trace in its text."""
    tokenizer = byte_level(tuple(AddedToken(mark, normalized=False, special=special) for mark in marks))
    tokenizer.chat_template = template
    return tokenizer


def qwen() -> PreTrainedTokenizerFast:
    return tokens("<think>", "</think>")


def mistral() -> PreTrainedTokenizerFast:
    return tokens("[THINK]", "[/THINK]", special=True)


def written(template: str = CHAT + "{% set x = y.split('</think>')[-1] %}") -> PreTrainedTokenizerFast:
    """A model whose template names the marks, which are ordinary text to its tokenizer."""
    return tokens(template=template)


def harmony() -> PreTrainedTokenizerFast:
    return tokens(*HARMONY, special=True)


def encode(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def split(
    tokenizer: PreTrainedTokenizerFast, text: str, prompt: str = "", skip: tuple[str, ...] = ()
) -> tuple[str, str, bool]:
    """(thinking, answer, whether the thinking was cut off), after each way of cutting the stream gave the same."""
    ids = encode(tokenizer, text)
    skip_ids = [tokenizer.convert_tokens_to_ids(token) for token in skip]
    results = set()
    for step in (1, 2, 3, 7, max(1, len(ids))):
        stream = ThinkingText(tokenizer, skip_ids, encode(tokenizer, prompt))
        parts = [part for at in range(0, len(ids), step) for part in stream.push(ids[at : at + step])]
        parts += stream.flush()
        told = ["".join(part.text for part in parts if part.thinking is kind) for kind in (True, False)]
        assert told == [stream.thinking, stream.text]
        results.add((stream.thinking, stream.text, stream.inside))
    assert len(results) == 1
    return results.pop()


# ---- each family --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not pair.label], ids=lambda pair: pair.opening)
@pytest.mark.parametrize("special", [True, False])
def test_every_pair_as_tokens(pair, special):
    tokenizer = tokens(pair.opening, pair.closing, special=special)
    block = f"{pair.opening}\nFirst, 漢字 😀.\n{pair.closing}\n\nIt is 42."
    assert split(tokenizer, block) == ("First, 漢字 😀.", "It is 42.", False)
    opened = f"What is it?\n{pair.opening}\n"
    assert split(tokenizer, f"Hm.\n{pair.closing}\n\nIt is 42.", opened) == ("Hm.", "It is 42.", False)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not pair.label], ids=lambda pair: pair.opening)
def test_every_pair_as_text_that_the_template_names(pair):
    for mark in (pair.opening, pair.closing):
        tokenizer = written("{{ messages[0].content }}" + mark)
        block = f"\n{pair.opening}\nFirst.\n{pair.closing}\n\nIt is 42."
        assert split(tokenizer, block) == ("First.", "It is 42.", False)
        opened = f"What is it?\n{pair.opening}\n"
        assert split(tokenizer, f"Hm.\n{pair.closing}It is 42.", opened) == ("Hm.", "It is 42.", False)


def test_a_template_of_several_is_searched_too():
    tokenizer = tokens()
    tokenizer.chat_template = {"default": CHAT, "reason": CHAT + "</think>"}
    assert split(tokenizer, "<think>a</think>b") == ("a", "b", False)


@pytest.mark.parametrize("special", [True, False])
def test_gemma_names_the_channel_behind_the_mark(special):
    tokenizer = tokens("<|channel>", "<channel|>", special=special)
    assert split(tokenizer, "<|channel>thought\nHm.\n<channel|>Yes.") == ("Hm.", "Yes.", False)
    assert split(tokenizer, "<|channel>thought\n<channel|>Yes.") == ("", "Yes.", False)
    assert split(tokenizer, "<|channel>though it is late<channel|>Yes.") == ("though it is late", "Yes.", False)
    assert split(tokenizer, "Hm.\n<channel|>Yes.", "Q<|channel>thought\n") == ("Hm.", "Yes.", False)
    assert split(tokenizer, "Yes.", "Q<|channel>thought\n<channel|>") == ("", "Yes.", False)


@pytest.mark.parametrize("build", [qwen, written])
def test_a_prompt_that_closed_the_block_leaves_an_answer(build):
    tokenizer = build()
    assert split(tokenizer, "It is 42.", "Q\n<think>\n\n</think>\n\n") == ("", "It is 42.", False)


@pytest.mark.parametrize("build", [qwen, written])
def test_a_mark_earlier_in_the_prompt_opens_nothing(build):
    assert split(build(), "It is 42.", "Use <think> as you like.\nQ: why?\nA:") == ("", "It is 42.", False)


# ---- gpt-oss --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", ["Q<|end|><|start|>assistant", "Q<|end|><|start|>", ""])
def test_harmony_tells_channels_apart(prompt):
    text = f"{ANALYSIS}We need 漢.<|end|>{FINAL}It is 42.<|return|>"
    assert split(harmony(), text, prompt) == ("We need 漢.", "It is 42.", False)
    assert split(harmony(), text, prompt, skip=("<|return|>",)) == ("We need 漢.", "It is 42.", False)


def test_harmony_prompts_may_open_a_message():
    tokenizer, start = harmony(), "Q<|end|><|start|>assistant"
    assert split(tokenizer, f"Hm.<|end|>{FINAL}Yes.", start + ANALYSIS) == ("Hm.", "Yes.", False)
    assert split(tokenizer, "Yes.", start + ANALYSIS + f"Hm.<|end|>{FINAL}") == ("", "Yes.", False)


def test_harmony_commentary_is_for_the_reader_and_calls_are_not():
    call = "<|start|>assistant<|channel|>commentary to=functions.find <|constrain|>json<|message|>{}<|call|>"
    other = "<|start|>assistant to=functions.find<|channel|>commentary json<|message|>[]<|end|>"
    preamble = "<|channel|>commentary<|message|>I look first.<|end|>"
    assert split(harmony(), preamble + call + other + FINAL + "Done.") == ("{}\n\n[]", "I look first.\n\nDone.", False)


def test_harmony_without_a_header_or_cut_in_one():
    tokenizer, prompt = harmony(), "Q<|end|><|start|>assistant"
    assert split(tokenizer, "Hello.", prompt) == ("", "Hello.", False)
    assert split(tokenizer, "Hello.<|end|>", prompt) == ("", "Hello.", False)
    assert split(tokenizer, "word " * 100, prompt) == ("", "word " * 100, False)
    assert split(tokenizer, f"{ANALYSIS}Hm.<|end|><|start|>assis", prompt) == ("Hm.", "", False)
    assert split(tokenizer, "<|channel|>anal", prompt) == ("", "", False)
    assert split(tokenizer, f"{ANALYSIS}Hm", prompt) == ("Hm", "", True)
    lost_end = f"{ANALYSIS}Hm.<|channel|>final<|message|>Yes."
    assert split(tokenizer, lost_end, prompt) == ("Hm.", "Yes.", False)


def test_a_text_without_a_header_streams_before_it_ends():
    tokenizer = harmony()
    stream = ThinkingText(tokenizer, (), encode(tokenizer, "<|start|>assistant"))
    assert stream.push(encode(tokenizer, "x" * 60)) == []
    assert stream.push(encode(tokenizer, "x" * 60))[0].text == "x" * 120


# ---- what is no mark ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["<think>a</think>b", " \n<think>", "[THINK]x", "\n\n a <reasoning> ", "<|channel|>a", ""]
)
def test_an_ordinary_model_is_untouched(text):
    for tokenizer in (tokens(), byte_level(), sentencepiece()):
        assert not thinking_marks(tokenizer)
        ids = encode(tokenizer, text)
        plain = IncrementalText(tokenizer)
        expected = plain.push(ids) + plain.flush()
        stream = ThinkingText(tokenizer, (), encode(tokenizer, "Q <think>\n"))
        parts = stream.push(ids) + stream.flush()
        assert "".join(part.text for part in parts) == stream.text == expected
        assert (stream.thinking, stream.inside) == ("", False)


@pytest.mark.parametrize("build", [qwen, written, mistral, harmony])
@pytest.mark.parametrize("text", ["  \n two\n\n", "\n", "", "<", "<thin", "<b>bold</b>", "\ufffd", "[", "In XML, "])
def test_an_output_without_marks_is_untouched(build, text):
    assert split(build(), text) == ("", text, False)


@pytest.mark.parametrize("build", [qwen, written])
def test_behind_the_beginning_the_marks_are_text(build):
    text = "Write <think>your thoughts</think>, then answer.\n"
    assert split(build(), text) == ("", text, False)
    assert split(build(), f"<think>Hm.</think>{text}") == ("Hm.", text, False)


def test_marks_that_are_tokens_may_be_spelled_in_thinking_and_answer():
    tokenizer = qwen()
    spelled = [token for letter in "</think>" for token in encode(tokenizer, letter)]
    ids = [*encode(tokenizer, "<think>I close with "), *spelled, *encode(tokenizer, ".</think>So "), *spelled]
    stream = ThinkingText(tokenizer)
    stream.push(ids)
    stream.flush()
    assert (stream.thinking, stream.text) == ("I close with </think>.", "So </think>")


def test_a_broken_character_before_a_mark_is_the_beginning_of_an_answer():
    assert split(qwen(), "\ufffd<think>a</think>") == ("", "\ufffd<think>a</think>", False)


def test_an_opening_mark_inside_a_block_is_text():
    assert split(qwen(), "<think>a <think> b</think>c") == ("a <think> b", "c", False)
    assert split(written(), "<think>a <think> b</think>c") == ("a <think> b", "c", False)


def test_control_marks_open_a_block_anywhere():
    tokenizer = mistral()
    text = "First. [THINK]Hm.[/THINK]\nSecond.[THINK]\nMore.[/THINK]"
    assert split(tokenizer, text) == ("Hm.\n\nMore.", "First. \n\nSecond.", False)
    assert split(tokenizer, "Stray[/THINK] one") == ("", "Stray one", False)


# ---- ends and edges -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "text"),
    [(qwen, "<think>So far"), (written, "<think>So far"), (mistral, "[THINK]So far"), (harmony, f"{ANALYSIS}So far")],
)
def test_a_block_cut_off_is_all_thinking(build, text):
    assert split(build(), text) == ("So far", "", True)


def test_a_block_cut_off_keeps_half_a_mark_and_half_a_character():
    assert split(written(), "<think>a </thi") == ("a </thi", "", True)
    tokenizer = qwen()
    stream = ThinkingText(tokenizer)
    stream.push(encode(tokenizer, "<think>a漢")[:-1])
    assert stream.thinking == "a"
    stream.flush()
    assert stream.thinking == "a\ufffd"
    assert stream.inside


def test_an_opened_prompt_and_no_output_is_a_block_cut_off():
    assert split(qwen(), "", "Q<think>\n") == ("", "", True)


@pytest.mark.parametrize("build", [qwen, written])
def test_an_empty_block_leaves_the_answer(build):
    assert split(build(), "<think>\n\n</think>\n\nYes.\n") == ("", "Yes.\n", False)


def test_almost_marks_come_out_whole():
    assert split(written(), "<thinkpad> is a name") == ("", "<thinkpad> is a name", False)
    assert split(written(), "<think>a </ </think</think >< </think>b") == ("a </ </think</think ><", "b", False)


def test_thinking_comes_as_it_is_made():
    for tokenizer in (qwen(), written()):
        stream = ThinkingText(tokenizer)
        shown = ""
        for token in encode(tokenizer, "<think>one two three"):
            shown += "".join(part.text for part in stream.push([token]))
        assert shown == "one two three"


def test_sentencepiece_keeps_the_spaces_between_words():
    tokenizer = sentencepiece()
    tokenizer.chat_template = "</think>"
    assert split(tokenizer, "<think> the dog </think> a dog") == ("the dog", "a dog", False)
    tokenizer = sentencepiece()
    tokenizer.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in ("<think>", "</think>")])
    assert split(tokenizer, "<think>the dog</think>a </think> dog")[::2] == ("the dog", False)
    assert split(tokenizer, "<think>the dog</think>a dog") == ("the dog", "a dog", False)


PIECES = [*"ab<>/ \n", "漢", "😀", "think", "<thi", "</", " x ", "\ufffd"]


@pytest.mark.parametrize("build", [qwen, written, mistral, harmony])
def test_nothing_is_lost_but_marks_and_the_space_beside_them(build):
    """400 outputs of marks and scraps of marks in any order, cut anywhere."""
    tokenizer = build()
    marks = [token.content for token in tokenizer.added_tokens_decoder.values()] or ["<think>", "</think>"]
    generator = random.Random(7)
    for _ in range(400):
        text = "".join(generator.choices(PIECES + marks * 2, k=generator.randrange(14)))
        ids = encode(tokenizer, text)
        stream, plain = ThinkingText(tokenizer), IncrementalText(tokenizer)
        expected = plain.push(ids) + plain.flush()
        told = ""
        while ids:
            size = generator.randrange(1, 4)
            told += "".join(part.text for part in stream.push(ids[:size]))
            ids = ids[size:]
        told += "".join(part.text for part in stream.flush())
        if build is harmony:  # headers are marks too
            assert is_within("".join(told.split()), "".join(expected.split()))
            continue
        bare = "".join(told.split())
        assert bare in {"".join(kept.split()) for kept in without_marks(expected)}, text


def is_within(part: str, whole: str) -> bool:
    """Whether the characters of `part` stand in `whole` in this order."""
    rest = iter(whole)
    return all(character in rest for character in part)


def without_marks(text: str) -> list[str]:
    """`text`, and `text` without the first opening mark and without the first closing one behind that."""
    before, mark, behind = text.partition("<think>")
    return [text] if not mark or before.strip() else [text, before + behind, before + behind.replace("</think>", "", 1)]
