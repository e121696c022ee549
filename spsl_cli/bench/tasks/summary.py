"""Summaries: of real text of a wanted length, or of the user's own documents as they are. No right answer, no score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from spsl_cli.bench.tasks.about_text import about_text
from spsl_cli.bench.tasks.base import Ruler, Sample
from spsl_cli.bench.tasks.sources import TextSource, builtin_source
from spsl_cli.documents import Document
from spsl_cli.errors import UsageError


@dataclass(frozen=True)
class Summary:
    """A summary of real text."""

    name: ClassVar[str] = "summary"
    new_tokens: ClassVar[int] = 256

    source: TextSource = field(default_factory=builtin_source)

    def samples(self, ruler: Ruler, tokens: int, count: int, seed: int) -> list[Sample]:
        """As in `Task`. Raises UsageError if the source is too short."""
        return about_text(self.name, ("",), self.source, ruler, tokens, count, seed, "summarize")


@dataclass(frozen=True)
class OwnDocuments:
    """A summary of each of the user's documents, whole; `tell` is told how many are left out, being too long."""

    name: ClassVar[str] = "documents"
    new_tokens: ClassVar[int] = 256

    documents: tuple[Document, ...] = field(repr=False)
    tell: Callable[[str], None]

    def samples(self, ruler: Ruler, tokens: int, count: int, seed: int) -> list[Sample]:
        """The first `count` documents of at most `tokens` tokens; shorter ones stay short, and no seed changes them.

        Raises UsageError if none is short enough.
        """
        del seed
        fitting = [document for document in self.documents if ruler.count(document.text) <= tokens]
        if left_out := len(self.documents) - len(fitting):
            self.tell(f"left out {left_out} of {len(self.documents)} documents: longer than {tokens:,} tokens")
        if not fitting:
            raise UsageError(f"no document has at most {tokens:,} tokens", hint="allow a longer context")
        return [
            Sample(self.name, number, document.text, "", source=document.path, wording="summarize")
            for number, document in enumerate(fitting[:count])
        ]
