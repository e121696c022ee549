"""Words broken over two lines -> whole words. Knows no PDF, only text in lines.

Whether a hyphen at a line's end belongs to the word ("long-" / "term") cannot be seen there. The rest of the document
tells: the spelling used elsewhere wins, then two known words keep their hyphen; without any sign the parts are joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SOFT_HYPHEN = "\u00ad"

_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
# No part gives back what it took: a page may be one word of a million letters.
# First part, hyphen, letters of the second part, what clings to them. A second part that is broken again is no match.
_BROKEN = re.compile(
    r"(?<![^\W\d_])([^\W\d_]++)([-\u2010\u00ad])[ \t]*+\n"
    r"[ \t]*+([^\W\d_]++)((?:[^\s\u00ad\u2010-]|[\u2010-](?=\S))*+)(?:[ \t]++|(?=\n)|\Z)"
)


def vocabulary(pages: Iterable[str]) -> frozenset[str]:
    """All words that stand unbroken on the pages, in lower case, compounds with their hyphens."""
    words: set[str] = set()
    for page in pages:
        unbroken = _BROKEN.sub("\n", page).lower().replace("\u2010", "-")
        words.update(_WORD.findall(unbroken))
    return frozenset(words)


def join(page: str, words: frozenset[str]) -> str:
    """Puts each broken word, whole, at the end of the line on which it begins, so that line numbers stay right."""

    def whole(match: re.Match[str]) -> str:
        head, hyphen, tail, rest = match.groups()
        if not tail[0].islower():
            return match.group()
        kept = "-" if hyphen != SOFT_HYPHEN and _is_compound(head.lower(), tail.lower(), words) else ""
        return f"{head}{kept}{tail}{rest}\n"

    return _BROKEN.sub(whole, page).replace(SOFT_HYPHEN, "-").rstrip("\n")


def _is_compound(head: str, tail: str, words: frozenset[str]) -> bool:
    if head + tail in words:
        return False
    return f"{head}-{tail}" in words or (head in words and tail in words)
