"""One section of a long text quoted word for word: what drafts by lookup are best at. Scored by ROUGE-L."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import ClassVar

from spsl_cli.bench.tasks.base import Ruler, Sample
from spsl_cli.bench.tasks.fitting import characters_per_token, depth_of, passage
from spsl_cli.bench.tasks.metrics import rouge_l
from spsl_cli.bench.tasks.sources import TextSource, builtin_source
from spsl_cli.errors import UsageError

_LEAST, _MOST = 80, 180  # tokens of a section, about


@dataclass(frozen=True)
class Copying:
    """Real text in numbered sections, one of which is asked for."""

    name: ClassVar[str] = "copying"
    new_tokens: ClassVar[int] = 256

    source: TextSource = field(default_factory=builtin_source)

    def samples(self, ruler: Ruler, tokens: int, count: int, seed: int) -> list[Sample]:
        """As in `Task`. Raises UsageError if the source is too short, or no section fits into the answer."""
        start = Random(f"{seed} {self.name}").random()  # noqa: S311 samples are to be the same again
        return [self._sample(ruler, tokens, number, seed, depth_of(number, start)) for number in range(count)]

    def _sample(self, ruler: Ruler, tokens: int, number: int, seed: int, depth: float) -> Sample:
        rng = Random(f"{seed} {self.name} {number}")  # noqa: S311 samples are to be the same again
        source = self.source.text(rng)
        bodies = _sections(source, characters_per_token(ruler, source))
        headed = [f"Section {label}\n\n{body}" for label, body in enumerate(bodies, 1)]
        text = passage(ruler, "\n\n".join(headed), tokens, self.source.name)
        ends = accumulate(len(section) + 2 for section in headed)
        whole = [
            (label, body) for label, (body, end) in enumerate(zip(bodies, ends, strict=True), 1) if end < len(text)
        ]
        first = int(depth * len(whole))
        for label, section in (*whole[first:], *whole[:first]):
            if ruler.count(section) < self.new_tokens:
                question = f"Copy Section {label} word for word, from its first word to its last, and nothing else."
                return Sample(self.name, number, text, question, (section,), rouge_l, self.source.name, "instruct")
        raise UsageError(
            f"no whole section of {self.source.name} has fewer than {self.new_tokens} tokens and stands in {tokens:,}",
            hint="ask for a longer context",
        )


def _sections(text: str, characters: float) -> list[str]:
    """The text in pieces of a few sentences; what is left at its end is too short for one.

    A piece ends with a paragraph or a sentence where one ends in time, else with a word, else anywhere.
    """
    piece = f".{{{int(_LEAST * characters)},{int(_MOST * characters)}}}"
    pieces = re.compile(rf"\s*(?:({piece}?)(?:\n\s*\n|(?<=[.!?])\s+)|({piece})(?:\s+|\Z)|({piece}))", re.DOTALL)
    return [next(filter(None, found.groups())).strip() for found in pieces.finditer(text)]
