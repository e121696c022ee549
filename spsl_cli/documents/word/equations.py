"""Formulas of Word (OMML) on one line: `(a+b)/2`, `x^2`, `√(x)`. Knows nothing of paragraphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spsl_cli.documents.markup.flow import Flow
from spsl_cli.documents.markup.formulas import grouped

Undo = Callable[[], object] | None

# What stands before and after a part of a formula; parts of more than one sign get parentheses.
_PARTS = {
    "m:num": ("", "/"),
    "m:den": ("", ""),
    "m:sup": ("^", ""),
    "m:sub": ("_", ""),
    "m:lim": ("_", ""),
    "m:deg": ("", ""),
}
_STRUCTURES = frozenset({"m:d", "m:nary", "m:acc", "m:m", "m:mr", "m:eqArr", "m:rad"})
_SEPARATORS = {"m:m": "; ", "m:mr": ", ", "m:eqArr": "; "}
_INTEGRAL, _HAT = "∫", "\u0302"


class Equations:
    """Writes the elements of formulas as they are opened; what `open` returns is called when one is closed."""

    def __init__(self) -> None:
        self._open: list[dict[str, str]] = []

    def open(self, tag: str, attributes: Mapping[str, str], parent: str, flow: Flow) -> Undo:
        """`attributes` by their short names; `parent` is the tag of the element around it."""
        if tag in {"m:e", "m:mr"} and self._open:
            self._separate(parent, flow)
        if tag in _STRUCTURES:
            return self._structure(tag, flow)
        if tag in {"m:begChr", "m:endChr", "m:sepChr", "m:chr"} and self._open:
            self._open[-1][tag] = attributes.get("m:val", "")
        elif tag == "m:naryPr" and self._open:
            return lambda: flow.append(self._open[-1].get("m:chr", _INTEGRAL))
        elif tag == "m:e" and parent == "m:rad":
            return grouped(flow, "√", "")
        elif tag == "m:fName":
            return lambda: flow.append(" ")
        elif tag in _PARTS:
            return grouped(flow, *_PARTS[tag])
        return None

    def _structure(self, tag: str, flow: Flow) -> Undo:
        properties: dict[str, str] = {}
        self._open.append(properties)

        def close() -> None:
            self._open.pop()
            if tag == "m:d":
                flow.append(properties.get("m:endChr", ")"))
            elif tag == "m:acc":
                flow.append(properties.get("m:chr", _HAT))

        return close

    def _separate(self, parent: str, flow: Flow) -> None:
        """Writes what stands before a part of its parent, by whether it is the first one."""
        properties = self._open[-1]
        first = "begun" not in properties
        properties["begun"] = ""
        if parent == "m:d":
            flow.append(properties.get("m:begChr", "(") if first else properties.get("m:sepChr", "|"))
        elif not first:
            flow.append(_SEPARATORS.get(parent, ""))
