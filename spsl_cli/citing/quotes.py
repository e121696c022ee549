"""Which parts of an answer are quotes, and what it says of the place of each. Knows no document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spsl_cli.citing.claims import BRACKET, names_place

LEAST_WORDS = 3
LEAST_LETTERS = 12
"""What is shorter is a name or a word in quotation marks, which proves nothing."""

_CLOSERS = {
    "“": "”", "”": "”", "„": "“”", "«": "»", "»": "«»", "‹": "›", "›": "‹›",
    "「": "」", "『": "』", "〝": "〞〟", '"': '"', "＂": "＂",
}  # fmt: skip
_MARK = re.compile("[" + re.escape("".join({*_CLOSERS, *"".join(_CLOSERS.values())})) + "]")
_STRAIGHT = '"＂'
_TWO_WAYS = _STRAIGHT + "”»›"
"""Marks that close for some and open for others: by their shape, or in Sweden and Germany."""

_SINGLE = re.compile(r"(?<![\w’])‘(?=\S)((?:[^‘\n“”„«»\"]|\n(?!\s*\n))+)’(?!\w)")
_BLOCK = re.compile(r"(?m)^[ \t]{0,3}>[^\n]*(?:\n[ \t]{0,3}>[^\n]*)*")
_QUOTED_LINE = re.compile(r"\n[ \t]{0,3}(?:>[ \t]?)+")
_BEHIND = re.compile(r"[ \t.,;:)*_—–\"'”’»-]*(?:\[\d+\][ \t]*)?" + f"((?:{BRACKET.pattern}[ \t]*)+)", re.IGNORECASE)
_BELOW = re.compile(r"\s*" + _BEHIND.pattern + r"(?=[ \t.,;:]*(?:\n|\Z))", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?。！？])(?<![ (]p\.)(?<!pp\.)(?<!pg\.)[\"'”’»)\]]*\s+(?=\D)|(?<!:)\n|\n\s*\n")
_TAIL_END = re.compile(
    r"(?<=[.!?。！？])(?<![ (]p\.)(?<!pp\.)(?<!pg\.)(?:\s|\Z)|\n|\b(?:and|but|or|while|whereas|then|und|et|y)\b|;"
)
_LETTER = re.compile(r"[^\W_]")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True)
class Quote:
    """What stands between the marks, and what the answer says of its place, in its own words ("" for nothing)."""

    text: str
    said: str = ""


@dataclass(frozen=True)
class _Span:
    """Characters start .. end-1 of an answer, marks included, and the quote that they are."""

    start: int
    end: int
    text: str


def quotes_in(answer: str) -> list[Quote]:
    """The quotes of an answer in their order: between quotation marks, or in a block that begins with `>`.

    A quote within a quote belongs to it.
    """
    marked = [*_marked(answer)]
    marked += [_Span(match.start(), match.end(), match[1]) for match in _SINGLE.finditer(answer)]
    speaking = [span for span in marked if _proves_something(span.text)]
    spans = [block for block in _blocks(answer) if not any(block.start <= one.start < block.end for one in speaking)]
    spans += marked
    outer: list[_Span] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if not outer or span.start >= outer[-1].end:
            outer.append(span)
    return [quote for quote in _with_places(answer, outer) if _proves_something(quote.text)]


def _marked(answer: str) -> Iterator[_Span]:
    """What stands between quotation marks that belong together; a mark without its other half is none."""
    opened: list[int] = []
    for match in _MARK.finditer(answer):
        at, mark = match.start(), match[0]
        before, after = answer[at - 1 : at] if at else " ", answer[at + 1 : at + 2] or " "
        opener = next((one for one in reversed(opened) if mark in _CLOSERS[answer[one]]), None)
        if opener is not None and _may_close(mark, before, after):
            text = _QUOTED_LINE.sub("\n", answer[opener + 1 : at])
            yield _Span(opener, at + 1, text.strip())
            del opened[opened.index(opener) :]
        elif mark in _CLOSERS and _may_open(mark, before, after):
            opened.append(at)


def _may_close(mark: str, before: str, after: str) -> bool:
    return mark not in _STRAIGHT or not (before.isspace() or (after.isalnum() and _begins(before)))


def _may_open(mark: str, before: str, after: str) -> bool:
    """French marks have blanks within; others touch the word they open."""
    if mark in "«‹":
        return _begins(before)
    return not after.isspace() and (mark not in _TWO_WAYS or _begins(before))


def _begins(before: str) -> bool:
    """Whether a quotation mark behind this character may open; behind a word or a number it closes, or means inches."""
    return not before.isalnum() and before not in ".,!?%"


def _blocks(answer: str) -> Iterator[_Span]:
    """Blocks of lines that begin with `>`."""
    for match in _BLOCK.finditer(answer):
        text = _QUOTED_LINE.sub("\n", f"\n{match[0]}").strip()
        if text:
            yield _Span(match.start(), match.end(), text)


def _with_places(answer: str, spans: list[_Span]) -> Iterator[Quote]:
    """Each with what is said of its place: behind it, before it in its sentence, below it, in the words that follow."""
    done = 0
    for number, span in enumerate(spans):
        until = spans[number + 1].start if number + 1 < len(spans) else len(answer)
        behind = _BEHIND.match(answer, span.end, until)
        before = _last_sentence(answer[done : span.start])
        below = _BELOW.match(answer, span.end, until)
        tail = _TAIL_END.split(answer[span.end : until], maxsplit=1)[0]
        done = span.end
        if behind:
            said, done = behind[1], behind.end()
        elif names_place(before):
            said = before
        elif below:
            said, done = below[1], below.end()
        else:
            said = tail if names_place(tail) else ""
            done += len(tail) if said else 0
        yield Quote(span.text, said.strip())


def _last_sentence(text: str) -> str:
    return _SENTENCE.split(text.rstrip(" \t\n*_"))[-1]


def _proves_something(text: str) -> bool:
    if len(_CJK.findall(text)) >= LEAST_LETTERS // 2:
        return True
    return len(text.split()) >= LEAST_WORDS and len(_LETTER.findall(text)) >= LEAST_LETTERS
