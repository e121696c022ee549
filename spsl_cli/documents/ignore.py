"""Patterns as in a `.gitignore` -> which entries of a folder they mean. Opens nothing and knows no option.

Every pattern becomes a regular expression that cannot backtrack far, whoever wrote it; those in a row that all leave
out, or all take back, become one, so that thousands of patterns cost little more than a few. Git compares bytes; here
`?` and brackets stand for whole characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise

_ANY_DEPTH = "**"
_STAR = "*"
_WILDCARDS = frozenset("*?[\\")
# Plain text that does not end with a slash, then two stars or more that do.
_GLUED = re.compile(r"([^*?\[\\]*[^*?\[\\/])\*{2,}/")
_LONGEST_PATTERN = 4096  # no path is longer
_MOST_PATTERNS = 2000  # of those that are not found at once
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\x20\t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r"\x20\t-\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class PatternError(ValueError):
    """A pattern that no path can match; `str(error)` says why."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One line. `text` is compared as it stands if `exact`, else it is a regular expression."""

    takes_back: bool
    by_name: bool
    exact: bool
    text: str
    folders_only: bool


class _Row:
    """Patterns one after the other that say the same of what they match."""

    def __init__(self, patterns: list[_Pattern]) -> None:
        self.takes_back = patterns[0].takes_back
        self._names, self._name_regex = _together([pattern for pattern in patterns if pattern.by_name])
        self._paths, self._path_regex = _together([pattern for pattern in patterns if not pattern.by_name])

    def matches(self, path: str) -> bool:
        at = path.rfind("/", 0, -1) + 1
        if path[at:] in self._names or path in self._paths:
            return True
        if self._name_regex and self._name_regex.fullmatch(path, at):
            return True
        return bool(self._path_regex and self._path_regex.fullmatch(path))


def _together(patterns: list[_Pattern]) -> tuple[frozenset[str], re.Pattern[str] | None]:
    """What is compared as it stands, and all else as one regular expression."""
    exact = {f"{pattern.text}/" for pattern in patterns if pattern.exact}
    exact |= {pattern.text for pattern in patterns if pattern.exact and not pattern.folders_only}
    regexes = [pattern.text + ("/" if pattern.folders_only else "/?") for pattern in patterns if not pattern.exact]
    return frozenset(exact), re.compile("|".join(regexes), re.DOTALL) if regexes else None


class Patterns:
    """Patterns in the order of their lines: the last one that matches decides, and `!` takes back."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """Raises PatternError for a pattern that can match nothing, a comment or a blank one included."""
        self._rows = list(_rows(map(_parsed, patterns)))

    @classmethod
    def of_file(cls, data: bytes) -> Patterns:
        """The patterns of a `.gitignore` in any encoding; as git does, lines without a meaning are passed over.

        Raises PatternError for a file whose patterns would take too long to try on every path.
        """
        lines = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").split("\n")
        understood = list(_understood(lines))
        turns = sum(one.takes_back != other.takes_back for one, other in pairwise(understood))
        if turns + sum(not pattern.exact for pattern in understood) > _MOST_PATTERNS:
            raise PatternError(f"more than {_MOST_PATTERNS:,} patterns with wildcards or `!`")
        patterns = cls(())
        patterns._rows = list(_rows(understood))
        return patterns

    def __bool__(self) -> bool:
        return bool(self._rows)

    def verdict(self, path: str) -> bool | None:
        """Whether `path` (parts joined by `/`, a `/` at the end of a folder's) is meant; None where no pattern matches.

        What lies in a folder that is meant is not looked for: who walks down stops there.
        """
        return next((not row.takes_back for row in reversed(self._rows) if row.matches(path)), None)


def _understood(lines: Iterable[str]) -> Iterator[_Pattern]:
    for line in lines:
        try:
            yield _parsed(_trimmed(line.removesuffix("\r")))
        except PatternError:
            continue


def _trimmed(line: str) -> str:
    """Without blanks at the end, unless a backslash stands before them."""
    bare = line.rstrip(" ")
    escapes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if escapes % 2 and bare != line else bare


def _rows(patterns: Iterable[_Pattern]) -> Iterator[_Row]:
    for _, row in groupby(patterns, key=lambda pattern: pattern.takes_back):
        yield _Row(list(row))


def _parsed(line: str) -> _Pattern:
    if not line.strip():
        raise PatternError("is blank")
    if line.startswith("#"):
        raise PatternError(r"is a comment (write \# for a name that begins so)")
    takes_back = line.startswith("!")
    pattern = line[takes_back:]
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    by_name = "/" not in pattern
    pattern = pattern.removeprefix("/")
    if not pattern:
        raise PatternError("names nothing")
    if len(pattern) > _LONGEST_PATTERN:
        raise PatternError(f"is longer than {_LONGEST_PATTERN:,} characters")
    exact = not _WILDCARDS.intersection(pattern)
    if not by_name and (glued := _GLUED.match(pattern)):
        text, exact = _glued(glued[1], pattern[glued.end() :]), False
    else:
        segments = _segments(pattern)
        text = pattern if exact else _regex(segments)
    return _Pattern(takes_back, by_name, exact, text, folders_only)


def _glued(prefix: str, rest: str) -> str:
    """`foo**/rest`: git takes off what stands before the first wildcard, and the stars are then those of any depth."""
    if not rest:
        return re.escape(prefix)
    return f"{re.escape(prefix)}/?{_regex([[_ANY_DEPTH], *_segments(rest)])}"


def _segments(pattern: str) -> list[list[str]]:
    """The parts between slashes, each a list of stars and of regular expressions for one character."""
    segments: list[list[str]] = [[]]
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        at += 1
        if sign == "/":
            segments.append([])
        elif sign == "*":
            after = at + len(pattern[at:]) - len(pattern[at:].lstrip("*"))
            segments[-1].append(_STAR if after == at else _ANY_DEPTH)
            at = after
        elif sign == "?":
            segments[-1].append("[^/]")
        elif sign == "[":
            one, at = _bracket(pattern, at)
            segments[-1].append(one)
        elif sign != "\\":
            segments[-1].append(re.escape(sign))
        elif at < len(pattern):
            segments[-1].append(re.escape(pattern[at]))
            at += 1
        else:
            raise PatternError("ends with a backslash that nothing follows")
    if any("".join(segment) in {"", r"\.", r"\.\."} for segment in segments):
        raise PatternError("has an empty part, '.' or '..' between slashes, which no path has")
    return segments


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    """The regular expression of a set of characters that begins at `at`, and where the pattern goes on."""
    negated = pattern[at : at + 1] in {"!", "^"}
    at = first = at + negated
    items: list[str] = []
    before = ""  # what a range may begin with
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        if pattern.startswith("[:", at) and (end := pattern.find("]", at + 2)) > at + 2 and pattern[end - 1] == ":":
            name = pattern[at + 2 : end - 1]
            if name not in _CLASSES:
                raise PatternError(f"has an unknown class [:{name}:]")
            items.append(_CLASSES[name])
            before, at = "", end + 1
            continue
        ranged = pattern[at] == "-" and before and pattern[at + 1 : at + 2] not in {"", "]"}
        at += bool(ranged)
        at += pattern[at] == "\\"
        if at == len(pattern):
            break
        sign = pattern[at]
        at += 1
        if not ranged:
            items.append(re.escape(sign))
        elif before <= sign:
            items.append(f"{re.escape(before)}-{re.escape(sign)}")
        before = "" if ranged else sign
    if at >= len(pattern):
        raise PatternError("has a bracket that is not closed")
    if not items:
        return ("[^/]" if negated else "(?!)"), at + 1
    return f"(?!/)[{'^' if negated else ''}{''.join(items)}]", at + 1


def _regex(segments: list[list[str]]) -> str:
    """Between two `**` the first fit is as good as any, and so is it between two `*` of a part: no other is tried."""
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment == [_ANY_DEPTH]:
            groups.append([])
        else:
            groups[-1].append(_segment(segment))
    first, *others = ["/".join(group) for group in groups]
    if not others:
        return first
    start = f"{first}/" if first else ""
    middle = (f"(?>(?:[^/]+/)*?{group}/)" for group in others[:-1] if group)
    return start + "".join(middle) + (f"(?:.*/)?{others[-1]}" if others[-1] else ".+")


def _segment(tokens: list[str]) -> str:
    if tokens == [_STAR]:
        return "[^/]+"
    parts = [""]
    for token in tokens:
        if token in {_STAR, _ANY_DEPTH}:
            parts.append("")
        else:
            parts[-1] += token
    first, *others = parts
    if not others:
        return first
    return first + "".join(f"(?>[^/]*?{part})" for part in others[:-1]) + f"[^/]*{others[-1]}"
