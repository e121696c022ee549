"""What a task of the benchmark is: it makes samples of a wanted length. Knows how to count tokens, not which model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from spsl_cli.prompting.wording import Task as Wording

Metric = Callable[[str, tuple[str, ...]], float]
"""How good an answer is against those that are right, in [0, 1]."""


class Ruler(Protocol):
    """Measures text in tokens of the model under test."""

    def count(self, text: str) -> int:
        """How many tokens the text has."""
        ...

    def cut(self, text: str, tokens: int) -> str:
        """The longest beginning of the text of at most so many tokens."""
        ...


@dataclass(frozen=True)
class Sample:
    """One text with one thing to do about it.

    `answers`: what would be right, best first; none where a task has no right answer. `metric`: None there.
    `source`: where the text comes from, for the report. `wording`: the prompt asks `question` as a question, has it
    there as an instruction, or asks for a summary in the words of `summarize` and takes no question.
    """

    task: str
    number: int
    text: str
    question: str
    answers: tuple[str, ...] = ()
    metric: Metric | None = None
    source: str = ""
    wording: Wording = "ask"

    def score(self, answer: str) -> float | None:
        """How good the answer is, in [0, 1]; None where the task has no right one."""
        return None if self.metric is None else self.metric(answer, self.answers)


class Task(Protocol):
    """Makes samples; the same seed makes the same ones.

    name: as on the command line. new_tokens: how long an answer it calls for.
    """

    name: ClassVar[str]
    new_tokens: ClassVar[int]

    def samples(self, ruler: Ruler, tokens: int, count: int, seed: int) -> list[Sample]:
        """`count` samples whose text takes about `tokens` tokens (at most, and at least nine tenths of it)."""
        ...
