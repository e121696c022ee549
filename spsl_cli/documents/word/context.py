"""What all stories of a Word document share: its styles and numbers, its notes and comments, and what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from spsl_cli.documents.limits import Limits
from spsl_cli.documents.markup.flow import Room
from spsl_cli.documents.markup.numbering import numeral
from spsl_cli.documents.source import UnreadableError
from spsl_cli.documents.unseen import Colour, Unseen
from spsl_cli.documents.word.labels import Labels
from spsl_cli.documents.word.names import attribute, is_on
from spsl_cli.documents.word.package import Package
from spsl_cli.documents.word.styles import Styles
from spsl_cli.documents.wording import count

FOOTNOTE, ENDNOTE = "footnote", "endnote"
# What is drawn behind the text, and a colour of the page.
_BEHIND = (b'behindDoc="1"', b"behindDoc='1'", b"z-index:-", b":background ", b"<background ")
_WHITE = (255, 255, 255)
_LONGEST_ANCHOR = 120
# Comments that are about the same words at once; each costs time with every word.
_MOST_ANCHORS = 100


@dataclass(slots=True)
class Context:
    """One document being read."""

    package: Package
    limits: Limits
    room: Room
    styles: Styles
    labels: Labels
    notes: dict[str, dict[str, str]] = field(default_factory=lambda: {FOOTNOTE: {}, ENDNOTE: {}})
    """By kind: the marks of those notes that the text refers to, by their identifiers, in order."""
    counted: dict[str, int] = field(default_factory=dict)
    anchors: dict[str, list[str]] = field(default_factory=dict)
    """By the identifier of a comment: the text that it is about."""
    open_anchors: set[str] = field(default_factory=set)
    margins: dict[str, dict[str, None]] = field(default_factory=lambda: {"header": {}, "footer": {}})
    """By kind: the parts with the text above and below the pages, each once."""
    even: bool = False
    """Whether even pages have headers and footers of their own."""
    warnings: dict[str, None] = field(default_factory=dict)
    unseen: Unseen = field(default_factory=Unseen)
    objects: Counter[str] = field(default_factory=Counter)
    """How many objects of other programs there are, by what they call themselves."""
    _paper: list[Colour | None] = field(default_factory=list)

    def warn(self, text: str) -> None:
        """Adds a warning, unless it has been given."""
        self.warnings[text] = None

    @property
    def paper(self) -> Colour | None:
        """The colour of the pages; None where it is not known, as where pictures lie behind the text."""
        if not self._paper:
            parts = (self.package.main, *self.package.related(self.package.main, "header"))
            found = [self.package.archive.read(part) for part in parts if self.package.archive.find(part)]
            self._paper.append(None if any(sign in data for data in found for sign in _BEHIND) else _WHITE)
        return self._paper[0]

    def told(self) -> tuple[str, ...]:
        """All warnings."""
        objects = (
            f"{count(number, 'embedded object')} of another program not read: {name}"
            for name, number in self.objects.items()
        )
        return (*self.warnings, *objects, *self.unseen.warnings())

    def note_mark(self, kind: str, identifier: str, *, own_mark: bool) -> str:
        """The mark of a note where the text refers to it; empty where the author has set one by hand."""
        marks = self.notes[kind]
        if identifier not in marks and own_mark:
            marks[identifier] = ""
        elif identifier not in marks:
            number = self.counted[kind] = self.counted.get(kind, 0) + 1
            marks[identifier] = f"[{number if kind == FOOTNOTE else numeral(number, 'i')}]"
        return marks[identifier]

    def open_anchor(self, identifier: str) -> None:
        """What is written from here on is what a comment is about."""
        if len(self.open_anchors) < _MOST_ANCHORS:
            self.anchors.setdefault(identifier, [])
            self.open_anchors.add(identifier)

    def anchor(self, text: str) -> None:
        """Text that was written, for the comments that are open."""
        for identifier in self.open_anchors:
            if sum(map(len, self.anchors[identifier])) < _LONGEST_ANCHOR:
                self.anchors[identifier].append(text)


def open_context(package: Package, limits: Limits, room: Room) -> Context:
    """Styles and numbers are read as far as they can be; what is damaged becomes a warning."""
    warnings: dict[str, None] = {}
    styles = Styles(_tree(package, "styles", warnings))
    labels = Labels(_tree(package, "numbering", warnings), lambda style: styles[style].number)
    settings = _tree(package, "settings", warnings)
    even = None if settings is None else settings.find("{*}evenAndOddHeaders")
    shown = even is not None and is_on(attribute(even, "val"))
    return Context(package, limits, room, styles, labels, even=shown, warnings=warnings)


def _tree(package: Package, kind: str, warnings: dict[str, None]) -> Any:
    for name in package.related(package.main, kind):
        try:
            return package.tree(name)
        except UnreadableError as error:
            warnings[f"its headings, numbers or page headers may be wrong: {error}"] = None
    return None


def attempt(context: Context, what: str, action: Callable[[], None]) -> None:
    """Does something that the document can be read without; what goes wrong is named."""
    try:
        action()
    except UnreadableError as error:
        context.warn(f"{what} not read: {error}")
