"""What goes into a reader and what comes out of it. Knows no kind of document."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath

from spsl_cli.documents.document import Page
from spsl_cli.documents.limits import Limits


class UnreadableError(Exception):
    """A source that gives no document; `str(error)` is the reason in words for the user. Never leaves this package."""


class AlreadyReadError(UnreadableError):
    """A source whose content is a document already: left out on purpose."""


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of one input. `name` is the path as shown; it names the source and may hint at its kind, no more."""

    name: str
    data: bytes = field(repr=False)
    password: str | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)

    @property
    def suffix(self) -> str:
        """The name's last suffix in lower case, with its dot; empty without one."""
        return PurePath(self.name).suffix.lower()


@dataclass(frozen=True, slots=True)
class Extract:
    """What a reader found: the text by page, and what the user should know about it."""

    media_type: str
    pages: tuple[Page, ...]
    encoding: str | None = None
    warnings: tuple[str, ...] = ()
