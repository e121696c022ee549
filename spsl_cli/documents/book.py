"""The package file of an EPUB -> its title and the order of its chapters. Knows nothing of what is in the chapters."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote, urlsplit

from spsl_cli.documents.archive import Archive
from spsl_cli.documents.limits import MEBIBYTE
from spsl_cli.documents.source import UnreadableError

CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_MOST_FALLBACKS = 5
_LARGEST = 32 * MEBIBYTE
_PAGES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/xml", "image/svg+xml"})
_PAGE_SUFFIXES = (".xhtml", ".html", ".htm")
_PICTURES = "image/"
_DRAWINGS = frozenset({"image/svg+xml", "application/xml"})
# Fonts that are scrambled so that nobody takes them out of the book; the text is not concerned.
_SCRAMBLED_FONTS = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Chapter:
    """A document in reading order: its name in the archive, or what it is called where there is none; what it is.

    `listed` is False for a page that the book holds and its reading order does not name.
    """

    name: str
    present: bool
    page: bool = True
    picture: bool = False
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Book:
    """What the package file says, and what is wrong with it."""

    title: str
    authors: tuple[str, ...]
    chapters: tuple[Chapter, ...]
    warnings: tuple[str, ...] = ()


def open_book(archive: Archive) -> Book:
    """Raises UnreadableError where there are no chapters at all."""
    try:
        package = _package_name(archive)
        book = _Package(archive, package).book()
        reason = "" if book.chapters else f"{package} lists no chapters"
    except UnreadableError as error:
        reason = str(error)
    if not reason:
        return book
    names = sorted((name for name in archive if name.lower().endswith(_PAGE_SUFFIXES)), key=_by_numbers)
    if not names:
        raise UnreadableError(f"a damaged EPUB book: {reason}")
    warning = f"{reason}: its chapters are read in the order of their names"
    return Book("", (), tuple(Chapter(name, present=True) for name in names), (warning,))


def protected(archive: Archive) -> frozenset[str]:
    """The members that are encrypted in a way that takes a key: digital rights management."""
    if archive.find(_ENCRYPTION) is None:
        return frozenset()
    names = set()
    for entry in _all(_tree(archive, _ENCRYPTION), "EncryptedData"):
        methods = {method.get("Algorithm") for method in _all(entry, "EncryptionMethod")}
        if not methods <= _SCRAMBLED_FONTS:
            names |= {_resolved("", each.get("URI", "")) for each in _all(entry, "CipherReference")}
    return frozenset(found for name in names if (found := archive.find(name)))


def _package_name(archive: Archive) -> str:
    if archive.find(CONTAINER) is not None:
        for root in _all(_tree(archive, CONTAINER), "rootfile"):
            name = _resolved("", root.get("full-path", ""))
            if archive.find(name) is not None:
                return name
    name = next((name for name in archive if name.lower().endswith(".opf")), "")
    if not name:
        raise UnreadableError("it has no package file")
    return name


class _Package:
    """The tree of a package file."""

    def __init__(self, archive: Archive, name: str) -> None:
        self._archive = archive
        self._folder = posixpath.dirname(name)
        self._root = _tree(archive, name)
        self._items = {item.get("id"): item for item in _all(self._root, "item")}

    def book(self) -> Book:
        titles = [text for text in (_text(title) for title in _all(self._root, "title")) if text]
        authors = tuple(text for text in (_text(author) for author in _all(self._root, "creator")) if text)
        main: list[Chapter] = []
        aside: list[Chapter] = []
        for reference in _all(self._root, "itemref"):
            item = self._readable(self._items.get(reference.get("idref")))
            chapter = Chapter(reference.get("idref", ""), present=False) if item is None else self._chapter(item)
            (aside if reference.get("linear") == "no" else main).append(chapter)
        # The same chapter twice is one; what stands beside the book's course follows it.
        chapters = list(dict.fromkeys(main + aside))
        chapters += self._others({chapter.name for chapter in chapters}) if chapters else []
        return Book(titles[0] if titles else "", authors, tuple(chapters))

    def _others(self, known: set[str]) -> list[Chapter]:
        """Pages that only links lead to, such as notes; not the table of contents and what stands in for others."""
        fallbacks = {item.get("fallback") for item in self._items.values()}
        others = []
        for identifier, item in self._items.items():
            chapter = self._chapter(item)
            is_contents = "nav" in item.get("properties", "").split()
            if not is_contents and identifier not in fallbacks and chapter.page and chapter.name not in known:
                known.add(chapter.name)
                if chapter.present and item.get("media-type") not in _DRAWINGS:
                    others.append(replace(chapter, listed=False))
        return others

    def _readable(self, item: Any) -> Any:
        """The item, or the first of its fallbacks that is a page."""
        first = item
        for _ in range(_MOST_FALLBACKS):
            if item is None or item.get("media-type") in _PAGES:
                break
            item = self._items.get(item.get("fallback"))
        return first if item is None or item.get("media-type") not in _PAGES else item

    def _chapter(self, item: Any) -> Chapter:
        href = item.get("href", "")
        name = self._archive.find(_resolved(self._folder, href))
        kind = item.get("media-type", "")
        picture = kind.startswith(_PICTURES) and kind not in _PAGES
        page = kind in _PAGES or (not picture and href.lower().endswith(_PAGE_SUFFIXES))
        return Chapter(name or href, name is not None, page, picture)


def _resolved(folder: str, address: str) -> str:
    """The name in the archive that an address in a file of `folder` stands for; what leads out of it finds nothing."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    if parts.scheme or parts.netloc:
        return address
    path = unquote(parts.path)
    return posixpath.normpath(path.lstrip("/") if path.startswith("/") else posixpath.join(folder, path))


def _tree(archive: Archive, name: str) -> Any:
    # lxml takes time to import, which only those with a book should pay.
    from spsl_cli.documents.markup.xml import tree  # noqa: PLC0415

    return tree(archive.read(name, _LARGEST), name)


def _all(element: Any, name: str) -> Iterator[Any]:
    """All elements of that name, in whatever namespace."""
    return element.iter(f"{{*}}{name}")  # type: ignore[no-any-return]


def _text(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def _by_numbers(name: str) -> list[tuple[int, str]]:
    """Sorts `chapter10` after `chapter9`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(name)]
