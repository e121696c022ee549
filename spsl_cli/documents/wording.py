"""Names, reasons and messages in a form that can be shown: one line, bounded, encodable. Knows nothing of documents."""

from __future__ import annotations

import errno
import unicodedata
from collections.abc import Iterable

MESSAGE_LENGTH = 200

# Embeddings, overrides, isolates and marks: they change the order in which a terminal shows what follows.
_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNSHOWABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})

_OS_REASONS = {
    errno.ENOENT: "no such file or directory",
    errno.ENOTDIR: "no such file or directory (part of the path is a file)",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ELOOP: "a link that leads in a circle",
    errno.ENAMETOOLONG: "the path is too long",
}


def shown(path: str) -> str:
    r"""A path as it can be shown and stored: undecodable bytes, control and direction signs as `\x..` or `\u....`."""
    try:
        decoded = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # surrogates that do not stand for bytes
        decoded = path
    return "".join(
        character.encode("unicode_escape").decode("ascii") if _misleads(character) else character
        for character in decoded
    )


def _misleads(character: str) -> bool:
    return character in _BIDI_CONTROLS or unicodedata.category(character) in _UNSHOWABLE


def one_line(message: object, length: int = MESSAGE_LENGTH) -> str:
    """`str(message)` on one line of at most `length` characters, without anything `shown` would escape."""
    line = shown(" ".join(str(message).split()))
    return line if len(line) <= length else line[: length - 3] + "..."


def failure(error: BaseException) -> str:
    """An exception in a few words; its type where it says nothing itself."""
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, KeyError):
        return one_line(f"{error} is missing")
    return one_line(error) or type(error).__name__


def os_reason(error: OSError | ValueError) -> str:
    """Why the operating system refused a path."""
    if isinstance(error, OSError) and error.errno is not None:
        return _OS_REASONS.get(error.errno) or one_line(error.strerror or "cannot be read").lower()
    return f"not a path: {failure(error)}"


def ranges(numbers: Iterable[int]) -> str:
    """Ascending numbers in short: `2, 4-7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def count(number: int, thing: str) -> str:
    """`1 page`, `1,200 pages`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
