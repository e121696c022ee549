"""Formulas of MathML on one line: `(a+b)/2`, `x^2`, `√(x+1)`. Knows nothing of what is around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spsl_cli.documents.markup.flow import Flow

# A longer part has parentheses around it, whatever it is.
_LONGEST_TERM = 32
# What stands before and after a child of an element, by its number from 0.
_CHILDREN = {
    ("mfrac", 0): ("", "/"),
    ("mfrac", 1): ("", ""),
    ("msup", 1): ("^", ""),
    ("msub", 1): ("_", ""),
    ("msubsup", 1): ("_", ""),
    ("msubsup", 2): ("^", ""),
    ("munder", 1): ("_", ""),
    ("mover", 1): ("^", ""),
    ("munderover", 1): ("_", ""),
    ("munderover", 2): ("^", ""),
    ("mroot", 0): ("√", ""),
    ("mroot", 1): ("^1/", ""),
}
_SEPARATORS = {"mtr": ", ", "mtable": "; "}


@dataclass(slots=True)
class _Open:
    tag: str
    children: int = 0


class Formulas:
    """The elements of MathML that are open."""

    def __init__(self) -> None:
        self._open: list[_Open] = []

    def __bool__(self) -> bool:
        return bool(self._open)

    def open(self, tag: str, flow: Flow) -> Callable[[], None]:
        """What is returned is to be called when the element is closed."""
        around = None
        if self._open:
            parent = self._open[-1]
            if parent.children and parent.tag in _SEPARATORS:
                flow.append(_SEPARATORS[parent.tag])
            if signs := _CHILDREN.get((parent.tag, parent.children)):
                around = grouped(flow, *signs)
            parent.children += 1
        inside = grouped(flow, "√", "") if tag == "msqrt" else None
        self._open.append(_Open(tag))

        def close() -> None:
            self._open.pop()
            for end in (inside, around):
                if end:
                    end()

        return close


def grouped(flow: Flow, before: str, after: str) -> Callable[[], None]:
    """What is written until the returned function is called stands between `before` and `after`, as one."""
    place = flow.here()

    def close() -> None:
        text = flow.since(place, _LONGEST_TERM)
        if text and (text.isalnum() or len(text) == 1):
            flow.wrap(place, before, after)
        elif text is None or text:
            flow.wrap(place, f"{before}(", f"){after}")

    return close
