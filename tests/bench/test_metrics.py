"""Scores of answers: figures worked out by hand, and what published scorers are known to trip over."""

from __future__ import annotations

import pytest

from spsl_cli.bench.tasks.metrics import choice, contains, match_all, match_part, normalised, rouge_l, token_f1


@pytest.mark.parametrize("metric", [choice, contains, match_all, match_part, rouge_l, token_f1])
def test_nothing_said_and_nothing_right(metric):
    assert metric("", ("gold",)) == 0.0
    assert metric("B", ()) == 0.0


def test_normalised():
    assert normalised("The  Quick, brown\nfox's an a-b.") == "quick brown foxs ab"


@pytest.mark.parametrize(
    ("answer", "right", "score"),
    [
        ("It is 12.", "12", 1),
        ("It is 2012.", "12", 0),
        ("It is 12.5", "12", 0),
        ("It is 3,120", "120", 0),
        ("It is -12.", "12", 0),
        ("It is -12.", "-12", 1),
        ("the old  Town\nhall.", "old town hall", 1),
        ("(Bergen)", "bergen", 1),
        ("Bergenhus", "bergen", 0),
        ("答案是张三。", "张三", 1),
        ("C++ of course", "c++", 1),
        ("anything", " ", 0),
    ],
)
def test_contains(answer, right, score):
    assert contains(answer, ("nowhere", right)) == score


def test_ruler_matches():
    assert match_all("Numbers: 111 and 222", ("111", "222", "333")) == pytest.approx(2 / 3)
    assert match_all("RED", ("red",)) == 1.0
    assert match_part("Numbers: 222", ("111", "222")) == 1.0
    assert match_part("Numbers: 444", ("111", "222")) == 0.0


@pytest.mark.parametrize(
    ("answer", "right", "score"),
    [
        ("The cat sat.", ("cat sat",), 1.0),
        ("cat", ("cat sat",), 2 / 3),  # precision 1, recall 1/2
        ("sat the cat", ("cat sat",), 1.0),  # order does not count
        ("cat cat cat", ("cat",), 0.5),  # a word counts as often as it is right: precision 1/3, recall 1
        ("dog", ("cat", "a dog"), 1.0),  # the best of several
        ("张三", ("张四",), 0.5),
    ],
)
def test_token_f1(answer, right, score):
    assert token_f1(answer, right) == pytest.approx(score)


@pytest.mark.parametrize(
    ("answer", "right", "score"),
    [
        ("police killed the gunman", ("police kill the gunman",), 0.75),
        ("the gunman police killed", ("police killed the gunman",), 0.5),  # order counts
        ("a b c d", ("b d",), 2 / 3),  # precision 2/4, recall 2/2
        ("a b", ("x", "A, B!"), 1.0),
    ],
)
def test_rouge_l(answer, right, score):
    assert rouge_l(answer, right) == pytest.approx(score)


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("B", "B"),
        ("(B)", "B"),
        ("**B**", "B"),
        ("B) Because A is wrong", "B"),
        ("B. A dog", "B"),
        ("The correct answer is (B).", "B"),
        ("The correct answer is B, as the text says", "B"),
        ("The answer to the question is: **B**", "B"),
        ("Answer: B", "B"),
        ("Options A and C are wrong. The answer is B.", "B"),
        ("I choose option B.", "B"),
        ("It must be what (B) says", "B"),
        ("The answer is A and C.", "AC"),
        ("A, C", "AC"),
        ("AC", "AC"),
    ],
)
def test_choice(answer, chosen):
    assert choice(answer, (chosen,)) == 1.0
    assert choice(answer, ("D",)) == 0.0


@pytest.mark.parametrize(
    "answer", ["A dog is what it says", "Because of that", "The answer is a book", "I do not know"]
)
def test_no_letter_is_no_choice(answer):
    assert all(choice(answer, (letter,)) == 0.0 for letter in "ABCD")


def test_a_quoted_option_is_chosen():
    assert choice("It was the red house.", ("C", "The red house")) == 1.0
    assert choice("It was the red house.", ("C", "The blue house")) == 0.0
