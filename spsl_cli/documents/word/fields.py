"""Fields of a Word document: an instruction, then its result, which is what shows; form fields show what is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spsl_cli.documents.markup.inline import BOXES
from spsl_cli.documents.word.names import integer, is_on


@dataclass(slots=True)
class _Field:
    in_instruction: bool = True
    box: bool | None = None
    choices: list[str] = field(default_factory=list)
    chosen: int = 0


class Fields:
    """The fields that are open, the innermost last."""

    def __init__(self) -> None:
        self._open: list[_Field] = []
        self._instructions = 0

    @property
    def hides(self) -> bool:
        """Whether text here is part of an instruction: the result of a field inside it, which only serves it."""
        return self._instructions > (1 if self._open and self._open[-1].in_instruction else 0)

    @property
    def unfinished(self) -> bool:
        """Whether a field is open."""
        return bool(self._open)

    def mark(self, kind: str | None) -> str:
        """A field's `begin`, `separate` or `end`; gives what a form field shows when it ends."""
        if kind == "begin":
            self._open.append(_Field())
            self._instructions += 1
        elif kind == "separate" and self._open:
            self._instructions -= self._open[-1].in_instruction
            self._open[-1].in_instruction = False
        elif kind == "end" and self._open:
            ended = self._open.pop()
            self._instructions -= ended.in_instruction
            if ended.box is not None:
                return BOXES[ended.box]
            if ended.choices:
                return ended.choices[ended.chosen if ended.chosen < len(ended.choices) else 0]
        return ""

    def describe(self, tag: str, parent: str, attributes: Mapping[str, str]) -> None:
        """What the open field says of itself, if it is one of a form."""
        if not self._open:
            return
        value, innermost = attributes.get("w:val"), self._open[-1]
        if parent == "w:checkBox" and tag in {"w:checked", "w:default"}:
            innermost.box = is_on(value)
        elif tag == "w:checkBox":
            innermost.box = bool(innermost.box)
        elif parent == "w:ddList" and tag == "w:listEntry":
            innermost.choices.append(value or "")
        elif parent == "w:ddList" and tag in {"w:result", "w:default"}:
            innermost.chosen = innermost.chosen or integer(value)  # the result comes first
