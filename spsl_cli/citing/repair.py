"""Where a quote stands nearly, and whether the difference is a slip that may be repaired.

A slip is a word respelled or inflected, a light word more or less, another mark: what a reader who is shown the
document's own words would not call a different statement. Never a slip: a number, its sign or its unit; a word for a
number; a negation, as a word, a prefix or an ending; a name or anything with a capital; what bounds a statement
(only, all, must, until); one word for an unlike one; another order. With those, a quote is not in the document.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from spsl_cli.citing.boundaries import is_whole
from spsl_cli.citing.matching import LONGEST_UNIT, Run, core, is_mixed, same_runs
from spsl_cli.citing.typography import UNSPACED, Plain, plain
from spsl_cli.citing.weighty import BOUNDS, NEGATING_CHARACTERS, NEGATIONS, NUMBER_WORDS

LIKE = 88.0
"""From which similarity on, in percent, a run is taken for what a quote meant."""

LONGEST_ELISION = 600
"""Characters of the document that may lie between the first and the last part of a quote with something left out."""

_LIKE_WORD = 70.0
_SHARED = 2
"""A word and what it was respelled to begin alike, by so many letters."""

_ROLES = (("er", "ee"), ("or", "ee"))

_ELISION = re.compile(r"\s*(?:\[\s*(?:\.\.\.|…)\s*\]|\(\s*(?:\.\.\.|…)\s*\)|\.\.\.|…)\s*")
_SENTENCE_END = re.compile(r"[.!?](?:['\"”’)\]]*\s)|[。！？]|\n\s*\n")
_SIGNS = frozenset("+±∓~≈≠<>≤≥=×÷^√%‰‱°$€£¥₹¢#§№′″")
_JOINTS = frozenset(".,:/")
_TOKEN = re.compile(r"(?:(?<![wnc])d)?[wn]*n[wn]*(?:[jda][wn]*n[wn]*)*|w+(?:aw+)*|c|g")
"""Over kinds of characters, see `_kind`: numbers and what is glued to them, words, letters that are words, signs."""


@dataclass(frozen=True)
class _Token:
    """A word, a number, or a sign: where it stands, and how it is written with and without case."""

    start: int
    end: int
    text: str
    shown: str
    heavy: bool


def like_run(quote: str, source: Plain) -> Run | None:
    """The run most like the quote, if the difference is no more than a slip."""
    from rapidfuzz import fuzz  # noqa: PLC0415 not needed where quotes are exact

    wanted = core(quote)
    if not wanted.text or len(wanted.text) > len(source.text):
        return None
    near = fuzz.partial_ratio_alignment(wanted.text, source.text, score_cutoff=LIKE)
    if near is None or near.dest_start >= near.dest_end:
        return None
    margin = len(wanted.text) // 4 + 8  # the run may be longer than the quote by what the quote lacks
    there = _tokens(source, max(0, near.dest_start - margin), min(len(source.text), near.dest_end + margin))
    found = _within(_tokens(wanted, 0, len(wanted.text)), there)
    if not found:
        return None
    start, end = found[0].start, found[-1].end
    if fuzz.ratio(wanted.text, source.text[start:end]) < LIKE or not is_whole(source.shown, start, end):
        return None
    return Run(*source.run(start, end), same=False)


def _within(quote: list[_Token], there: list[_Token]) -> list[_Token]:
    """Those tokens of the document that the quote was meant to be; none where the difference is more than a slip."""
    blocks = SequenceMatcher(None, [one.text for one in there], [one.text for one in quote], autojunk=False)
    codes = blocks.get_opcodes()
    pairs = [pair for code, i, j, k, m in codes for pair in _pairs(code, there[i:j], quote[k:m])]
    lost = Counter(one.text for one, other in pairs if one and not other)
    while pairs and pairs[0][1] is None:
        del pairs[0]
    while pairs and pairs[-1][1] is None:
        del pairs[-1]
    if any(not _is_slip(*pair) for pair in pairs):
        return []
    new = Counter(other.text for one, other in pairs if other and not one)
    return [] if lost & new else [one for one, _ in pairs if one]


def _pairs(code: str, there: list[_Token], quote: list[_Token]) -> Iterator[tuple[_Token | None, _Token | None]]:
    """Which token became which: pairs, one of a pair is None for a token more or less."""
    if code == "equal":
        yield from zip(there, quote, strict=True)
        return
    there, quote = there[:], quote[:]
    while there and quote:
        if _respelled(there[0].text, quote[0].text):
            yield there.pop(0), quote.pop(0)
        elif len(there) > len(quote) or any(_respelled(one.text, quote[0].text) for one in there):
            yield there.pop(0), None
        elif len(there) < len(quote) or any(_respelled(there[0].text, one.text) for one in quote):
            yield None, quote.pop(0)
        else:
            yield there.pop(0), quote.pop(0)
    yield from ((one, None) for one in there)
    yield from ((None, one) for one in quote)


def _is_slip(there: _Token | None, quote: _Token | None) -> bool:
    if there is None or quote is None:
        one = there or quote
        return one is not None and not one.heavy
    if there.text == quote.text:
        return True
    return not there.heavy and not quote.heavy and _respelled(there.text, quote.text)


def _respelled(word: str, other: str) -> bool:
    """Whether two words are spellings or forms of one, and not employer and employee."""
    from rapidfuzz import fuzz  # noqa: PLC0415 see above

    if word[:_SHARED] != other[:_SHARED] or fuzz.ratio(word, other) < _LIKE_WORD:
        return False
    ends = {word[-2:], other[-2:]}
    return not any(ends == set(role) for role in _ROLES)


def _tokens(source: Plain, start: int, end: int) -> list[_Token]:
    """What characters start .. end-1 consist of, marks left out."""
    text, shown = source.text[start:end], source.shown[start:end]
    kinds = "".join(map(_kind, text))
    found: list[_Token] = []
    measured = -1
    for match in _TOKEN.finditer(kinds):
        first, last = match.span()
        number = "n" in match[0] or match[0] == "g"
        unit = not number and measured >= 0 and not kinds[measured:first].strip("s")
        written, word = shown[first:last], text[first:last]
        if written[:1].isalpha() and ((unit and len(word) <= LONGEST_UNIT) or is_mixed(written)):
            word = written  # mW is not MW
        heavy = number or unit or written != written.lower() or _is_weighty(word)
        found.append(_Token(start + first, start + last, word, written, heavy))
        measured = last if number else -1
    return found


def _kind(character: str) -> str:
    if character == " ":
        return "s"
    if character.isnumeric():
        return "n"
    if character.isalnum() or character == "_":
        return "c" if UNSPACED.match(character) else "w"
    if unicodedata.category(character)[0] == "M":
        return "w"
    if character in _SIGNS:
        return "g"
    return {"-": "d", "'": "a"}.get(character, "j" if character in _JOINTS else "p")


def _is_weighty(word: str) -> bool:
    return word in NUMBER_WORDS or word in BOUNDS or _negates(word)


def _negates(word: str) -> bool:
    return word in NEGATIONS or word in NEGATING_CHARACTERS or word.endswith(("n't", "less"))


def run_with_elision(quote: str, source: Plain, text: str) -> Run | None:
    """From the first part of a quote with `...` in it to its last, each part as it is and in their order.

    What is left out next to a part must not negate it.
    """
    parts = [part for part in _ELISION.split(quote) if core(part).text]
    if len(parts) < 2 or not all(_says_something(part) for part in parts):  # noqa: PLR2004
        return None
    places = [list(same_runs(part, source)) for part in parts]
    if not all(places):
        return None
    starts = [[run.start for run in runs] for runs in places]
    for first in places[0]:
        last: Run | None = first
        for runs, begins in zip(places[1:], starts[1:], strict=True):
            before = last
            at = bisect_left(begins, before.end) if before else len(runs)
            last = runs[at] if at < len(runs) else None
            if before is None or last is None or _negated(text[before.end : last.start]):
                last = None
                break
        if last and last.end - first.start <= LONGEST_ELISION:
            return Run(first.start, last.end, same=False)
    return None


def _says_something(part: str) -> bool:
    return len(part.split()) >= 2 or UNSPACED.search(part) is not None  # noqa: PLR2004


def _negated(left_out: str) -> bool:
    """Whether what was left out of a sentence, at its end or its beginning, has a negation in it."""
    pieces = _SENTENCE_END.split(left_out)
    near = plain(f"{pieces[0]} {pieces[-1]}")
    return any(_negates(token.text) for token in _tokens(near, 0, len(near.text)))
