"""Style sheets as far as they say who sees what: declarations, and rules for simple selectors.

A selector is simple if it is made of a tag, classes and an identifier. Of others only the last part is asked, and only
whether they might show what a simple rule hides: then that is not hidden. Blocks that begin with `@` are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Values = dict[str, str]

_LONGEST_SHEET = 1 << 20
_MOST_RULES, _LONGEST_SELECTOR = 10_000, 500
# More rules for one class, or more classes of one element, are not looked at.
_MOST_ALIKE, _MOST_CLASSES = 20, 20
_MOST_KEPT = 10_000
_COMMENT = re.compile(r"/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|<!--|-->")
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)", re.DOTALL)
_LARGEST_CODE = 0x10FFFF
_IMPORTANT = re.compile(r"\s*!\s*important\s*$")
_COMPOUND = re.compile(r"(\*|[a-z][\w-]*)?((?:[.#][\w-]+)*)", re.IGNORECASE | re.ASCII)
_PART = re.compile(r"[.#][\w-]+", re.ASCII)
_FURTHER = re.compile(r"\[[^\]]*\]|::?[\w-]+(?:\([^)]*\))?", re.ASCII)
_PSEUDO_ELEMENT = re.compile(r"::|:(?:before|after|first-line|first-letter)\b", re.IGNORECASE)
_BRACE = re.compile(r"[{}]")
_COMBINATOR = re.compile(r"[\s>+~]+")


def declarations(text: str) -> Values:
    """The values of a declaration block by their properties, both in lower case; `!important` ones come last."""
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    if "/*" in text:
        text = _COMMENT.sub(" ", text)
    values: Values = {}
    important: Values = {}
    for part in text.split(";"):
        name, colon, value = part.partition(":")
        if colon:
            value = value.strip().lower()
            bare = _IMPORTANT.sub("", value)
            (values if bare == value else important)[name.strip().lower()] = bare
    return {**values, **important}


def _unescaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return str(found[2])
    code = int(found[1], 16)
    return chr(code) if 0 < code <= _LARGEST_CODE and not 0xD800 <= code < 0xE000 else "\ufffd"  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class _Rule:
    """`sure` is False for a selector of which but the last part is known."""

    tag: str
    classes: frozenset[str]
    identifier: str
    sure: bool
    order: tuple[int, int, int, int]
    values: Values


@dataclass(slots=True)
class Style:
    """What holds for an element: `values`, and those that rules `might` set, of which it is not known."""

    values: Values = field(default_factory=dict)
    might: dict[str, list[str]] = field(default_factory=dict)


class Sheet:
    """The rules of all style sheets of a page."""

    def __init__(self, wanted: frozenset[str]) -> None:
        """`wanted` are the properties that matter; rules without one are not kept."""
        self._wanted = wanted
        self._rules: dict[str, list[_Rule]] = {}
        self._number = 0
        self._known: dict[tuple[str, str, str], Style] = {}

    def __bool__(self) -> bool:
        return bool(self._rules)

    def add(self, text: str) -> None:
        """Takes the text of a `<style>` element."""
        self._known.clear()
        for selectors, block in _blocks(_COMMENT.sub(" ", text[:_LONGEST_SHEET])):
            values = {name: value for name, value in declarations(block).items() if name in self._wanted}
            if values:
                for selector in selectors.split(","):
                    self._add(selector.strip(), values)

    def style(self, tag: str, attributes: Mapping[str, str]) -> Style:
        """What the rules say of an element, its own `style` left aside."""
        key = (tag, attributes.get("class", ""), attributes.get("id", ""))
        if key not in self._known:
            if len(self._known) > _MOST_KEPT:
                self._known.clear()
            self._known[key] = self._found(*key)
        return self._known[key]

    def _add(self, selector: str, values: Values) -> None:
        if not 0 < len(selector) <= _LONGEST_SELECTOR or self._number > _MOST_RULES:
            return
        if _PSEUDO_ELEMENT.search(selector):
            return
        last = _COMBINATOR.split(_FURTHER.sub("", selector))[-1]
        compound = _COMPOUND.fullmatch(last)
        if not compound:
            return
        self._number += 1
        parts = _PART.findall(compound[2])
        tag = "" if compound[1] in (None, "*") else compound[1].lower()
        classes = frozenset(part[1:] for part in parts if part[0] == ".")
        identifiers = [part[1:] for part in parts if part[0] == "#"]
        order = (len(identifiers), len(classes), bool(tag), self._number)
        rule = _Rule(tag, classes, identifiers[-1] if identifiers else "", last == selector, order, values)
        where = f"#{rule.identifier}" if identifiers else f".{min(classes)}" if classes else tag or "*"
        alike = self._rules.setdefault(where, [])
        if len(alike) < _MOST_ALIKE:
            alike.append(rule)

    def _found(self, tag: str, class_names: str, identifier: str) -> Style:
        classes = class_names.split()[:_MOST_CLASSES]
        rules = [
            rule
            for where in ("*", tag, *(f".{name}" for name in classes), f"#{identifier}")
            for rule in self._rules.get(where, ())
            if rule.tag in ("", tag) and rule.classes.issubset(classes) and rule.identifier in ("", identifier)
        ]
        style = Style()
        for rule in sorted(rules, key=lambda rule: rule.order):
            if rule.sure:
                style.values.update(rule.values)
            else:
                for name, value in rule.values.items():
                    style.might.setdefault(name, []).append(value)
        return style


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Selectors and declarations of each rule that stands in no other block."""
    at = 0
    while (start := text.find("{", at)) >= 0:
        selectors = text[at:start].rpartition(";")[2].strip()
        end, depth = start + 1, 1
        if selectors.startswith("@"):
            for brace in _BRACE.finditer(text, end):
                depth += 1 if brace[0] == "{" else -1
                end = brace.end()
                if depth == 0:
                    break
            else:
                return
        else:
            found = text.find("}", end)
            end = len(text) if found < 0 else found + 1
            yield selectors, text[start + 1 : end].rstrip("}")
        at = end
