"""Passages of the documents that an answer's tokens looked at, from a weight for each token of the prompt.

A passage is a sentence, or a line where sentences end nowhere, in the document's own words. That a model looked at it
proves nothing: it is offered to be read, not as a source of what the answer says. Where weights come from is not known
here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spsl_cli.documents import Document, Place

MOST = 3
LEAST_SHARE = 0.25
"""A passage with less than this part of the best one's weight for its length is not shown."""

FEW_TOKENS = 4
"""Added to a passage's length, so that a heading of two words does not come first for one of them."""

LONGEST = 400
"""Characters; what has no sentences (tables, code, lists) is cut at its line ends, and then between words."""

SHORTEST = 12
"""Characters; a number in front of a heading is no sentence of its own."""

SHOWN = 160
"""Characters of a passage in a line for the user."""

_TAIL = 60  # characters that tell whether a sentence ends
_Key = tuple[int, int]  # which document, and which of its passages
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？]+[」』”’）]*|\n(?=[^\S\n]*\n)|\f")
_NEXT_WORD = re.compile(r"\s*(\S)")
_SHORT_FORM = re.compile(r"(?:^|[\s(])(?:[^\W\d_]|Dr|Mr|Mrs|Ms|Prof|St|Nos?|Nr|Figs?|Eqs?|Sec|vs|al|cf|pp|ca)\.$")


@dataclass(frozen=True)
class LookedAt:
    """A passage as the document has it (blanks and line ends made one blank), where it begins, its share of weight.

    `weight`: 0 to 1, of all that fell on the documents. `paged`: whether the document has pages.
    """

    path: str
    place: Place
    text: str
    weight: float
    paged: bool = True

    def told(self) -> str:
        """In one line for the user."""
        text = self.text if len(self.text) <= SHOWN else f"{self.text[: SHOWN - 1].rstrip()}…"
        return f'looked at: "{text}" ({self.path}, {self.place.told(paged=self.paged)})'


def looked_at(
    weights: Sequence[float],
    offsets: Sequence[tuple[int, int] | None],
    documents: Sequence[Document],
    *,
    most: int = MOST,
) -> tuple[LookedAt, ...]:
    """Up to `most` passages with the largest weights for their length, the largest first; neighbours are one.

    weights: of each token of the prompt, none negative. offsets: which document and which character of its text each
    stands for, None for none. Empty if no weight fell on a document. ValueError if the two differ in length.
    """
    starts = [list(passages(document.text)) for document in documents]
    sums: dict[_Key, float] = defaultdict(float)
    tokens: Counter[_Key] = Counter()
    for weight, offset in zip(weights, offsets, strict=True):
        if offset is not None:
            number, character = offset
            key = number, bisect_right(starts[number], character) - 1
            sums[key] += weight
            tokens[key] += 1
    total = sum(sums.values())
    if total <= 0:
        return ()
    density = {key: weight / (tokens[key] + FEW_TOKENS) for key, weight in sums.items()}
    best = sorted(density, key=lambda key: (-density[key], key))[:most]
    chosen = [key for key in best if density[key] >= LEAST_SHARE * density[best[0]]]
    groups = sorted(_neighbours(chosen), key=lambda group: -max(density[key] for key in group))
    return tuple(_passage(group, documents, starts, sum(sums[key] for key in group) / total) for group in groups)


def _neighbours(keys: Sequence[_Key]) -> list[list[_Key]]:
    """The same, those that stand side by side together."""
    groups: list[list[_Key]] = []
    for number, index in sorted(keys):
        if groups and groups[-1][-1] == (number, index - 1):
            groups[-1].append((number, index))
        else:
            groups.append([(number, index)])
    return groups


def _passage(
    group: Sequence[_Key], documents: Sequence[Document], starts: Sequence[Sequence[int]], weight: float
) -> LookedAt:
    """The passages of a group, which stand side by side, as one."""
    (number, first), (_, last) = group[0], group[-1]
    document, own = documents[number], starts[number]
    end = own[last + 1] if last + 1 < len(own) else len(document.text)
    text = document.text[own[first] : end]
    start = own[first] + len(text) - len(text.lstrip())
    return LookedAt(document.path, document.place(start), " ".join(text.split()), weight, document.paged)


def passages(text: str) -> Iterator[int]:
    """Where each passage of a text begins, from 0 on; together they are the whole text."""
    start = 0
    for end in (*_sentence_ends(text), len(text)):
        yield start
        yield from _cuts(text, start, end)
        start = end


def _sentence_ends(text: str) -> Iterator[int]:
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        tail = text[max(start, end - _TAIL) : end].strip()  # not the whole: none of many ends may be one
        if end == len(text) or (len(tail) < SHORTEST and match[0] != "\f"):
            continue
        if match[0][0] in ".…" and (_goes_on(text, end) or _SHORT_FORM.search(tail)):
            continue
        yield end
        start = end


def _goes_on(text: str, end: int) -> bool:
    """Whether the next word begins with a small letter."""
    word = _NEXT_WORD.match(text, end)
    return word is not None and word[1].islower()


def _cuts(text: str, start: int, end: int) -> Iterator[int]:
    """Where to cut what is too long for a passage."""
    if end - start <= LONGEST:
        return
    line, end = start, start + len(text[start:end].rstrip())
    while line < end:
        line_end = text.find("\n", line, end) + 1 or end
        while line_end - line > LONGEST:
            blank = text.rfind(" ", line + 1, line + LONGEST)
            line = blank + 1 if blank > 0 else line + LONGEST
            yield line
        if line_end < end:
            yield line_end
        line = line_end
