"""Decoder events become text and rounds; nothing is lost when a run is cut off between two events."""

from __future__ import annotations

import pytest
from tokenizers import AddedToken

from spsl_cli.comparison import first_difference
from spsl_cli.events import Draft, Piece, RoundEvent, SpeculationStats, TextEvent, TokenKind, Tokens, Verify
from spsl_cli.narration import Narrator
from tests.models import byte_tokenizer

STATS = SpeculationStats(enabled=True, controller="fixed", budget=0.1)


@pytest.fixture
def tokenizer():
    return byte_tokenizer()


def told(narrator, *events):
    return [new for event in events for new in narrator.tell(event, lambda: STATS, 0.5)]


def test_a_round_shows_accepted_bonus_and_rejected(tokenizer):
    ids = tokenizer("abcdX")["input_ids"]
    draft = Draft((ids[0], ids[1], ids[2]), (0.1, 0.2, 0.3), 5)
    tokens = Tokens((ids[0], ids[4]), (TokenKind.ACCEPTED, TokenKind.BONUS))
    text, shown = told(Narrator(tokenizer, frozenset()), draft, Verify(3, 1, ids[4]), tokens)
    assert text == TextEvent("aX")
    assert isinstance(shown, RoundEvent)
    assert shown.pieces == (
        Piece("a", TokenKind.ACCEPTED),
        Piece("X", TokenKind.BONUS),
        Piece("b", TokenKind.REJECTED),
        Piece("c", TokenKind.REJECTED),
    )
    assert (shown.k_star, shown.elapsed_s) == (5, 0.5)


def test_stop_tokens_are_not_shown(tokenizer):
    stop = tokenizer.eos_token_id
    narrator = Narrator(tokenizer, frozenset({stop}))
    ids = tokenizer("ok")["input_ids"]
    events = told(narrator, Tokens((*ids, stop), (TokenKind.PLAIN,) * 3))
    assert [piece.text for piece in events[-1].pieces] == ["o", "k"]
    assert events[-1].k_star is None
    assert narrator.text == "ok"


def test_what_ctrl_c_kept_from_being_told_is_in_the_text(tokenizer):
    ids = tokenizer("grüß")["input_ids"]
    narrator = Narrator(tokenizer, frozenset())
    told(narrator, Tokens(tuple(ids[:3]), (TokenKind.PLAIN,) * 3))  # in the middle of ü
    assert narrator.text == "gr"
    list(narrator.finish(ids))
    assert narrator.text == "grüß"


def reasoning_tokenizer(*, special):
    tokenizer = byte_tokenizer()
    marks = [AddedToken(mark, special=special, normalized=False) for mark in ("<think>", "</think>")]
    tokenizer.add_tokens(marks)
    return tokenizer


def plain(ids):
    return Tokens(tuple(ids), (TokenKind.PLAIN,) * len(ids))


def texts(events):
    return "".join(event.text for event in events if isinstance(event, TextEvent))


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("opened", [True, False])
def test_thinking_is_kept_apart_and_its_tokens_are_still_counted(special, opened):
    tokenizer = reasoning_tokenizer(special=special)
    block = tokenizer("<think>\nHm 漢\n</think>\n\nYes")["input_ids"]
    prompt, ids = (block[:1], block[1:]) if opened else ([], block)
    narrator = Narrator(tokenizer, frozenset(), prompt_ids=prompt)
    events = told(narrator, *(plain([token]) for token in ids))
    assert (narrator.thinking, narrator.text, narrator.thinking_open) == ("Hm 漢", "Yes", False)
    assert texts(events) == "Yes"
    rounds = [event for event in events if isinstance(event, RoundEvent)]
    assert [len(event.pieces) for event in rounds] == [1] * len(ids)


def test_thinking_that_is_wanted_is_told_before_the_answer_and_apart_from_it():
    tokenizer = reasoning_tokenizer(special=False)
    ids = tokenizer("<think>Hm.\n</think>\nYes")["input_ids"]
    narrator = Narrator(tokenizer, frozenset(), show_thinking=True)
    assert texts([*told(narrator, plain(ids[:5]), plain(ids[5:])), *narrator.finish(ids)]) == "Hm.\n\nYes"
    assert (narrator.thinking, narrator.text) == ("Hm.", "Yes")


@pytest.mark.parametrize("show", [True, False])
def test_thinking_cut_off_is_no_answer(show):
    tokenizer = reasoning_tokenizer(special=False)
    ids = tokenizer("<think>Hm 漢")["input_ids"]
    narrator = Narrator(tokenizer, frozenset(), show_thinking=show)
    events = [*told(narrator, plain(ids[:-2])), *narrator.finish(ids[:-1])]
    assert (narrator.thinking, narrator.text, narrator.thinking_open) == ("Hm \ufffd", "", True)
    assert texts(events) == ("Hm \ufffd" if show else "")


def test_a_model_without_marks_may_write_about_them(tokenizer):
    ids = tokenizer("<think>a</think> is XML")["input_ids"]
    narrator = Narrator(tokenizer, frozenset(), prompt_ids=tokenizer("<think>\n")["input_ids"])
    events = [*told(narrator, plain(ids)), *narrator.finish(ids)]
    assert texts(events) == narrator.text == "<think>a</think> is XML"
    assert not narrator.thinking_open


def test_first_difference():
    assert first_difference([1, 2, 3], [1, 2, 3]) is None
    assert first_difference([1, 2, 3], [1, 9, 3]) == 1
    assert first_difference([1, 2], [1, 2, 3]) == 2
    assert first_difference([], []) is None
