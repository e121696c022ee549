"""Where a quote stands in a text, letter for letter but for typography, over one contiguous run.

No run begins or ends within a word or a number (`boundaries`). Case is typography but for units and symbols: mW is
not MW. What is nearly the same is another file's business (`repair`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spsl_cli.citing.boundaries import is_whole
from spsl_cli.citing.typography import Plain, plain

_BEFORE = re.compile(r"(?:[\s'\"“”„‟«»‘’‚‹›「」『』]|\.{3,}|\[\.{3,}\]|\(\.{3,}\)|[-*•] )+")
_AFTER = re.compile(r"(?:[\s'\"“”„‟«»‘’‚‹›「」『』]|[.,;:!?。、؟،؛۔।]|\[\.{3,}\]|\(\.{3,}\))+\Z")
_WORD = re.compile(r"[^\W\d_]+")
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)")
LONGEST_UNIT = 4
"""Letters of a unit or scale that case may tell from another."""


@dataclass(frozen=True)
class Run:
    """Characters start .. end-1 of a text; `same`: they are the quote but for typography."""

    start: int
    end: int
    same: bool


def core(quote: str) -> Plain:
    """A quote without its typography, nor the marks, blanks and dots at its ends."""
    bare = plain(quote).shown
    begin = _BEFORE.match(bare)
    bare = bare[begin.end() :] if begin else bare
    return plain(_AFTER.sub("", bare))


def same_runs(quote: str, source: Plain) -> Iterator[Run]:
    """Every place in the text that `source` is the plain form of where the quote stands but for typography."""
    wanted = core(quote)
    if not wanted.text:
        return
    start = source.text.find(wanted.text)
    while start >= 0:
        end = start + len(wanted.text)
        there = source.shown[start:end]
        whole = is_whole(source.shown, start, end)
        if whole and _same_symbols(wanted.shown, source.shown, start) and _same_groups(wanted.shown, there):
            yield Run(*source.run(start, end), same=True)
        start = source.text.find(wanted.text, start + 1)


def _same_symbols(quote: str, source: str, start: int) -> bool:
    """Whether case differs in words only: 5 mW is not 5 MW, nor n N, whereas THE TENANT is the tenant."""
    there = source[start : start + len(quote)]
    if there == quote:
        return True
    shouted = quote.isupper() or there.isupper()
    for word in _WORD.finditer(quote):
        mine, theirs = word[0], there[word.start() : word.end()]
        if mine == theirs:
            continue
        measured = len(mine) <= LONGEST_UNIT and _follows_number(source, start + word.start())
        symbol = len(mine) == 1 and word.start() > 0 and not shouted
        if measured or symbol or is_mixed(mine) or is_mixed(theirs):
            return False
    return True


def _follows_number(text: str, at: int) -> bool:
    before = text[max(0, at - 2) : at].rstrip(" \n/·")
    return before[-1:].isnumeric()


def is_mixed(word: str) -> bool:
    """Whether capitals stand within a word, as in kWh and pH."""
    return not (word.islower() or word.isupper() or (word[0].isupper() and word[1:].islower()))


def _same_groups(quote: str, there: str) -> bool:
    """Whether what the quote writes as one number, 12 500, is not two cells of a table or the ends of two lines."""
    return all(there[one.start() : one.end()].replace(" ", "").isdigit() for one in _GROUPED.finditer(quote))
