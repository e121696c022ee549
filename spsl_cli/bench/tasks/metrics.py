"""How good an answer is against those that are right, as the published benchmarks score it. Knows no task.

Every function takes the answer and the right ones and gives a number in [0, 1]; an empty answer gets 0.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from rapidfuzz.distance import LCSseq

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
# Chinese and Japanese are written without spaces: every sign of theirs is a word of its own.
_SIGNS = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W{_SIGNS}]"
_WORD = re.compile(rf"[{_SIGNS}]|{_LETTER}+")
_CHOICES = "ABCDEFGH"
_LETTERS = r"([A-H]{1,8}(?:\s*(?:,|&|\band\b)\s*\(?[A-H]\b\)?)*)(?!\w)"
_SAID = tuple(
    re.compile(rf"(?i:{word})(?:[^.\n]{{0,80}}?\b(?:is|are|be))?[\s:*(\"'\[]{{1,5}}{_LETTERS}")
    for word in (r"\banswers?", r"\b(?:option|choice)s?")
)
_FIRST = re.compile(rf"\A\W*{_LETTERS}\s*(?:[).:,;\]*]|$)", re.MULTILINE)
_BRACKETED = re.compile(r"\(([A-H])\)")


def normalised(text: str) -> str:
    """As SQuAD compares answers: lower case, without punctuation and articles, one space between words."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def words(text: str) -> list[str]:
    """The words of the normalised text."""
    return _WORD.findall(normalised(text))


def contains(answer: str, right: tuple[str, ...]) -> float:
    """1 if a right answer stands in it by itself, whatever its case: 12 stands neither in 2012 nor in -12."""
    return float(any(_alone(one).search(answer) for one in right if one.strip()))


def match_all(answer: str, right: tuple[str, ...]) -> float:
    """RULER's string match: the share of the right answers that stand in the answer, whatever their case."""
    said = answer.lower()
    return sum(one.lower() in said for one in right) / max(1, len(right))


def match_part(answer: str, right: tuple[str, ...]) -> float:
    """RULER's string match for questions: 1 if any of the right answers stands in the answer."""
    said = answer.lower()
    return float(any(one.lower() in said for one in right))


def token_f1(answer: str, right: tuple[str, ...]) -> float:
    """SQuAD's F1 over words, without regard to their order, against the right answer that fits best."""
    said = Counter(words(answer))
    return max((_f1((said & Counter(words(one))).total(), said.total(), len(words(one))) for one in right), default=0.0)


def rouge_l(answer: str, right: tuple[str, ...]) -> float:
    """ROUGE-L, as F1: the longest common subsequence of words, against the right answer that fits best."""
    said = _WORD.findall(answer.lower())
    wanted = [_WORD.findall(one.lower()) for one in right]
    return max((_f1(int(LCSseq.similarity(said, one)), len(said), len(one)) for one in wanted), default=0.0)


def choice(answer: str, right: tuple[str, ...]) -> float:
    """1 if the letters chosen are those of the first right answer ("B", or "BD"), or a further one is quoted."""
    letters = set(right[0]) if right else set()
    chosen = _chosen(answer)
    if chosen:
        return float(chosen == letters)
    return contains(answer, right[1:])


def _chosen(answer: str) -> set[str]:
    """The letters that an answer names: "The answer is (B)", "B) because ...", "A and C", or one in brackets."""
    for pattern in (*_SAID, _FIRST, _BRACKETED):
        if found := pattern.search(answer):
            return {letter for letter in found[1] if letter in _CHOICES}
    return set()


def _alone(text: str) -> re.Pattern[str]:
    wanted = r"\s+".join(map(re.escape, text.split()))
    return re.compile(rf"(?<!{_LETTER})(?<![-])(?<!\d[.,]){wanted}(?!{_LETTER}|[.,]\d)", re.IGNORECASE)


def _f1(common: int, said: int, wanted: int) -> float:
    return 2 * common / (said + wanted) if common else 0.0
