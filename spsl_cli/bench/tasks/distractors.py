"""Questions over paragraphs of which one has the answer: as RULER's and HotpotQA's, about people who never lived.

Nobody can know the answers but from the text, and every text is made here. The other paragraphs are of the same kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from spsl_cli.bench.tasks.base import Ruler, Sample
from spsl_cli.bench.tasks.fitting import PARAGRAPHS, Hidden, depth_of, hide
from spsl_cli.bench.tasks.metrics import match_part
from spsl_cli.bench.tasks.wordlists import (
    COLLECTED,
    FIRST_NAMES,
    INSTRUMENTS,
    NAME_BEGINNINGS,
    SURNAME_ENDS,
    TOWN_ENDS,
    TRADES,
)

_CHARACTERS_PER_TOKEN = 8
"""More than most tokenizers have; what is too much is cut off."""


@dataclass(frozen=True)
class Person:
    """Somebody made up, with all that a paragraph tells of them."""

    name: str
    born_in: str
    year: str
    trade: str
    instrument: str
    collected: str
    lived_in: str

    def paragraph(self, rng: Random) -> str:
        """Four sentences, each in one of two wordings."""
        surname = self.name.split()[-1]
        return " ".join(
            rng.choice(wordings)
            for wordings in (
                (
                    f"{self.name} was born in the town of {self.born_in} in {self.year}.",
                    f"In {self.year}, {self.name} was born in the town of {self.born_in}.",
                ),
                (
                    f"{surname} earned a living as a {self.trade} and moved to {self.lived_in} at an early age.",
                    f"After moving to {self.lived_in}, {surname} worked there as a {self.trade}.",
                ),
                (
                    f"Neighbours remembered {surname} for playing the {self.instrument} on summer evenings.",
                    f"On Sundays {surname} could be heard playing the {self.instrument}.",
                ),
                (
                    f"The {self.collected} that {surname} collected can still be seen in the museum.",
                    f"{surname} collected {self.collected} and left all of them to the museum.",
                ),
            )
        )

    @property
    def questions(self) -> tuple[tuple[str, str], ...]:
        """What can be asked about them, each with its answer."""
        return (
            (f"In which town was {self.name} born?", self.born_in),
            (f"In which year was {self.name} born?", self.year),
            (f"What did {self.name} work as?", self.trade),
            (f"Which instrument did {self.name} play?", self.instrument),
            (f"What did {self.name} collect?", self.collected),
        )


@dataclass(frozen=True)
class QuestionAnswering:
    """One question about one person, in paragraphs about many. The score is RULER's for its question answering."""

    name: ClassVar[str] = "qa"
    new_tokens: ClassVar[int] = 32

    def samples(self, ruler: Ruler, tokens: int, count: int, seed: int) -> list[Sample]:
        """As in `Task`. Raises UsageError if `tokens` are too few, or more than there are people to tell of."""
        start = Random(f"{seed} {self.name}").random()  # noqa: S311 samples are to be the same again
        return [self._sample(ruler, tokens, number, seed, depth_of(number, start)) for number in range(count)]

    def _sample(self, ruler: Ruler, tokens: int, number: int, seed: int, depth: float) -> Sample:
        rng = Random(f"{seed} {self.name} {number}")  # noqa: S311 samples are to be the same again
        people = _people(rng)
        asked = next(people)
        question, answer = rng.choice(asked.questions)
        hidden = Hidden([asked.paragraph(rng)], [depth], PARAGRAPHS)
        text = hide(ruler, _others(rng, people, _CHARACTERS_PER_TOKEN * tokens), hidden, tokens, "the made-up text")
        return Sample(self.name, number, text, question, (answer,), match_part, "made up")


def _people(rng: Random) -> Iterator[Person]:
    """Everybody there can be, in some order; no name comes twice."""
    names = [f"{first} {begin}{end}" for first in FIRST_NAMES for begin in NAME_BEGINNINGS for end in SURNAME_ENDS]
    towns = [f"{begin}{end}" for begin in NAME_BEGINNINGS for end in TOWN_ENDS]
    for name in rng.sample(names, len(names)):
        born_in, lived_in = rng.sample(towns, 2)
        year = str(rng.randrange(1700, 1990))
        yield Person(
            name=name,
            born_in=born_in,
            year=year,
            trade=rng.choice(TRADES),
            instrument=rng.choice(INSTRUMENTS),
            collected=rng.choice(COLLECTED),
            lived_in=lived_in,
        )


def _others(rng: Random, people: Iterator[Person], characters: int) -> str:
    paragraphs: list[str] = []
    length = 0
    for person in people:
        paragraphs.append(person.paragraph(rng))
        length += len(paragraphs[-1]) + 2
        if length >= characters:
            break
    return "\n\n".join(paragraphs)
