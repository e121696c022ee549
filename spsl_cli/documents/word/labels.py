"""The numbers that Word writes before paragraphs: `1.`, `2.3 (b)`, `Article IV`. Knows nothing of text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from spsl_cli.documents.markup.numbering import numeral
from spsl_cli.documents.word.names import attribute, integer, is_on, value

BULLET = "-"
_DEPTHS = 9
_PLACE = re.compile(r"%([1-9])")
_LETTERS = 26
_MOST_LETTERS = 30 * _LETTERS


@dataclass(frozen=True, slots=True)
class Level:
    """One depth of a numbering: its first number, how numbers are written, and the text around them."""

    start: int = 1
    form: str = "decimal"
    text: str = ""
    style: str | None = None
    legal: bool = False
    restarts: bool = True


@dataclass(slots=True)
class _Numbering:
    """A numbering in use: its levels, the counters that it shares, and numbers that it begins anew with."""

    counters: list[int | None]
    levels: dict[int, Level]
    anew: dict[int, int] = field(default_factory=dict)


class Labels:
    """Counts through all numberings of a document."""

    def __init__(self, root: Any = None, number_of_style: Callable[[str], str | None] = lambda _: None) -> None:
        """`root` is the tree of the numbering part, or None; `number_of_style` tells what numbering a style names."""
        self._numberings: dict[str, _Numbering] = {}
        if root is None:
            return
        abstracts = {attribute(each, "abstractNumId"): each for each in root.iter("{*}abstractNum")}
        instances = {attribute(each, "numId"): each for each in root.iter("{*}num")}
        shared: dict[str | None, tuple[list[int | None], dict[int, Level]]] = {}
        for number, instance in instances.items():
            abstract = abstracts.get(value(instance, "{*}abstractNumId"))
            style = None if abstract is None else value(abstract, "{*}numStyleLink")
            if style and (linked := instances.get(number_of_style(style))) is not None:
                abstract = abstracts.get(value(linked, "{*}abstractNumId"))
            if number is not None and abstract is not None:
                identifier = attribute(abstract, "abstractNumId")
                if identifier not in shared:
                    shared[identifier] = ([None] * _DEPTHS, _levels(abstract))
                self._numberings[number] = _numbering(instance, *shared[identifier])

    def depth_of_style(self, number: str | None, style: str | None) -> int:
        """At which depth of a numbering a style stands; 0 where none is said."""
        numbering = self._numberings.get(number or "")
        levels = numbering.levels.items() if numbering and style else ()
        return next((depth for depth, level in levels if level.style == style), 0)

    def following(self, number: str | None, depth: int) -> str:
        """Counts on, and gives the label of the paragraph that does so; empty where there is no numbering."""
        numbering = self._numberings.get(number or "")
        if numbering is None or depth not in numbering.levels:
            return ""
        level, counters = numbering.levels[depth], numbering.counters
        before = counters[depth]
        counters[depth] = numbering.anew.pop(depth, level.start if before is None else before + 1)
        for deeper in range(depth + 1, _DEPTHS):
            if numbering.levels.get(deeper, level).restarts:
                counters[deeper] = None
        if level.form == "bullet":
            return BULLET
        return _PLACE.sub(lambda place: _written(numbering, int(place[1]) - 1, legal=level.legal), level.text).strip()


def _written(numbering: _Numbering, depth: int, *, legal: bool) -> str:
    level = numbering.levels.get(depth, Level())
    counter = numbering.counters[depth]
    number = level.start if counter is None else counter
    return str(number) if legal else _FORMATS.get(level.form, str)(number)


def _numbering(instance: Any, counters: list[int | None], levels: dict[int, Level]) -> _Numbering:
    anew = {}
    for override in instance.iterfind("{*}lvlOverride"):
        levels = levels | _levels(override)
        if (start := value(override, "{*}startOverride")) is not None:
            anew[integer(attribute(override, "ilvl"))] = integer(start, 1)
    return _Numbering(counters, levels, anew)


def _levels(element: Any) -> dict[int, Level]:
    return {depth: level for depth, level in map(_level, element.iterfind("{*}lvl")) if 0 <= depth < _DEPTHS}


def _level(element: Any) -> tuple[int, Level]:
    legal = element.find("{*}isLgl")
    return integer(attribute(element, "ilvl"), 0), Level(
        start=integer(value(element, "{*}start"), 1),
        form=value(element, "{*}numFmt") or "decimal",
        text=value(element, "{*}lvlText") or "",
        style=value(element, "{*}pStyle"),
        legal=legal is not None and is_on(attribute(legal, "val")),
        restarts=value(element, "{*}lvlRestart") != "0",
    )


def _letters(number: int) -> str:
    """Word counts ... y, z, aa, bb, cc."""
    if not 0 < number <= _MOST_LETTERS:
        return str(number)
    times, rest = divmod(number - 1, _LETTERS)
    return chr(ord("a") + rest) * (times + 1)


def _ending(number: int) -> str:
    return "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")  # noqa: PLR2004


_FORMATS: dict[str, Callable[[int], str]] = {
    "decimalZero": lambda number: f"{number:02d}",
    "lowerRoman": lambda number: numeral(number, "i"),
    "upperRoman": lambda number: numeral(number, "I"),
    "lowerLetter": _letters,
    "upperLetter": lambda number: _letters(number).upper(),
    "ordinal": lambda number: f"{number}{_ending(number)}",
    "numberInDash": lambda number: f"- {number} -",
    "none": lambda _: "",
}
