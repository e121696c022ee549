"""What crosses from the process that parses a PDF to the one that makes a document of it: strings and numbers only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outline:
    """How many pages there are, the printed label of each (or None), and what opening the file brought to light."""

    total: int
    labels: tuple[str | None, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RawPage:
    """A page as extracted; `failed` says why it could not be, `warnings` whatever else is to be told.

    `margins` are the indexes of those lines of the text that stand above or below the page's body, `unjoined` of those
    whose last word does not go on in the next line.
    """

    text: str = ""
    failed: str | None = None
    warnings: tuple[str, ...] = ()
    margins: tuple[int, ...] = ()
    unjoined: tuple[int, ...] = ()
