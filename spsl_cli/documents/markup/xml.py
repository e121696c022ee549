"""XML from anybody's hands, as events or as a small tree: no entity is expanded, nothing outside it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from lxml import etree  # type: ignore[import-untyped]

from spsl_cli.documents.limits import Limits
from spsl_cli.documents.markup.deadline import CHUNK, Deadline
from spsl_cli.documents.source import UnreadableError
from spsl_cli.documents.wording import one_line

_SAFE = {"resolve_entities": False, "no_network": True, "load_dtd": False, "dtd_validation": False, "huge_tree": False}


class Events(Protocol):
    """What takes the events; names of elements and attributes are written `{namespace}name`."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""

    def end(self, tag: str) -> None:
        """It ends."""

    def data(self, text: str) -> None:
        """Text, in one piece or several."""


def send(data: bytes, events: Events, *, name: str, limits: Limits) -> None:
    """Sends the events of a document that has no document type.

    Raises UnreadableError where it has one, is damaged, nests deeper or takes longer than `limits` allow; the events up
    to there have been sent by then. `name` names it in the reason.
    """
    parser = etree.XMLParser(target=_Guarded(events, name, limits.nesting), **_SAFE)
    deadline = Deadline(limits)
    try:
        # The parser refuses more than 10 million bytes in one piece.
        for start in range(0, len(data), CHUNK):
            parser.feed(data[start : start + CHUNK])
            deadline.check()
        parser.close()
    except etree.XMLSyntaxError as error:
        raise UnreadableError(f"{name} is damaged: {one_line(error)}") from error


def tree(data: bytes, name: str) -> Any:
    """The root of a small document's tree, an lxml element. Raises UnreadableError where it is damaged."""
    try:
        return etree.fromstring(data, etree.XMLParser(remove_comments=True, remove_pis=True, **_SAFE))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableError(f"{name} is damaged: {one_line(error)}") from error


class _Guarded:
    """Passes events on as long as they are harmless."""

    def __init__(self, events: Events, name: str, nesting: int) -> None:
        self.data = events.data
        self._events = events
        self._name = name
        self._nesting = nesting
        self._depth = 0

    def doctype(self, *_: object) -> None:
        """A document type could declare entities that unfold without end; no such document has one."""
        raise UnreadableError(f"{self._name} declares a document type, which documents of this kind never do")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > self._nesting:
            raise UnreadableError(f"{self._name} is nested deeper than the limit of {self._nesting:,}")
        self._events.start(tag, attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        self._events.end(tag)

    def close(self) -> None:
        """Nothing is kept."""
