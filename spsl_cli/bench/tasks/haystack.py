"""Numbers hidden in a long text, to be found again: the needle tasks of RULER (Hsieh et al. 2024, arXiv 2404.06654).

Keys are pairs of words, values numbers of seven digits, the haystack is real text, and the score is RULER's. The
wording is ours; samples that RULER itself made are read by `local_files`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from spsl_cli.bench.tasks.base import Ruler, Sample
from spsl_cli.bench.tasks.fitting import Hidden, depth_of, hide
from spsl_cli.bench.tasks.metrics import match_all
from spsl_cli.bench.tasks.sources import TextSource, builtin_source
from spsl_cli.bench.tasks.wordlists import KINDS, THINGS

_KEYS = [f"{kind}-{thing}" for kind in KINDS for thing in THINGS]
_TOKENS_PER_KEY = 128
_FEWEST_KEYS = 4
_SEVERAL = 4


@dataclass(frozen=True)
class Needle:
    """A key and the numbers that the text gives for it."""

    key: str
    values: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """As they stand in the text."""
        if len(self.values) == 1:
            return [f"The secret number of {self.key} is {self.values[0]}."]
        return [f"One of the secret numbers of {self.key} is {value}." for value in self.values]


@dataclass(frozen=True)
class SingleNeedle:
    """One key with one number in real text (RULER: niah_single_2)."""

    name: ClassVar[str] = "niah"
    new_tokens: ClassVar[int] = 32
    values: ClassVar[int] = 1
    asked: ClassVar[int] = 1

    source: TextSource = field(default_factory=builtin_source)

    def samples(self, ruler: Ruler, tokens: int, count: int, seed: int) -> list[Sample]:
        """As in `Task`. Raises UsageError if the source is too short, or `tokens` are too few for the needles."""
        start = Random(f"{seed} {self.name}").random()  # noqa: S311 samples are to be the same again
        return [self._sample(ruler, tokens, number, seed, depth_of(number, start)) for number in range(count)]

    def keys(self, tokens: int) -> int:
        """How many keys a text of so many tokens has."""
        del tokens
        return self.asked

    def _sample(self, ruler: Ruler, tokens: int, number: int, seed: int, depth: float) -> Sample:
        rng = Random(f"{seed} {self.name} {number}")  # noqa: S311 samples are to be the same again
        needles = _needles(rng, self.keys(tokens), self.values)
        asked = needles[: self.asked]
        sentences = [sentence for needle in needles for sentence in needle.sentences]
        depths = [depth, *(rng.random() for _ in sentences[1:])]
        text = hide(ruler, self.source.text(rng), Hidden(sentences, depths), tokens, self.source.name)
        answers = tuple(value for needle in asked for value in needle.values)
        return Sample(self.name, number, text, _question(asked), answers, match_all, self.source.name)


@dataclass(frozen=True)
class MultiKey(SingleNeedle):
    """Many keys with a number each, one of them asked for (RULER: niah_multikey_1, with more keys in longer texts)."""

    name: ClassVar[str] = "niah-multikey"

    def keys(self, tokens: int) -> int:
        """One for every 128 tokens, 4 or more, as long as there are keys."""
        return min(max(_FEWEST_KEYS, tokens // _TOKENS_PER_KEY), len(_KEYS))


@dataclass(frozen=True)
class MultiValue(SingleNeedle):
    """One key with four numbers, all asked for (RULER: niah_multivalue)."""

    name: ClassVar[str] = "niah-multivalue"
    new_tokens: ClassVar[int] = 96
    values: ClassVar[int] = _SEVERAL


@dataclass(frozen=True)
class MultiQuery(SingleNeedle):
    """Four keys with a number each, all asked for (RULER: niah_multiquery)."""

    name: ClassVar[str] = "niah-multiquery"
    new_tokens: ClassVar[int] = 96
    asked: ClassVar[int] = _SEVERAL


def _needles(rng: Random, keys: int, values: int) -> list[Needle]:
    """Keys and numbers of which none comes twice."""
    names = rng.sample(_KEYS, keys)
    numbers = rng.sample(range(1_000_000, 10_000_000), keys * values)
    return [
        Needle(name, tuple(map(str, numbers[index * values : (index + 1) * values])))
        for index, name in enumerate(names)
    ]


def _question(asked: list[Needle]) -> str:
    names = [needle.key for needle in asked]
    if len(names) > 1:
        return f"What are the secret numbers of {', '.join(names[:-1])} and {names[-1]}?"
    if len(asked[0].values) > 1:
        return f"What are all {len(asked[0].values)} secret numbers of {names[0]}?"
    return f"What is the secret number of {names[0]}?"
