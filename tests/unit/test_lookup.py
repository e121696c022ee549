"""Prompt lookup against a search that tries every place."""

from __future__ import annotations

import random

from spsl_cli.decoding.lookup import CANDIDATES, LONGEST, PromptLookup


def made(ids):
    lookup = PromptLookup()
    lookup.note(ids)
    return lookup


def every_place(ids, tail):
    """Lengths of the common past of the end at every earlier place, the latest place first; pairs at least."""
    whole = [*ids, *tail]
    found = []
    for place in range(len(ids) if tail else len(ids) - 1, 1, -1):
        length = 0
        while length < min(LONGEST, place) and whole[place - 1 - length] == whole[-1 - length]:
            length += 1
        if length >= 2:
            found.append((length, place))
    return found


def test_the_longest_match_is_found_and_among_equals_the_latest():
    match = made([1, 2, 3, 9, 2, 3, 8, 1, 2, 3]).find(limit=3)
    assert (match.length, match.tokens) == (3, (9, 2, 3))
    match = made([5, 2, 3, 9, 6, 2, 3, 8, 7, 2, 3]).find(limit=1)
    assert (match.length, match.tokens) == (2, (8,))


def test_nothing_to_find():
    assert PromptLookup().find() is None
    assert made([4]).find() is None
    assert made([4, 5, 6, 5]).find() is None
    assert made([4, 5, 6, 4, 5]).find(limit=0) is None


def test_a_repetition_goes_on():
    assert made([7, 1, 2, 3, 1, 2, 3]).find(limit=8).tokens == (1, 2, 3, 1, 2, 3, 1, 2)
    assert made([9, 4, 4, 4]).find(limit=5).tokens == (4, 4, 4, 4, 4)


def test_a_tail_counts_as_the_end_and_leaves_no_trace():
    lookup = made([1, 2, 3, 4, 5, 1, 2])
    assert lookup.find([3], limit=2).tokens == (4, 5)
    assert lookup.find([3, 4], limit=4) == made([1, 2, 3, 4, 5, 1, 2, 3, 4]).find(limit=4)
    assert lookup.find([6, 7]) is None
    assert lookup.find(limit=1).tokens == (3,)


def test_against_every_place():
    """Random texts of few tokens: the same length and tokens wherever there are few candidates."""
    rng = random.Random(3)
    compared = 0
    for _ in range(2000):
        ids = [rng.randrange(12) for _ in range(rng.randrange(2, 60))]
        tail = [rng.randrange(12) for _ in range(rng.randrange(4))]
        match, places = made(ids).find(tail, limit=5), every_place(ids, tail)
        if not places:
            assert match is None
            continue
        length, place = max(places[:CANDIDATES])
        assert match.length == length
        whole = [*ids, *tail]
        wanted = list(whole)
        for i in range(5):
            wanted.append(wanted[place + i])
        assert match.tokens == tuple(wanted[len(whole) :])
        compared += 1
    assert compared > 300


def test_notes_in_pieces_are_one_note():
    rng = random.Random(5)
    ids = [rng.randrange(9) for _ in range(300)]
    whole, pieces = made(ids), PromptLookup()
    for begin in range(0, 300, 7):
        pieces.note(ids[begin : begin + 7])
    assert vars(pieces) == vars(whole)
