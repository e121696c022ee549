"""What HTML elements inside a line mean to a person who reads it: pictures, fields, links, raised and struck text.

Each function writes into a flow what stands where the element begins, and returns what to do where it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spsl_cli.documents.invisible import without_invisible
from spsl_cli.documents.markup.flow import Flow
from spsl_cli.documents.markup.raised import raise_since

Attributes = Mapping[str, str]
Undo = Callable[[], object] | None

BOXES = ("[ ]", "[x]")
_CHOICES = frozenset({"checkbox", "radio"})
_UNSEEN = frozenset({"hidden", "password", "file"})
_STRIKE = "~~"
# Links beside a heading that lead to that heading.
_PERMALINKS = frozenset({"#", "¶"})
# Links to a note, whose number style sheets raise.
_NOTE = frozenset({"noteref", "doc-noteref"})
# What stands for a link to a place is short.
_LONGEST_MARK = 16


def _break(flow: Flow, _: Attributes) -> Undo:
    flow.line_break()
    return None


def _image(flow: Flow, attributes: Attributes) -> Undo:
    if alt := _on_one_line(attributes.get("alt", "")):
        # One sign alone is a letter or a symbol set as a picture.
        flow.put(alt if len(alt) == 1 else f"[image: {alt}]")
    return None


def _field(flow: Flow, attributes: Attributes) -> Undo:
    """What a field shows: its value, else its hint; boxes for what can be ticked."""
    kind = attributes.get("type", "text").strip().lower()
    if kind in _UNSEEN:
        return None
    if kind == "image":
        return _image(flow, attributes)
    shown = attributes.get("value") or attributes.get("placeholder", "")
    if value := BOXES["checked" in attributes] if kind in _CHOICES else _on_one_line(shown):
        flow.blank()
        flow.put(value)
        flow.blank()
    return None


def _apart(flow: Flow, _: Attributes) -> Undo:
    flow.blank()
    return flow.blank


def _link(flow: Flow, attributes: Attributes) -> Undo:
    if flow.link_end == flow.place and flow.in_word:
        flow.blank()  # nothing between two links: the page sets them apart by its style sheet
    place, leads_here = flow.here(), attributes.get("href", "").startswith("#")
    raise_it = _raised(flow, attributes) if _NOTE & {attributes.get("epub:type"), attributes.get("role")} else None

    def close() -> None:
        if leads_here and (flow.since(place, _LONGEST_MARK) or "").strip() in _PERMALINKS:
            flow.replace(place, "")
        if raise_it:
            raise_it()
        flow.link_end = flow.place

    return close


def _quoted(flow: Flow, _: Attributes) -> Undo:
    flow.put("“")
    return lambda: flow.append("”")


def _reading(flow: Flow, _: Attributes) -> Undo:
    """How the characters before are read aloud."""
    flow.append("(")
    return lambda: flow.append(")")


def _struck(flow: Flow, _: Attributes) -> Undo:
    if flow.struck:
        return None
    place, flow.struck = flow.here(), True

    def close() -> None:
        flow.struck = False
        flow.wrap(place, _STRIKE, _STRIKE)

    return close


def _raised(flow: Flow, _: Attributes) -> Undo:
    """`10<sup>6</sup>` is not 106."""
    place = flow.here()
    return lambda: raise_since(flow, place)


def _on_one_line(text: str) -> str:
    return " ".join(without_invisible(text).split())


INLINE: Mapping[str, Callable[[Flow, Attributes], Undo]] = {
    "a": _link,
    "area": _image,
    "br": _break,
    "button": _apart,
    "del": _struck,
    "img": _image,
    "input": _field,
    "output": _apart,
    "q": _quoted,
    "rt": _reading,
    "s": _struck,
    "strike": _struck,
    "sup": _raised,
    "title": _apart,
}
