"""What a document is once it has been read: text whose every character leads back to its place."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

from spsl_cli.documents.wording import ranges


@dataclass(frozen=True)
class Place:
    """Where a character stands in its source: page (from 1, with its printed label) and line on that page (from 1)."""

    page: int
    label: str | None
    line: int

    def told(self, *, paged: bool) -> str:
        """In words; a source without pages has lines alone."""
        return f"page {self.label or self.page}, line {self.line}" if paged else f"line {self.line}"


@dataclass(frozen=True)
class LeftOut:
    """A line that a page has and its text has not, for earlier pages say the same: its number there (from 1)."""

    line: int
    text: str


@dataclass(frozen=True)
class Page:
    """One page of a document; kinds without pages have exactly one, number 1.

    `left_out` are the repeated headers and footers, in the order of their lines.
    """

    number: int
    text: str
    label: str | None = None
    warnings: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True)
class Document:
    """One source, read whole.

    `path` is what the user would recognise it by, `sha256` that of the source's bytes, `encoding` the one assumed for
    text (None where the question does not arise).
    """

    path: str
    sha256: str
    media_type: str
    pages: tuple[Page, ...]
    encoding: str | None = None
    warnings: tuple[str, ...] = field(default=())

    @property
    def paged(self) -> bool:
        """Whether the source has pages of its own, so that a place is better told by page than by line."""
        return self.media_type == "application/pdf"

    @cached_property
    def text(self) -> str:
        """All pages, a form feed between two of them."""
        return "\f".join(page.text for page in self.pages)

    @cached_property
    def _page_starts(self) -> list[int]:
        starts, offset = [], 0
        for page in self.pages:
            starts.append(offset)
            offset += len(page.text) + 1
        return starts

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """All that the user should know: `warnings`, then those of pages, equal ones together ("pages 2, 4-7: ...")."""
        pages: dict[str, list[int]] = {}
        for page in self.pages:
            for warning in page.warnings:
                pages.setdefault(warning, []).append(page.number)
        told = (f"page{'s' if len(numbers) > 1 else ''} {ranges(numbers)}: {text}" for text, numbers in pages.items())
        return (*self.warnings, *told)

    @property
    def characters(self) -> int:
        """How many characters were extracted, page separators not counted."""
        return sum(len(page.text) for page in self.pages)

    def place(self, offset: int) -> Place:
        """The place of the character at `offset` of `text`."""
        if not 0 <= offset <= len(self.text):
            raise IndexError(f"offset {offset} is outside the text of {self.path} ({len(self.text)} characters)")
        index = bisect_right(self._page_starts, offset) - 1
        page = self.pages[index]
        before = self.text[self._page_starts[index] : offset]
        line = before.count("\n") + 1
        for left_out in page.left_out:
            line += left_out.line <= line
        return Place(page.number, page.label, line)


@dataclass(frozen=True)
class Skip:
    """An input that was not read, and why, in words for the user.

    `by_rule` tells what is left out on purpose (hidden entries, the same content again) from what a user may miss.
    """

    path: str
    reason: str
    by_rule: bool = False


@dataclass(frozen=True)
class Collection:
    """What was read, in a stable order, and what was not."""

    documents: tuple[Document, ...]
    skipped: tuple[Skip, ...] = ()
