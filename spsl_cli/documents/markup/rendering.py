"""HTML -> readable text, by the events of a parser, so that no depth of nesting cuts anything off.

Knows what a page hides and what its title is; knows nothing of bytes and files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree  # type: ignore[import-untyped]

from spsl_cli.documents.invisible import without_invisible
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.markup.deadline import CHUNK, Deadline
from spsl_cli.documents.markup.elements import Elements
from spsl_cli.documents.markup.flow import NEW_LINE, Room
from spsl_cli.documents.markup.inline import Undo
from spsl_cli.documents.markup.sight import Eye, Sight
from spsl_cli.documents.markup.xhtml import as_html
from spsl_cli.documents.unseen import Unseen
from spsl_cli.documents.wording import one_line

# What shows nothing in a browser with scripts. The text inside players is for browsers that cannot play.
_LEFT_OUT = frozenset({
    "script", "style", "template", "iframe", "audio", "video", "canvas", "datalist", "rp", "mphantom", "annotation",
    "annotation-xml",
})  # fmt: skip
_NOSCRIPT = "noscript"
# What writes something by itself, and what can stand inside a line.
_WRITING = frozenset({"area", "hr", "img", "input", "option", "q", "rt"})
_IN_LINES = frozenset({"a", "b", "big", "code", "em", "font", "i", "small", "span", "strong", "u"})
_DEEPEST_PAGE = 3
_LONGEST_NAME, _FRAMES_NAMED = 60, 5
_PREFIXES = frozenset({"h", "html", "xhtml", "m", "mml", "svg"})
_DEPTH_OF_HEAD = 2
_NONE: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page as a person reads it: its title, if it has one, its text, what else to know, and what nobody sees."""

    title: str
    text: str
    warnings: tuple[str, ...] = ()
    unseen: Unseen = field(default_factory=Unseen)

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
    if rendered.text:
        return rendered
    bare = _rendered(markup, limits, with_noscript=True)
    return bare if bare.text else rendered


def _rendered(markup: str, limits: Limits, *, with_noscript: bool) -> Rendered:
    room, deadline, data = Room(limits), Deadline(limits), as_html(markup or " ").encode("utf-8", "replace")
    target = _parsed(data, _Target(room, deadline, Eye(), with_noscript=with_noscript))
    if target.ruled_late:  # rules hold for what stands before them too
        target = _parsed(data, _Target(Room(limits), deadline, target.eye, with_noscript=with_noscript))
    return target.rendered()


def _parsed(data: bytes, target: _Target) -> _Target:
    # Events in place of a tree: libxml2 cuts trees at a depth, which events have not.
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True, no_network=True)
    for start in range(0, len(data), CHUNK):
        parser.feed(data[start : start + CHUNK])
        target.deadline.check()
    parser.close()
    return target


class _Target:
    """Takes a parser's events; elements that show nothing, and all in them, go no further.

    `eye` knows the rules of the page's style sheets; where it knew some before, they are not taken again.
    """

    def __init__(self, room: Room, deadline: Deadline, eye: Eye, *, with_noscript: bool, depth: int = 0) -> None:
        self.deadline = deadline
        self.eye = eye
        self.ruled_late = False
        self.unseen = Unseen()
        self.warnings: dict[str, None] = {}
        self._room = room
        self._ruled = bool(eye.sheet)
        self._depth = depth
        self._elements = Elements(room)
        self._with_noscript = with_noscript
        self._left_out = _LEFT_OUT if with_noscript else _LEFT_OUT | {_NOSCRIPT}
        self._open: list[Undo] = []
        self._sights: list[Sight] = []
        self._sight = Sight()
        self._why = ""
        self._skipped = 0
        self._gone = 0
        self._rules: list[str] | None = None
        self._frames: list[str] = []
        self._pictures = 0
        self._title: list[str] = []
        self._in_title = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._skipped:
            self._skipped += 1
            return
        if ":" in tag:
            prefix, _, name = tag.rpartition(":")
            tag = name if prefix in _PREFIXES else tag
        if not attributes:
            attributes = _NONE  # lxml's own empty mapping is slow to ask
        if (tag in self._left_out and "shadowrootmode" not in attributes) or _is_list_of_pages(tag, attributes):
            self._skipped = 1
            self._leave_out(tag, attributes)
        elif self._gone:
            self._gone += 1
        else:
            self._enter(tag, attributes)

    def _enter(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begins an element that may show something."""
        sight, raised = self._sight, False
        if self.eye.concerns(tag, attributes):
            sight, raised = self.eye.look(sight, tag, attributes)
            if sight.gone:
                self._gone, self._why = 1, sight.gone
                return
        self._sights.append(self._sight)
        if sight is not self._sight:
            self._sight, self._why = sight, sight.why
        self._open.append(self._opened(tag, attributes))
        if raised and tag in _IN_LINES and not self._why:
            self._open[-1] = _both(self._elements.open("sup", _NONE), self._open[-1])

    def _opened(self, tag: str, attributes: Mapping[str, str]) -> Undo:
        if tag == "title" and not self._pictures:
            self._in_title = True
            return self._end_title
        if tag == "svg":
            self._pictures += 1
            return self._end_picture
        if tag == "link" and "stylesheet" in attributes.get("rel", "").lower():
            self.eye.elsewhere = True
        elif tag == "frame":
            self._frames.append(attributes.get("src", ""))
        if self._why and tag in _WRITING:
            return None
        return self._elements.open("div" if tag == "template" else tag, attributes)

    def _leave_out(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element that shows nothing itself: style sheets are read, and so is a page given as an attribute."""
        if tag == "style" and not self._ruled and _is_for_screens(attributes.get("media", "")):
            self._rules = []
        elif tag == "iframe" and attributes.get("srcdoc", "").strip() and not (self._gone or self._why):
            self._add_page(attributes["srcdoc"])

    def _add_page(self, markup: str) -> None:
        if self._depth >= _DEEPEST_PAGE:
            self.warnings[f"pages inside pages deeper than {_DEEPEST_PAGE} are not read"] = None
            return
        inner = _Target(self._room, self.deadline, Eye(), with_noscript=self._with_noscript, depth=self._depth + 1)
        _parsed(as_html(markup).encode("utf-8", "replace"), inner)
        self._elements.flow.add(inner._elements.flow.finish())
        self._elements.flow.block(NEW_LINE)
        self.unseen.take(inner.unseen)
        self.warnings.update(inner.warnings)

    def end(self, _: str) -> None:
        if self._skipped:
            self._skipped -= 1
            if self._rules is not None and not self._skipped:
                self.eye.sheet.add("".join(self._rules))
                self.eye.elsewhere = self.eye.elsewhere or any("@import" in part for part in self._rules)
                self._rules = None
                self.ruled_late = self.ruled_late or (bool(self.eye.sheet) and self._has_begun())
        elif self._gone:
            self._gone -= 1
            self._why = self._why if self._gone else self._sight.why
        else:
            if undo := self._open.pop():
                undo()
            outer = self._sights.pop()
            if outer is not self._sight:
                self._sight, self._why = outer, outer.why

    def _has_begun(self) -> bool:
        flow = self._elements.flow
        return bool(flow.lines) or flow.place[1] > 0 or len(self._sights) > _DEPTH_OF_HEAD

    def data(self, text: str) -> None:
        if self._skipped:
            if self._rules is not None:
                self._rules.append(text)
        elif self._in_title and not self._gone:
            self._title.append(text)
        elif self._why:
            self.unseen.add(self._why, text)
        else:
            self._elements.flow.write(without_invisible(text))

    def close(self) -> None:
        """The parser has no more."""

    def rendered(self) -> Rendered:
        """What was read."""
        title = " ".join(without_invisible("".join(self._title)).split())
        if self._frames:
            names = ", ".join(one_line(name, _LONGEST_NAME) for name in self._frames[:_FRAMES_NAMED])
            more = f" and {len(self._frames) - _FRAMES_NAMED:,} more" if len(self._frames) > _FRAMES_NAMED else ""
            self.warnings[f"a page made of frames, which show other files that are not read: {names}{more}"] = None
        lines = self._elements.flow.finish()
        return Rendered(title, "\n".join(lines), tuple(self.warnings), self.unseen)

    def _end_title(self) -> None:
        self._in_title = False
        self._title.append(" ")

    def _end_picture(self) -> None:
        self._pictures -= 1


def _both(first: Undo, second: Undo) -> Undo:
    def close() -> None:
        for undo in (first, second):
            if undo:
                undo()

    return close


def _is_for_screens(media: str) -> bool:
    return media.strip().lower() in {"", "all", "screen"}


def _is_list_of_pages(tag: str, attributes: Mapping[str, str]) -> bool:
    """Books keep lists of printed pages and of landmarks so, which are for programs."""
    return tag == "nav" and "hidden" in attributes
