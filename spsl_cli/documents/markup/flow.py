"""Words and breaks -> lines of text, as a browser would lay them out in a window without an edge.

Keeps white space, gaps between blocks, and the margins of lists and quotations. Knows nothing of tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from spsl_cli.documents.limits import Limits
from spsl_cli.documents.source import UnreadableError

# What browsers collapse; a no-break space is not among them.
_SPACES = re.compile(r"[ \t\n\r\f]+")
_NO_BREAK_SPACE = "\xa0"

NEW_LINE, BLANK_LINE = 1, 2


class Room:
    """How much more text may be written, for all flows of one document together, so that no markup multiplies."""

    def __init__(self, limits: Limits) -> None:
        self.nesting = limits.nesting
        self._limit = self._left = limits.document_characters

    def take(self, characters: int) -> None:
        """Raises UnreadableError when there is no room for as many."""
        self._left -= characters
        if self._left < 0:
            raise UnreadableError(f"more than the limit of {self._limit:,} characters of text")


@dataclass(slots=True)
class _Margin:
    """What stands before the first line and before each further one, such as `1. ` and three blanks."""

    first: str
    further: str
    used: bool = False


class Flow:
    """Lines one under another: those of a document or of one cell of a table."""

    def __init__(self, room: Room) -> None:
        self.lines: list[str] = []
        self.link_end: tuple[int, int] | None = None
        self.struck = False
        self._room = room
        self._parts: list[str] = []
        self._margins: list[_Margin] = []
        self._space = False
        self._gap = 0
        self._verbatim = 0
        self._held_back = 0
        self._at_verbatim_start = False
        self._breaks_are_blanks = 0

    # -------------------------------------------------------------------------------------------------- inside a line

    def write(self, text: str) -> None:
        """Text as it stands in the source: white space collapses unless it is kept."""
        if self._verbatim:
            self._write_verbatim(text)
            return
        words = _SPACES.sub(" ", text)
        if words == " ":
            self._space = True
        elif words:
            if words[0] == " ":
                self._space = True
            self.put(words.strip(" "))
            self._space = words[-1] == " "

    def put(self, text: str) -> None:
        """Text that is written just so, after the blank that may be due."""
        if self._space and self._parts:
            self._parts.append(" ")
        self._space = False
        self._parts.append(text)

    def append(self, text: str) -> None:
        """Text that follows without the blank that may be due, which then follows it."""
        if text:
            self._parts.append(text)

    def blank(self) -> None:
        """One blank before what follows, unless a line begins there."""
        self._space = True

    @property
    def place(self) -> tuple[int, int]:
        """Where the line being written ends, for `since`."""
        return len(self.lines), len(self._parts)

    @property
    def in_word(self) -> bool:
        """Whether the line being written ends in a letter or digit, no blank being due."""
        return bool(self._parts) and not self._space and self._parts[-1][-1:].isalnum()

    def here(self) -> tuple[int, int]:
        """A place in the line being written, for `since`; a blank that is due is written before it."""
        if self._space and self._parts:
            self._parts.append(" ")
            self._space = False
        return self.place

    def since(self, place: tuple[int, int], most: int) -> str | None:
        """What was written from `place` on, or None when that is more than `most` characters, or the line has ended."""
        lines, parts = place
        if lines != len(self.lines) or sum(map(len, self._parts[parts : parts + most + 1])) > most:
            return None
        return "".join(self._parts[parts:])

    def before(self, place: tuple[int, int]) -> str:
        """The end of what stands on the line before `place`: its last parts, up to the first that is not empty."""
        at = place[1] - 1
        while at >= 0 and not self._parts[at]:
            at -= 1
        return self._parts[at] if at >= 0 else ""

    def replace(self, place: tuple[int, int], text: str) -> None:
        """Puts `text` instead of what was written from `place` on."""
        self._parts[place[1] :] = [text] if text else []

    def wrap(self, place: tuple[int, int], before: str, after: str) -> None:
        """Sets what was written from `place` on between two signs, unless that is nothing or the line has ended."""
        if place[0] == len(self.lines) and place[1] < len(self._parts):
            self._parts.insert(place[1], before)
            self._parts.append(after)

    # -------------------------------------------------------------------------------------------------- between lines

    def block(self, gap: int) -> None:
        """Ends the line; what follows begins on a new one, or leaves a blank line before it.

        Where a margin begins, such as that of a list item, its own gap has been left already.
        """
        self._end_line()
        if not (self._margins and self._fresh()):
            self._gap = max(self._gap, gap)

    def tighten(self) -> None:
        """No blank line before what follows, whatever asked for one."""
        self._end_line()
        self._gap = NEW_LINE

    def line_break(self) -> None:
        """`<br>`: ends the line; one after another leaves a blank line, and no more than one."""
        if self._verbatim:
            self._write_verbatim("\n")
        elif self._breaks_are_blanks:
            self.blank()
        elif self._end_line():
            self._gap = max(self._gap, NEW_LINE)
        elif not self._fresh():
            self._gap = BLANK_LINE

    def add(self, lines: Iterable[str], gap: int = NEW_LINE) -> None:
        """Lines that are laid out already."""
        self.block(gap)
        for line in lines:
            if line:
                self._put_line(line, counted=True)
                self._gap = NEW_LINE
            else:
                self._gap = BLANK_LINE

    def finish(self) -> list[str]:
        """All lines."""
        self._end_line()
        return self.lines

    # ------------------------------------------------------------------------------------------------ margins, modes

    def indent(self, first: str, further: str) -> None:
        """A margin for what follows until `outdent`. Raises UnreadableError when there are too many."""
        self._end_line()
        if len(self._margins) >= self._room.nesting:
            raise UnreadableError(f"lists or quotations nested deeper than the limit of {self._room.nesting:,}")
        self._margins.append(_Margin(first, further))

    def outdent(self) -> None:
        """Back to the margin before."""
        self._end_line()
        self._margins.pop()

    def start_verbatim(self) -> None:
        """White space is kept until `end_verbatim`."""
        self._verbatim += 1
        self._at_verbatim_start = True

    def end_verbatim(self) -> None:
        """White space collapses again."""
        self._verbatim -= 1
        if not self._verbatim:
            self._held_back = 0
            self._at_verbatim_start = False

    def start_title(self) -> None:
        """Line breaks are blanks until `end_title`."""
        self._breaks_are_blanks += 1

    def end_title(self) -> None:
        """Line breaks are line breaks again."""
        self._breaks_are_blanks -= 1

    # ------------------------------------------------------------------------------------------------------ internals

    def _fresh(self) -> bool:
        """Whether nothing stands yet in the innermost margin."""
        return not self._margins[-1].used if self._margins else not self.lines

    def _write_verbatim(self, text: str) -> None:
        if self._at_verbatim_start and text:
            text = text.removeprefix("\n")
            self._at_verbatim_start = False
        first, *others = text.split("\n")
        self._write_kept(first)
        for line in others:
            if not self._end_line(keep_indent=True):
                # Blank lines at the end of what is kept are dropped, so each waits until more follows.
                self._held_back += 1
            self._write_kept(line)

    def _write_kept(self, text: str) -> None:
        if text:
            self._space = False
            self._parts.append(text)

    def _end_line(self, *, keep_indent: bool = False) -> bool:
        """Puts the line being written, if there is something on it, and says whether there was."""
        if not self._parts:
            self._space = False
            return False
        line = "".join(self._parts).replace(_NO_BREAK_SPACE, " ").rstrip()
        if not (keep_indent or self._verbatim):
            line = line.lstrip()
        self._parts.clear()
        self._space = False
        if not line:
            return False
        if self._held_back and self.lines:
            self._gap = max(self._gap, self._held_back + 1)
        self._held_back = 0
        self._put_line(line)
        self._gap = NEW_LINE
        return True

    def _put_line(self, line: str, *, counted: bool = False) -> None:
        if not counted:
            self._room.take(len(line) + 1)
        if self._margins:
            margin = "".join([margin.further if margin.used else margin.first for margin in self._margins])
            for each in self._margins:
                each.used = True
            self._room.take(len(margin))
            line = margin + line
        if self._gap > NEW_LINE and self.lines:
            self._room.take(self._gap)
            self.lines.extend([""] * (self._gap - NEW_LINE))
        self.lines.append(line)
