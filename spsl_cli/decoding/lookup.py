"""Prompt lookup: where the last tokens stood before, what came behind them there is likely to come again.

The idea is A. Saxena's prompt lookup decoding (2023); the finder is a hash chain as LZ77 compressors have it. Each pair
of tokens leads to the places behind it, the latest first, and of a few of them the one with the longest common past is
taken. A token is added in O(1); a search looks at no more than `CANDIDATES` places and `LONGEST` tokens back from each.

Knows token ids only, not what they are used for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

CANDIDATES = 8
LONGEST = 32


@dataclass(frozen=True)
class Match:
    """`length` last tokens (2 to `LONGEST`) stood before, and there `tokens` came behind them."""

    length: int
    tokens: tuple[int, ...]


class PromptLookup:
    """Finds earlier places of the end of one sequence, which grows."""

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._latest: dict[tuple[int, int], int] = {}  # a pair -> the place behind its last occurrence
        self._earlier: list[int] = []  # for each place the one before it behind the same pair; -1: none

    def note(self, token_ids: Sequence[int]) -> None:
        """These tokens are now part of the sequence."""
        ids, latest, earlier = self._ids, self._latest, self._earlier
        for token in token_ids:
            ids.append(token)
            place = len(ids)
            pair = (ids[-2], token) if place > 1 else (-1, token)
            earlier.append(latest.get(pair, -1))
            latest[pair] = place

    def find(self, tail: Sequence[int] = (), limit: int = LONGEST) -> Match | None:
        """What may come behind the sequence and `tail`: up to `limit` tokens behind the longest match, None without.

        Of matches of the same length the latest counts. A match that overlaps the end goes on as a repetition.
        """
        ids, last = self._ids, [*self._ids[-LONGEST:], *tail][-LONGEST:]
        if len(last) < 2 or limit < 1:  # noqa: PLR2004 a pair
            return None
        place = self._latest.get((last[-2], last[-1]), -1)
        if not tail and place == len(ids):  # the end itself
            place = self._earlier[place - 1]
        best, best_length = -1, 0
        for _ in range(CANDIDATES):
            if place < 0:
                break
            length = self._common(last, place)
            if length > best_length:
                best, best_length = place, length
            place = self._earlier[place - 1]
        if best < 0:
            return None
        return Match(best_length, self._behind(best, tail, limit))

    def _common(self, last: Sequence[int], place: int) -> int:
        """How many tokens before `place` are the end of `last`."""
        ids = self._ids
        most = min(len(last), place)
        return next((i for i in range(most) if ids[place - 1 - i] != last[-1 - i]), most)

    def _behind(self, place: int, tail: Sequence[int], limit: int) -> tuple[int, ...]:
        """`limit` tokens from `place` on; where the end comes first, they are taken from `place` again."""
        known = self._ids[place : place + limit]
        if len(known) < limit:
            known += tail
        return tuple(islice(cycle(known), limit))
