"""Charts and diagrams of a Word document -> the text and the figures in them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from spsl_cli.documents.invisible import without_invisible
from spsl_cli.documents.markup.xml import send
from spsl_cli.documents.word.context import Context
from spsl_cli.documents.word.names import short

_SERIES = "c:ser"
_VALUES = {"c:tx": "name", "c:cat": "labels", "c:xVal": "labels", "c:val": "values", "c:yVal": "values"}


def lines_of(context: Context, part: str) -> list[str]:
    """The lines of text in a chart or diagram part, then a line for each series. Raises UnreadableError."""
    drawn = _Drawn()
    send(context.package.archive.read(part), drawn, name=part, limits=context.limits)
    context.room.take(sum(len(line) + 1 for line in drawn.lines))
    return drawn.lines


class _Drawn:
    """Takes the events of a part."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._path: list[str] = []
        self._text: list[str] = []
        self._series: dict[str, list[str]] | None = None

    def start(self, tag: str, _: Mapping[str, str]) -> None:
        self._path.append(short(tag))
        if self._path[-1] == _SERIES:
            self._series = {"name": [], "labels": [], "values": []}
        if self._path[-1] in {"a:p", "c:v"}:
            self._text = []

    def data(self, text: str) -> None:
        if self._path[-1] in {"a:t", "c:v"}:
            self._text.append(text)

    def end(self, _: str) -> None:
        tag = self._path.pop()
        if tag == "a:p":
            self._add("".join(self._text))
        elif tag == "c:v" and self._series is not None:
            role = next((_VALUES[each] for each in reversed(self._path) if each in _VALUES), None)
            if role:
                self._series[role].append("".join(self._text))
        elif tag == _SERIES and self._series is not None:
            pairs = zip_longest(self._series["labels"], self._series["values"], fillvalue="")
            figures = ", ".join(f"{label} {value}".strip() for label, value in pairs)
            name = " ".join(self._series["name"])
            self._add(f"{name}: {figures}" if name else figures)
            self._series = None

    def _add(self, line: str) -> None:
        if line := " ".join(without_invisible(line).split()):
            self.lines.append(line)
