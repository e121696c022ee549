"""Words broken over two lines -> whole words. Knows no PDF, only text in lines.

Whether a hyphen at a line's end belongs to the word ("long-" / "term") cannot be seen there. The rest of the document
tells: the spelling used elsewhere wins, then two known words keep their hyphen; without any sign the parts of a plain
word are joined, and those of names, numbers, addresses and longer compounds keep it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

SOFT_HYPHEN = "\u00ad"
HYPHENS = ("-", "\u2010", SOFT_HYPHEN)

_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
# No part gives back what it took: a page may be one word of a million letters.
# First part, hyphen, letters of the second part, what clings to them. A second part that is broken again is no match.
_BROKEN = re.compile(
    r"(?<![^\W\d_])([^\W\d_]++)([-\u2010\u00ad])[ \t]*+\n"
    r"[ \t]*+([^\W\d_]++)((?:[^\s\u00ad\u2010-]|[\u2010-](?=\S))*+)(?:[ \t]++|(?=\n)|\Z)"
)
# Behind one of these, the hyphen stands for a word that is still to come: "pre- and post-war".
_CONJUNCTIONS = frozenset(
    ("and", "or", "nor", "und", "oder", "bzw", "sowie", "et", "ou", "y", "e", "o", "u", "och", "og", "eller", "oraz")
)
# Quotes, brackets, dashes and bullets before a word, or a short article with its apostrophe.
_OPENING = re.compile(
    r"[(\[{<\"'\u2018-\u201f\u00ab\u00bb\u00bf\u00a1*\u2022\u2013\u2014\u2026]*|[^\W\d_]{1,3}['\u2019]"
)
_LONGEST_BEGINNING = 200
_ADDRESS = re.compile(r"[@\\_=~#%&\d]|\.\w|//")


def vocabulary(pages: Iterable[str]) -> frozenset[str]:
    """All words that stand unbroken on the pages, in lower case, compounds with their hyphens."""
    words: set[str] = set()
    for page in pages:
        unbroken = _BROKEN.sub("\n", page).lower().replace("\u2010", "-")
        words.update(_WORD.findall(unbroken))
    return frozenset(words)


def join(page: str, words: frozenset[str], unjoined: Collection[int] = ()) -> str:
    """Puts each broken word, whole, at the end of the line on which it begins, so that line numbers stay right.

    unjoined: indexes of lines whose last word does not go on in the next one, whatever it looks like.
    """

    def whole(match: re.Match[str]) -> str:
        head, hyphen, tail, rest = match.groups()
        if not tail[0].islower() or (unjoined and page.count("\n", 0, match.start(2)) in unjoined):
            return match.group()
        head_low, tail_low = head.lower(), tail.lower()
        known = head_low + tail_low in words
        if hyphen != SOFT_HYPHEN and tail in _CONJUNCTIONS and not known:
            return match.group()
        kept = hyphen != SOFT_HYPHEN and (
            _is_compound(head_low, tail_low, words) or _is_no_plain_word(page, match, known=known)
        )
        return f"{head}{'-' * kept}{tail}{rest}\n"

    return _BROKEN.sub(whole, page).replace(SOFT_HYPHEN, "-").rstrip("\n")


def _is_no_plain_word(page: str, match: re.Match[str], *, known: bool) -> bool:
    """Whether a word has a hyphen, a digit, a sign or a capital where those of plain words, known or not, have none."""
    head, _, tail, rest = match.groups()
    before = page[_word_start(page, match.start()) : match.start()]
    if _ADDRESS.search(before) or _ADDRESS.search(rest) or set(before) & set("/:."):
        return True
    if known:
        return False
    capital = any(sign.isupper() for sign in (*head[1:], *tail))
    return capital or len(head) == 1 or not _OPENING.fullmatch(before) or any(sign in rest for sign in "-\u2010")


def _word_start(page: str, end: int) -> int:
    start = end
    while start > 0 and end - start < _LONGEST_BEGINNING and not page[start - 1].isspace():
        start -= 1
    return start


def _is_compound(head: str, tail: str, words: frozenset[str]) -> bool:
    if head + tail in words:
        return False
    return f"{head}-{tail}" in words or (head in words and tail in words)
