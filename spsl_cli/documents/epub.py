"""The kind for EPUB books: their chapters in reading order, as one page of text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spsl_cli.documents.archive import SIGNS, Archive
from spsl_cli.documents.book import CONTAINER, Book, open_book, protected
from spsl_cli.documents.document import Page
from spsl_cli.documents.html import decode_page
from spsl_cli.documents.source import Extract, Source, UnreadableError
from spsl_cli.documents.unseen import Unseen
from spsl_cli.documents.wording import one_line

MEDIA_TYPE = "application/epub+zip"
_SUFFIX = ".epub"
_MIME_TYPE = "mimetype"
_LONGEST_MIME_TYPE = 1_000
_NAMED = 5
_ONLY_A_COVER = re.compile(r"\[image: (?:front |book )?cover[^\]]*\]", re.IGNORECASE)


def matches(source: Source) -> bool:
    """Whether it is an archive with an EPUB's marks in it, or named as one."""
    if not source.data.startswith(SIGNS):
        return False
    try:
        archive = Archive(source.data, source.limits)
        if archive.find(_MIME_TYPE) and archive.read(_MIME_TYPE, _LONGEST_MIME_TYPE).strip() == MEDIA_TYPE.encode():
            return True
    except UnreadableError:
        return source.suffix == _SUFFIX
    return archive.find(CONTAINER) is not None or source.suffix == _SUFFIX


def read(source: Source) -> Extract:
    """Title, authors and all chapters. Raises UnreadableError where none can be read, or they are protected."""
    archive = Archive(source.data, source.limits)
    book = open_book(archive)
    locked = protected(archive) & {chapter.name for chapter in book.chapters}
    if locked:
        raise UnreadableError(
            f"an EPUB book under digital rights management (DRM): {len(locked):,} of {len(book.chapters):,}"
            " chapters are encrypted, and only the shop's own reader has the key"
        )
    reading = _Reading(source, archive)
    chapters = list(reading.chapters(book))
    if not chapters:
        raise UnreadableError(reading.first_fault or "no text (its pages may be pictures)")
    text = "\n\n".join([part for part in (book.title, *_by(book.authors)) if part] + chapters)
    return Extract(MEDIA_TYPE, (Page(1, text),), None, (*book.warnings, *reading.warnings()))


class _Reading:
    """One run over the chapters of a book, and what went wrong with which of them."""

    def __init__(self, source: Source, archive: Archive) -> None:
        self.first_fault = ""
        self._limits = source.limits
        self._archive = archive
        self._faults: dict[str, list[str]] = {}
        self._unseen = Unseen()

    def chapters(self, book: Book) -> Iterator[str]:
        """The text of each chapter that has some."""
        # lxml takes time to import, which only those with a book should pay.
        from spsl_cli.documents.markup.rendering import render  # noqa: PLC0415

        characters = 0
        for chapter in book.chapters:
            if not chapter.present:
                self._note("listed in the book but missing from it", chapter.name)
            elif chapter.page:
                try:
                    decoded = decode_page(self._archive.read(chapter.name))
                    rendered = render(decoded.text, limits=self._limits)
                    text = rendered.text
                except UnreadableError as error:
                    self._note(f"left out: {error}", chapter.name)
                    continue
                self._unseen.take(rendered.unseen)
                for warning in (*decoded.warnings, *rendered.warnings):
                    self._note(warning, chapter.name)
                if text and not chapter.listed:
                    self._note("not in the book's reading order, so it stands behind the others", chapter.name)
                characters += len(text)
                if characters > self._limits.document_characters:
                    raise UnreadableError(f"more than the limit of {self._limits.document_characters:,} characters")
                if text and not _ONLY_A_COVER.fullmatch(text):
                    yield text
            elif not chapter.picture:
                self._note("of a kind that is not read", chapter.name)

    def _note(self, fault: str, name: str) -> None:
        self.first_fault = self.first_fault or f"{one_line(name)}: {fault}"
        self._faults.setdefault(fault, []).append(one_line(name))

    def warnings(self) -> Iterator[str]:
        """What went wrong, each reason once with the chapters it concerns."""
        for fault, names in self._faults.items():
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            yield f"{', '.join(names[:_NAMED])}{more}: {fault}"
        yield from self._unseen.warnings()


def _by(authors: tuple[str, ...]) -> tuple[str, ...]:
    return (f"by {', '.join(authors)}",) if authors else ()
