"""Right-to-left text: from the order in which it is seen to the order in which it is read. Knows no geometry."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("\u00ab", "\u00bb"), ("\u2039", "\u203a"))
_MIRRORED = dict(_PAIRS) | {closing: opening for opening, closing in _PAIRS}
_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_NUMBERS = frozenset({"EN", "AN"})
_WITHIN_NUMBERS = frozenset({"CS", "ES", "ET"})
_PRESENTATION_FORMS = (0xFB1D, 0xFEFC)


def logical(glyphs: Sequence[str]) -> str:
    """A line, given glyph by glyph from left to right, as it is read. Shaped letters become plain ones."""
    units = _clusters(glyphs)
    kinds = _resolved([_kind(unit) for unit in units])
    from_right = _reads_from_right(kinds)
    base = "R" if from_right else "L"
    runs: list[tuple[str, list[str]]] = []
    for unit, kind in zip(units, _without_neutrals(kinds, base), strict=True):
        if runs and runs[-1][0] == kind:
            runs[-1][1].append(unit)
        else:
            runs.append((kind, [unit]))
    if from_right:
        runs.reverse()
    return "".join("".join(_read(run, kind)) for kind, run in runs)


def _reads_from_right(kinds: list[str]) -> bool:
    """What both ends of the line say, or else most of its letters."""
    letters = [kind for kind in kinds if kind in ("L", "R")]
    if letters and letters[0] == letters[-1]:
        return letters[0] == "R"
    return letters.count("R") >= letters.count("L")


def _read(run: list[str], kind: str) -> Iterable[str]:
    return (_MIRRORED.get(unit, unit) for unit in reversed(run)) if kind == "R" else run


def _clusters(glyphs: Sequence[str]) -> list[str]:
    """Plain letters, each with the marks that are set over it."""
    units: list[str] = []
    for glyph in glyphs:
        shaped = len(glyph) == 1 and _PRESENTATION_FORMS[0] <= ord(glyph) <= _PRESENTATION_FORMS[1]
        text = unicodedata.normalize("NFKC", glyph).strip() if shaped else glyph
        if units and text and all(map(unicodedata.combining, text)):
            units[-1] += text
        elif text:
            units.append(text)
    return units


def _kind(unit: str) -> str:
    """R and L for letters of the two directions, N for digits, S for what may stand within numbers, else empty."""
    direction = unicodedata.bidirectional(unit[0])
    if direction in _RIGHT_TO_LEFT:
        return "R"
    if direction in _NUMBERS:
        return "N"
    if direction in _WITHIN_NUMBERS:
        return "S"
    return "L" if direction == "L" else ""


def _resolved(kinds: list[str]) -> list[str]:
    """Numbers, with the signs between their digits, read from left to right like letters of that direction."""
    found = list(kinds)
    for at, kind in enumerate(kinds):
        if kind == "S":
            among = 0 < at < len(kinds) - 1 and kinds[at - 1] == kinds[at + 1] == "N"
            found[at] = "N" if among else ""
    return found


def _without_neutrals(kinds: list[str], base: str) -> list[str]:
    """Signs without a direction take that of what stands on both sides of them, or else that of the line."""
    strong = ["L" if kind == "N" else kind for kind in kinds]
    found = list(strong)
    at = 0
    while at < len(strong):
        if strong[at]:
            at += 1
            continue
        end = next((later for later in range(at, len(strong)) if strong[later]), len(strong))
        before = strong[at - 1] if at else base
        after = strong[end] if end < len(strong) else base
        found[at:end] = [before if before == after else base] * (end - at)
        at = end
    return found
