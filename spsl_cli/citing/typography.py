"""A text without its typography, of which every character still knows where it came from.

Typography is case, blanks and line ends, shapes and nesting of quotation marks, shapes of dashes, ligatures, width,
composed or combining accents, words broken over lines, Markdown's stars and backticks around words, and what has no
width. Raised and lowered digits, fractions and letters of another alphabet are none of it: 10⁶ is not 106.
This file compares nothing.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_QUOTATION = "‘’‚‛ʼ´`‹›❛❜“”„‟«»「」『』〝〞〟❝❞"
_PRIMES = {"′": "'", "″": '"'}
_DASHES = "‐‑‒–—―−﹣－"
_FOLDED = {**dict.fromkeys(_QUOTATION, "'"), **_PRIMES, **dict.fromkeys(_DASHES, "-"), "ς": "σ"}
_KEPT = frozenset(_FOLDED)
_NOTHING = frozenset("\u00ad\u061c\u0640\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
_VARIANTS = range(0xFE00, 0xFE10)  # selectors of one shape of a letter or an emoji
_LINE_ENDS = "\n\r\x85\u2028\u2029"
_APART = ("<super>", "<sub>", "<fraction>", "<circle>", "<square>")
_APART_STYLES = ("DOUBLE-STRUCK", "FRAKTUR", "SCRIPT", "BLACK-LETTER")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3000-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffee\U00020000-\U0003ffff"
)
UNSPACED = re.compile(f"[{_UNSPACED}]")
"""What is written without blanks between words. Korean has blanks."""

# These, and some below, look behind their first character only once they have found it: that is many times faster.
_EMPHASES = (
    re.compile(r"\*(?<![\w*\\]\*)(\*{0,2})(?=[^\s*])[^*]{1,400}?(?<=\S)\*\1(?![\w*])"),
    re.compile(r"`(`*)(?=[^`\s])[^`\n]+?`\1(?!`)"),
)
_BROKEN = re.compile(r"[-\u2010\u00ad](?<=\w.)\s*[\n\f]\s*(?=[^\W\d_])", re.DOTALL)
_LETTERS_BEFORE = re.compile(r"[^\W\d_]+\Z")
_LETTERS = re.compile(r"[^\W\d_]+")
_HYPHENATED = re.compile(r"([^\W\d_]+)-([^\W\d_]+)")
_LONGEST_WORD = 60
_FEW = 24
_REMEMBERED = 512  # documents
_PAIR = re.compile(r'"(?<![\w"]")(?=[^\s"])([^"]{0,300})"(?!\w)')
_NO_INCHES = re.compile(r'"(?<!\d")')


@dataclass(frozen=True)
class Plain:
    """A text without typography.

    `shown` still has case, the shapes of marks, and line ends and wide gaps among its single blanks (newline, tab);
    `text` has not. Both have one character for each other's.
    Piece n begins at character `begins[n]` of these and at `places[n]` of the original text; if `ends[n]` is set, all
    of its characters came from `places[n]` .. `ends[n]` - 1, else they are those of the original one by one.
    """

    text: str
    shown: str
    begins: tuple[int, ...]
    places: tuple[int, ...]
    ends: tuple[int | None, ...]

    def run(self, start: int, end: int) -> tuple[int, int]:
        """The run of the original text that characters start .. end-1 came from."""
        return self.place(start), self._end(end - 1)

    def place(self, index: int) -> int:
        """Where in the original text character `index` begins."""
        piece = bisect_right(self.begins, index) - 1
        return self.places[piece] + (0 if self.ends[piece] is not None else index - self.begins[piece])

    def _end(self, index: int) -> int:
        piece = bisect_right(self.begins, index) - 1
        end = self.ends[piece]
        return self.places[piece] + index - self.begins[piece] + 1 if end is None else end


def plain(text: str, *, joined: bool = False) -> Plain:
    """Without typography; `joined`: a hyphen at the end of a line is taken for one that only breaks a word."""
    table, changes = _changes(text, joined=joined)
    shown: list[str] = []
    begins: list[int] = []
    places: list[int] = []
    ends: list[int | None] = []
    single = _replaced(text, table)
    length = done = 0
    for start, end, new in (*changes, (len(text), len(text), "")):
        if start < done:  # a mark within what was replaced already
            continue
        for piece, place, until in ((single[done:start], done, None), (new, start, end)):
            if piece:
                shown.append(piece)
                begins.append(length)
                places.append(place)
                ends.append(until)
                length += len(piece)
        done = end
    whole = "".join(shown)
    return Plain(_folded(whole), whole, tuple(begins), tuple(places), tuple(ends))


@lru_cache(maxsize=_REMEMBERED)
def plain_document(text: str, *, joined: bool = False) -> Plain:
    """The same, remembered: documents are looked through for every quote and every answer."""
    return plain(text, joined=joined)


@lru_cache(maxsize=_REMEMBERED)
def broken_words(text: str) -> frozenset[str]:
    """The words that have a hyphen at a line's end, in one piece and without case."""
    found = set()
    for match in _BROKEN.finditer(text):
        left = _LETTERS_BEFORE.search(text, max(0, match.start() - _LONGEST_WORD), match.start())
        right = _LETTERS.match(text, match.end())
        if left and right and match[0][0] != "\u00ad":
            found.add((left[0] + right[0]).lower())
    return frozenset(found)


def joined_words(quote: str, broken: frozenset[str]) -> str | None:
    """The quote with those of its words in one piece that lines break in a document; None if it has none of them."""
    joined = _HYPHENATED.sub(
        lambda match: match[1] + match[2] if (match[1] + match[2]).lower() in broken else match[0], quote
    )
    return joined if any(word[0].lower() in broken for word in _LETTERS.finditer(joined)) else None


def _folded(shown: str) -> str:
    """Without case and shapes of marks, one character for each; a double mark stays double where it may be inches."""
    text = shown.replace("İ", "i").lower()  # the only letter that lower case makes two of
    table = {ord(one): " " if one.isspace() else _FOLDED[one] for one in set(text) if one.isspace() or one in _FOLDED}
    return _NO_INCHES.sub("'", _PAIR.sub(r"'\1'", _replaced(text, table)))


def _replaced(text: str, table: dict[int, str]) -> str:
    """`text.translate(table)`, which is slow for long text that is not ASCII."""
    changed = {place: new for place, new in table.items() if new != chr(place)}
    if len(changed) > _FEW or any(ord(new) in changed for new in changed.values()):
        return text.translate(changed)
    for place, new in changed.items():
        text = text.replace(chr(place), new)
    return text


def _changes(text: str, *, joined: bool) -> tuple[dict[int, str], list[tuple[int, int, str]]]:
    """What becomes of single characters, and of longer or vanishing pieces: (start, end, what stands there)."""
    table: dict[int, str] = {}
    longer: dict[str, str] = {}
    for character in set(text):
        new = _shape(character)
        if len(new) == 1:
            table[ord(character)] = new
        else:
            longer[character] = new
    changes = [(match.start(), match.end(), _gap(text, match)) for match in _gaps(text).finditer(text)]
    changes += [
        (match.start(), match.end(), "" if joined or match[0][0] == "\u00ad" else "-")
        for match in _BROKEN.finditer(text)
    ]
    if longer:
        several = re.compile(f"[{re.escape(''.join(longer))}]")
        changes += [(match.start(), match.end(), longer[match[0]]) for match in several.finditer(text)]
    changes += _clusters(text)
    changes += _emphasis(text)
    # Of two changes at one place the longer one is meant: an accented ligature, a broken word's line end.
    return table, sorted(changes, key=lambda change: (change[0], -change[1]))


def _gaps(text: str) -> re.Pattern[str]:
    """Blanks that are more than one, or at the beginning, or between letters that need none."""
    between = f"|(?<=[{_UNSPACED}])\\s(?=[{_UNSPACED}])" if UNSPACED.search(text) else ""
    return re.compile(rf"\A\s+|\s\s+{between}")


def _gap(text: str, match: re.Match[str]) -> str:
    """One blank, or none: at the beginning, and between letters that need none unless they may be two numbers."""
    start, end = match.span()
    if start == 0:
        return ""
    if end == len(text) or not (UNSPACED.match(text[start - 1]) and UNSPACED.match(text[end])):
        return _blank(match[0])
    return _blank(match[0]) if text[start - 1].isnumeric() and text[end].isnumeric() else ""


def _blank(gap: str) -> str:
    """What stands for a gap: a blank; a line's end; a tab for what parts cells and paragraphs."""
    if gap == "\r\n" or gap.strip(" ") == "\n":
        return "\n"
    return "\t" if len(gap) > 1 or gap in "\t\f" else "\n" if gap in _LINE_ENDS else " "


def _clusters(text: str) -> Iterator[tuple[int, int, str]]:
    """Letters with marks that combine with them, composed."""
    if unicodedata.is_normalized("NFKC", text):
        return
    marks = [one for one in set(text) if unicodedata.combining(unicodedata.normalize("NFKC", one)[0])]
    korean = "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?"
    pattern = f"\\S[{re.escape(''.join(marks))}]+|{korean}" if marks else korean
    for match in re.finditer(pattern, text):
        base = match[0][0]
        new = base + match[0][1:] if _shape(base) == base else unicodedata.normalize("NFKC", match[0])
        yield match.start(), match.end(), unicodedata.normalize("NFC", new)


def _emphasis(text: str) -> Iterator[tuple[int, int, str]]:
    """Markdown's marks around words."""
    for pattern in _EMPHASES:
        for match in pattern.finditer(text):
            width = len(match[1]) + 1
            yield match.start(), match.start() + width, ""
            yield match.end() - width, match.end(), ""


@lru_cache(maxsize=4096)
def _shape(character: str) -> str:
    """One character as those that look like it are written: nothing, one, or several."""
    if character in _NOTHING or ord(character) in _VARIANTS:
        return ""
    if character.isspace():
        return _blank(character)
    if character in _KEPT:
        return character
    kind = unicodedata.decomposition(character)
    if kind.startswith(_APART):
        return character
    if kind.startswith("<font>") and any(style in unicodedata.name(character, "") for style in _APART_STYLES):
        return character
    return unicodedata.normalize("NFKC", character)
