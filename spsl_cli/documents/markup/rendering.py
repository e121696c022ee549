"""HTML -> readable text, by the events of a parser, so that no depth of nesting cuts anything off.

Knows what a page hides and what its title is; knows nothing of bytes and files.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass

from lxml import etree  # type: ignore[import-untyped]

from spsl_cli.documents.invisible import without_invisible
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.markup.deadline import CHUNK, Deadline
from spsl_cli.documents.markup.elements import Elements
from spsl_cli.documents.markup.flow import Room
from spsl_cli.documents.markup.inline import Undo

# What shows nothing in a browser with scripts. The text inside players is for browsers that cannot play.
_LEFT_OUT = frozenset(
    {
        "script",
        "style",
        "template",
        "iframe",
        "audio",
        "video",
        "canvas",
        "datalist",
        "rp",
        "mphantom",
        "annotation",
        "annotation-xml",
    }
)
_NOSCRIPT = "noscript"
_PREFIXES = frozenset({"h", "html", "xhtml", "m", "mml", "svg"})
_DISPLAY = re.compile(r"display\s*:\s*([a-z-]+)", re.IGNORECASE)
# Pages that fade in are hidden as a whole until their scripts have run.
_NEVER_HIDDEN = frozenset({"html", "body"})
_DOCTYPE_WITH_ENTITIES = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<!doctype[^>\[]*\[", re.IGNORECASE)
_XHTML = re.compile(r"<\?xml|1999/xhtml", re.IGNORECASE)
_PROLOG = 4096
_NONE: dict[str, str] = {}
_CDATA, _CDATA_END = "<![CDATA[", "]]>"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page as a person reads it: its title, as far as it has one, and its text."""

    title: str
    text: str

    @property
    def whole(self) -> str:
        """The text with the title before it, unless it begins with that anyway."""
        if not self.title or self.text.lstrip("# ").startswith(self.title):
            return self.text
        return f"{self.title}\n\n{self.text}" if self.text else self.title


def render(markup: str, *, limits: Limits) -> Rendered:
    """A document or a fragment as text.

    Raises UnreadableError where lists, quotations or tables nest too deep, or where there is more text than `limits`
    allow.
    """
    rendered = _rendered(markup, limits, with_noscript=False)
    # A page that is filled in by scripts has nothing to read but what it says to those who have none.
    return rendered if rendered.text else _rendered(markup, limits, with_noscript=True)


def _rendered(markup: str, limits: Limits, *, with_noscript: bool) -> Rendered:
    target = _Target(Room(limits), with_noscript=with_noscript)
    # Events in place of a tree: libxml2 cuts trees at a depth, which events have not.
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True, no_network=True)
    data, deadline = _as_html(markup or " ").encode("utf-8", "replace"), Deadline(limits)
    for start in range(0, len(data), CHUNK):
        parser.feed(data[start : start + CHUNK])
        deadline.check()
    rendered: Rendered = parser.close()
    return rendered


def _as_html(markup: str) -> str:
    """XHTML in the form that a parser of HTML reads: no document type of its own, and no CDATA sections."""
    markup = markup.replace("\r\n", "\n").replace("\r", "\n")
    if _DOCTYPE_WITH_ENTITIES.match(markup):
        _, end, rest = markup.partition("]>")
        markup = rest if end else markup
    if _CDATA not in markup or not _XHTML.search(markup, 0, _PROLOG):
        return markup
    first, *sections = markup.split(_CDATA)
    pieces = [first]
    for section in sections:
        text, end, rest = section.partition(_CDATA_END)
        pieces += (html.escape(text), rest) if end else (section,)
    return "".join(pieces)


class _Target:
    """Takes a parser's events; elements that are hidden, and all in them, go no further."""

    def __init__(self, room: Room, *, with_noscript: bool) -> None:
        self._elements = Elements(room)
        self._left_out = _LEFT_OUT if with_noscript else _LEFT_OUT | {_NOSCRIPT}
        self._open: list[Undo] = []
        self._hidden = 0
        self._pictures = 0
        self._title: list[str] = []
        self._in_title = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._hidden:
            self._hidden += 1
            return
        if ":" in tag:
            prefix, _, name = tag.rpartition(":")
            tag = name if prefix in _PREFIXES else tag
        if not attributes:
            attributes = _NONE  # lxml's own empty mapping is slow to ask
        if tag in self._left_out or (attributes and _is_hidden(tag, attributes)):
            self._hidden = 1
        elif tag == "title" and not self._pictures:
            self._in_title = True
            self._open.append(self._end_title)
        elif tag == "svg":
            self._pictures += 1
            self._open.append(self._end_picture)
        else:
            self._open.append(self._elements.open(tag, attributes))

    def end(self, _: str) -> None:
        if self._hidden:
            self._hidden -= 1
        elif undo := self._open.pop():
            undo()

    def data(self, text: str) -> None:
        if self._hidden:
            return
        if self._in_title:
            self._title.append(text)
        else:
            self._elements.flow.write(without_invisible(text))

    def close(self) -> Rendered:
        title = " ".join(without_invisible("".join(self._title)).split())
        return Rendered(title, "\n".join(self._elements.flow.finish()))

    def _end_title(self) -> None:
        self._in_title = False
        self._title.append(" ")

    def _end_picture(self) -> None:
        self._pictures -= 1


def _is_hidden(tag: str, attributes: Mapping[str, str]) -> bool:
    """Whether no reader sees it. `aria-hidden` is no such sign: it concerns those only who have the page read out."""
    if tag in _NEVER_HIDDEN:
        return False
    if attributes.get("hidden", "until-found").lower() != "until-found":
        return True
    displays = _DISPLAY.findall(attributes.get("style", ""))
    return bool(displays) and displays[-1].lower() == "none"
