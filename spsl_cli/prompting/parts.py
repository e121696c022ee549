"""Documents too long for one prompt -> parts that fit, cut where their structure allows it.

Knows texts and how to count their tokens; nothing of what is asked of a part. The parts in their order hold every
character of the documents but blanks at the cuts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import groupby
from math import ceil

from spsl_cli.documents.document import Document, Page

Count = Callable[[str], int]
"""How many tokens a text takes."""

_EVENLY = 1.03
_HEADING = re.compile(
    r"(?:#{1,3}\s+\S|(?:chapter|part|section|appendix|book|volume)\s+(?:\d+|[ivxlc]+|[a-z])\b)[^\n]*(?:\n|$)",
    re.IGNORECASE,
)
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s*(?=\S)")


class Cut(IntEnum):
    """What begins with a block: the higher, the better a part ends before it."""

    WITHIN = 0
    PARAGRAPH = 1
    PAGE = 2
    CHAPTER = 3
    DOCUMENT = 4


SPARED = {Cut.WITHIN: 0.0, Cut.PARAGRAPH: 0.15, Cut.PAGE: 0.3, Cut.CHAPTER: 0.4, Cut.DOCUMENT: 0.5}
"""So large a share of a part may be left to the next one for the sake of such a cut."""


@dataclass(frozen=True)
class Block:
    """Characters start .. end-1 of a page of a document, how many tokens they take, and what begins with them."""

    document: int
    page: int
    start: int
    end: int
    tokens: int
    cut: Cut


def split(documents: Sequence[Document], count: Count, limit: int, overhead: int = 0) -> list[tuple[Document, ...]]:
    """Parts of at most `limit` tokens each, about as long as one another, in the documents' order.

    A document in several parts stands in each with the pages, or the piece of its text, that are there. `overhead`:
    tokens that a document, and a page of a paged one, take besides their text. Raises ValueError for a limit below 1.
    """
    if limit < 1:
        raise ValueError(f"no part can have {limit} tokens")
    blocks = [block for number in range(len(documents)) for block in _blocks(documents[number], number, count, limit)]
    blocks = [replace(block, tokens=block.tokens + overhead * (block.cut >= Cut.PAGE)) for block in blocks]
    total = sum(block.tokens for block in blocks)
    fewest = max(1, ceil(total / limit))
    target = min(limit, ceil(total / fewest * _EVENLY))
    return [_documents(documents, part) for part in _parts(blocks, limit, target)]


def _parts(blocks: Sequence[Block], limit: int, target: int) -> Iterator[Sequence[Block]]:
    begin = 0
    while begin < len(blocks):
        end, size = begin, 0
        while end < len(blocks) and (end == begin or size + blocks[end].tokens <= target):
            size += blocks[end].tokens
            end += 1
        rest = sum(block.tokens for block in blocks[end:])
        if rest and size + rest <= limit:
            end, rest = len(blocks), 0
        if rest:
            end = _best_cut(blocks, begin, end, size)
        yield blocks[begin:end]
        begin = end


def _best_cut(blocks: Sequence[Block], begin: int, end: int, size: int) -> int:
    """Where to end a part that could go to `end`: before the block with which most begins, the last of them."""
    best, left = end, 0
    for place in range(end - 1, begin, -1):
        left += blocks[place].tokens
        cut = blocks[place].cut
        if cut > blocks[best].cut and left <= SPARED[cut] * size:
            best = place
    return best


def _blocks(document: Document, number: int, count: Count, limit: int) -> Iterator[Block]:
    for place, page in enumerate(document.pages):
        cut = Cut.PAGE if place else Cut.DOCUMENT
        for start, end in _paragraphs(page.text):
            text = page.text[start:end]
            if cut < Cut.CHAPTER and _HEADING.match(text):
                cut = Cut.CHAPTER
            for piece_start, piece_end, tokens in _fitting(text, count, max(1, limit // 4)):
                yield Block(number, place, start + piece_start, start + piece_end, tokens, cut)
                cut = Cut.WITHIN
            cut = Cut.PARAGRAPH


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = len(text) - len(text.lstrip())
    for gap in _PARAGRAPH.finditer(text, start):
        yield start, gap.start()
        start = gap.end()
    end = len(text.rstrip())
    if start < end:
        yield start, end


def _fitting(text: str, count: Count, most: int) -> Iterator[tuple[int, int, int]]:
    """(start, end, tokens) of pieces of at most `most` tokens: all of it, or halves cut at a line, sentence or word."""
    todo = [(0, len(text))]
    while todo:
        start, end = todo.pop()
        tokens = count(text[start:end])
        if tokens <= most or end - start < 2:  # noqa: PLR2004 one character cannot be cut
            yield start, end, tokens
            continue
        middle = _middle(text, start, end)
        todo += [(middle, end), (start, middle)]


def _middle(text: str, start: int, end: int) -> int:
    """A place near the middle to cut at: behind a line, else a sentence, else a word, else anywhere."""
    middle, reach = (start + end) // 2, max(1, (end - start) // 4)
    low, high = max(start + 1, middle - reach), min(end - 1, middle + reach)
    near = text[low:high]
    for pattern in (r"\n+", _SENTENCE.pattern, r"\s+"):
        places = [low + found.end() for found in re.finditer(pattern, near)]
        if places:
            return min(places, key=lambda place: abs(place - middle))
    return middle


def _documents(documents: Sequence[Document], part: Sequence[Block]) -> tuple[Document, ...]:
    """The documents of a part, each with what of it is there."""
    found = []
    for number, blocks in groupby(part, key=lambda block: block.document):
        document, pages = documents[number], []
        for place, own in groupby(blocks, key=lambda block: block.page):
            first, *others = own
            last = others[-1] if others else first
            page = document.pages[place]
            pages.append(Page(page.number, page.text[first.start : last.end], page.label))
        found.append(replace(document, pages=tuple(pages)))
    return tuple(found)
