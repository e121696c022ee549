"""Decoder events become text and rounds; nothing is lost when a run is cut off between two events."""

from __future__ import annotations

import pytest

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


def test_first_difference():
    assert first_difference([1, 2, 3], [1, 2, 3]) is None
    assert first_difference([1, 2, 3], [1, 9, 3]) == 1
    assert first_difference([1, 2], [1, 2, 3]) == 2
    assert first_difference([], []) is None
