"""Raised text on one line: `10⁶`, `2^(0.5)`, `x^(n+1)`, so that it is not read as one with what it stands behind.

Knows nothing of tags. Ordinals (`51st`) and signs that stand apart anyway (`*`, `[1]`) stay as they are.
"""

from __future__ import annotations

import re

from spsl_cli.documents.markup.flow import Flow

# Longer text is no exponent and no mark.
LONGEST = 40
_DIGITS = str.maketrans("0123456789+-\u2212\u2013", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_INTEGER = re.compile(r"[+\-\u2212\u2013]?[0-9]+|[0-9]*[+\-\u2212]")
# What several languages raise behind numbers and names, without a meaning of its own.
_ENDINGS = frozenset({
    "st", "nd", "rd", "th", "er", "re", "ère", "e", "de", "nde", "d", "ème", "me", "es", "ers", "os", "o", "ª", "º",
    "lle", "lles", "mme", "ste", "tm", "sm",
})  # fmt: skip
_IN_BRACKETS = re.compile(r"\(.*\)", re.DOTALL)
_OPENING = "([{<\"'\u201c\u2018\xab\u201e/=+"
_TERM = re.compile(r"[\d)\]}]$|(?<![^\W\d_])[^\W\d_]$")


def raised(text: str, before: str) -> str:
    """`text` as it is written when it is raised behind `before`, the end of what stands on the line before it."""
    bare = text.strip()
    if bare != text:  # a word processor's run may begin or end with blanks
        at = text.find(bare)
        return text[:at] + raised(bare, text[:at] or before) + text[at + len(bare) :]
    if _INTEGER.fullmatch(text):
        return text.translate(_DIGITS)
    if not any(sign.isalnum() for sign in text) or text.startswith("[") or not _is_base(before):
        return text
    if text.casefold() in _ENDINGS or (text.isalpha() and len(text) > 1 and not _TERM.search(before)):
        return text  # an ordinal, or a word behind a word
    return f"^{text}" if _IN_BRACKETS.fullmatch(text) else f"^({text})"


def _is_base(before: str) -> bool:
    """Whether something can be raised behind it; at a line's start, or behind a blank, a mark stands for itself."""
    return bool(before) and not before[-1].isspace() and before[-1] not in _OPENING


def raise_since(flow: Flow, place: tuple[int, int]) -> None:
    """Raises what was written from `place` on, unless that is too much or the line has ended."""
    text = flow.since(place, LONGEST)
    if text:
        shown = raised(text, flow.before(place))
        if shown != text:
            flow.replace(place, shown)
