"""Text of a wanted length in tokens, cut between sentences, and sentences hidden in it. Knows no task.

A tokenizer needs tenths of a second for a long text, so lengths are estimated from characters and then corrected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from spsl_cli.bench.tasks.base import Ruler
from spsl_cli.errors import UsageError

LEAST = 0.9
"""The share of the wanted tokens that a text has at the least."""

# A small letter goes on with the sentence: after "e.g. " and the like none ends.
SENTENCES = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"”’)]))\s+(?![a-z])|(?<=[。！？])\s*|\n\s*\n\s*"  # noqa: RUF001 as Chinese ends them
)
PARAGRAPHS = re.compile(r"\n\s*\n\s*")
_BLANKS = re.compile(r"\s+")

_SAMPLE = 4096  # characters that tell how many a token has
_SPARE = 1.1
_TAIL = 0.04  # of the text may go for a whole sentence at its end
_CORRECTIONS = 8
_GOLDEN = (sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Hidden:
    """Sentences to hide in a text, each at a depth in [0, 1), between what `between` tells apart."""

    sentences: Sequence[str]
    depths: Sequence[float]
    between: re.Pattern[str] = SENTENCES


def depth_of(number: int, start: float) -> float:
    """Where sample `number` hides what is asked for: evenly spread over [0, 1), however many samples there are."""
    return (start + number * _GOLDEN) % 1.0


def characters_per_token(ruler: Ruler, text: str) -> float:
    """How many the text has, judged by its beginning."""
    sample = text[:_SAMPLE]
    return len(sample) / max(1, ruler.count(sample))


def passage(ruler: Ruler, text: str, tokens: int, name: str) -> str:
    """The beginning of `text` that has `tokens` tokens: at most, and at least `LEAST` of them.

    It ends behind a sentence or a word where one ends near. Raises UsageError if the text, called `name`, is too short.
    """
    whole = _beginning(ruler, text, tokens, name)
    for part in (_whole_sentences(whole) if len(whole) < len(text) else whole, whole):
        if LEAST * tokens <= ruler.count(part) <= tokens:
            return part
    return _within(ruler, whole, tokens)


def hide(ruler: Ruler, text: str, hidden: Hidden, tokens: int, name: str) -> str:
    """A beginning of `text` with the sentences in it, `tokens` tokens in all: at most, and at least `LEAST` of them.

    Raises UsageError if the sentences alone are more than half of that, and what `passage` raises.
    """
    apart = sum(ruler.count(f"{sentence}\n\n") for sentence in hidden.sentences[:_CORRECTIONS])
    own = apart * len(hidden.sentences) // min(_CORRECTIONS, len(hidden.sentences))
    if own > tokens // 2:
        raise UsageError(f"what is to be found takes {own:,} of {tokens:,} tokens", hint=f"ask for {2 * own:,} or more")
    spare = tokens // 200 + 1  # no second try for a token or two
    budget = tokens - own - spare
    for _ in range(_CORRECTIONS):
        whole = _insert(_whole_sentences(_beginning(ruler, text, budget, name)), hidden)
        found = ruler.count(whole)
        if LEAST * tokens <= found <= tokens:
            return whole
        budget += tokens - found - spare
    raise UsageError(f"{name} cannot be cut to {tokens:,} tokens", hint="ask for a longer context")


def _beginning(ruler: Ruler, text: str, tokens: int, name: str) -> str:
    """The beginning of so many tokens, with little more than that of a long text read."""
    characters = int(_SPARE * tokens * characters_per_token(ruler, text)) + 1
    while len(cut := ruler.cut(text[:characters], tokens)) == characters < len(text):
        characters *= 2
    if len(cut) == len(text) and (found := ruler.count(cut)) < LEAST * tokens:
        raise UsageError(
            f"{name} has {found:,} tokens, and {tokens:,} are wanted",
            hint="ask for a shorter context, or name longer text with --data",
        )
    return cut


def _within(ruler: Ruler, text: str, tokens: int) -> str:
    """The text, or a little less of it: the same characters can be other tokens where the text ends there."""
    while (found := ruler.count(text)) > tokens:
        text = text[: len(text) * tokens // found - 1]
    return text


def _whole_sentences(text: str) -> str:
    begin = int(len(text) * (1 - _TAIL))
    for between in (SENTENCES, _BLANKS):
        if ends := [found.start() for found in between.finditer(text, begin)]:
            return text[: ends[-1]]
    return text


def _insert(text: str, hidden: Hidden) -> str:
    """The sentences where a sentence, or a word, ends next to their depth, set apart from it like its neighbours."""
    gaps = list(hidden.between.finditer(text)) or list(_BLANKS.finditer(text))
    parts: list[str] = []
    behind = 0
    for depth, sentence in sorted(zip(hidden.depths, hidden.sentences, strict=True)):
        gap = gaps[int(depth * len(gaps))] if gaps else None
        at = gap.end() if gap else 0
        parts += [text[behind:at], sentence, gap[0] if gap else " "]
        behind = at
    return "".join([*parts, text[behind:]])
