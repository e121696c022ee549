"""The end of a growing text, wrapped to a width. A line once broken stays as it is, so that the panel does not tremble.

It knows nothing of tokens or terminals.
"""

from __future__ import annotations

from collections import deque

from spsl_cli.render.line import fitting
from spsl_cli.render.sanitise import clean

_KEPT_LINES = 100
_KEPT_CHARACTERS = 6_000  # enough to fill a large terminal again after its width has changed
_TAB = "    "


class AnswerTail:
    """Feed text, ask for the last lines."""

    def __init__(self, cells: int = 80) -> None:
        self._cells = cells
        self._raw = ""
        self._broken: deque[str] = deque(maxlen=_KEPT_LINES)
        self._open = ""

    def feed(self, text: str) -> None:
        """Append `text`, cleaned."""
        text = clean(text).replace("\t", _TAB)
        self._raw += text
        if len(self._raw) > 2 * _KEPT_CHARACTERS:
            self._raw = self._raw[-_KEPT_CHARACTERS:]
        self._break(text)

    def lines(self, cells: int, height: int) -> list[str]:
        """The last `height` lines at most, each at most `cells` wide."""
        if cells != self._cells:
            self._cells = cells
            self._broken.clear()
            self._open = ""
            self._break(self._raw)
        lines = [*self._broken, self._open] if self._open else list(self._broken)
        return lines[-height:]

    def _break(self, text: str) -> None:
        first, *others = text.split("\n")
        self._fill(first)
        for paragraph in others:
            self._broken.append(self._open)
            self._open = ""
            self._fill(paragraph)

    def _fill(self, text: str) -> None:
        rest = self._open + text
        while (end := fitting(rest, self._cells)) < len(rest):
            space = end if rest[end] == " " else rest.rfind(" ", 0, end)
            if rest[:space].strip() and space > 0:
                self._broken.append(rest[:space].rstrip())
                rest = rest[space:].lstrip(" ")
            else:
                self._broken.append(rest[:end])
                rest = rest[end:]
        self._open = rest
