"""Free writing about a long text: little of it is copied, so this is where drafts are hardest. No score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from spsl_cli.bench.tasks.about_text import about_text
from spsl_cli.bench.tasks.base import Ruler, Sample
from spsl_cli.bench.tasks.sources import TextSource, builtin_source

_REQUESTS = (
    "Write a short story in which something that the text explains plays a part. Do not quote the text.",
    "Write a letter to a friend about what the text taught you, in your own words.",
    "Write a dialogue between a teacher and a pupil about the subject of the text, in words of your own.",
    "Write a newspaper column with your own opinion on the subject of the text. Do not quote the text.",
)


@dataclass(frozen=True)
class Writing:
    """A story, a letter, a dialogue or a column about real text, in turn."""

    name: ClassVar[str] = "writing"
    new_tokens: ClassVar[int] = 256

    source: TextSource = field(default_factory=builtin_source)

    def samples(self, ruler: Ruler, tokens: int, count: int, seed: int) -> list[Sample]:
        """As in `Task`. Raises UsageError if the source is too short."""
        return about_text(self.name, _REQUESTS, self.source, ruler, tokens, count, seed, "instruct")
