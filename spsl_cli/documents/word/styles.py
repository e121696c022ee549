"""Paragraph and character styles -> what of them a reader of plain text should know. Knows nothing of text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from spsl_cli.documents.word.names import attribute, filling, integer, is_on, value

_HEADING = re.compile(r"heading ([1-9])")
_CONTENTS = re.compile(r"toc ([1-9])")
# The outline level of text that is no heading.
PLAIN_OUTLINE = 9


@dataclass(frozen=True, slots=True)
class Style:
    """`level`: that of a heading, from 1; `contents`: that of an entry in a table of contents; both None in other text.

    `number` and `depth` name the numbering that the style brings along. `hidden` text is not shown at all. `colour` and
    `fill` are that of the letters and what is behind them, as Word writes them, `size` is in half points; None where
    nothing is said.
    """

    level: int | None = None
    contents: int | None = None
    number: str | None = None
    depth: int | None = None
    hidden: bool = False
    struck: bool = False
    raised: bool = False
    colour: str | None = None
    fill: str | None = None
    size: int | None = None


PLAIN = Style()


class Styles:
    """All styles of a document, by their identifiers."""

    def __init__(self, root: Any = None) -> None:
        """`root` is the tree of the styles part, or None."""
        self._elements = {} if root is None else {attribute(each, "styleId"): each for each in root.iter("{*}style")}
        self._resolved: dict[str | None, Style] = {None: PLAIN}
        self.usual = next((name for name, each in self._elements.items() if _is_usual(each)), None)
        """The identifier of the style of paragraphs that name none."""

    def __getitem__(self, identifier: str | None) -> Style:
        """That style with what it inherits; a plain one where there is none of that name."""
        descent: dict[str | None, Any] = {}
        while identifier not in self._resolved and identifier not in descent:
            element = self._elements.get(identifier)
            descent[identifier] = element
            identifier = None if element is None else _property(element, "basedOn")
        style = self._resolved.get(identifier, PLAIN)
        for name, element in reversed(descent.items()):
            style = self._resolved[name] = PLAIN if element is None else _derived(element, style)
        return style


def _derived(element: Any, base: Style) -> Style:
    name = (_property(element, "name") or "").lower()
    heading, contents = _HEADING.fullmatch(name), _CONTENTS.fullmatch(name)
    level = int(heading[1]) if heading else 1 if name == "title" else base.level
    if (outline := _property(element, "outlineLvl")) is not None:
        level = integer(outline) + 1 if integer(outline) < PLAIN_OUTLINE else None
    depth, raised = _property(element, "ilvl"), _property(element, "vertAlign")
    return Style(
        level=level,
        contents=int(contents[1]) if contents else base.contents,
        number=_property(element, "numId") or base.number,
        depth=base.depth if depth is None else integer(depth),
        hidden=_switch(element, "vanish", otherwise=base.hidden),
        struck=_switch(element, "strike", otherwise=base.struck),
        raised=base.raised if raised is None else raised == "superscript",
        colour=_property(element, "color") or base.colour,
        fill=base.fill
        if (shading := element.find(".//{*}shd")) is None
        else filling(attribute(shading, "val"), attribute(shading, "fill")),
        size=base.size if (size := _property(element, "sz")) is None else integer(size),
    )


def _is_usual(element: Any) -> bool:
    default = attribute(element, "default")
    return attribute(element, "type") == "paragraph" and default is not None and is_on(default)


def _property(element: Any, name: str) -> str | None:
    return value(element, f".//{{*}}{name}")


def _switch(element: Any, name: str, *, otherwise: bool) -> bool:
    found = element.find(f".//{{*}}{name}")
    return otherwise if found is None else is_on(attribute(found, "val"))
