"""Arguments -> the files they stand for, in a stable order. Opens nothing and knows no kind of document."""

from __future__ import annotations

import glob
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from spsl_cli.documents.document import Skip
from spsl_cli.documents.folder import Found, regular, walk
from spsl_cli.documents.wording import os_reason, shown

_STDIN = "-"
_ANY_DEPTH = "**"


def find(paths: Sequence[str]) -> Iterator[Found | Skip]:
    """Files as given, even hidden ones; folders walked through; patterns that are no file expanded; `-` as stdin."""
    for path in paths:
        if path == _STDIN:
            yield Found(None, "stdin")
        elif not path:
            yield Skip("(an empty path)", "no such file or directory")
        else:
            yield from _given(path)


def _given(argument: str) -> Iterator[Found | Skip]:
    path = Path(argument)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        if path.is_symlink():
            yield Skip(shown(argument), "a broken link")
        elif glob.has_magic(argument):
            yield from _matching(argument)
        else:
            yield Skip(shown(argument), os_reason(error))
        return
    except (OSError, ValueError) as error:
        yield Skip(shown(argument), os_reason(error))
        return
    if stat.S_ISDIR(mode):
        yield from walk(path)
    else:
        yield regular(path, mode)


def _matching(pattern: str) -> Iterator[Found | Skip]:
    parts = Path(pattern).parts
    at = parts.index(_ANY_DEPTH) if _ANY_DEPTH in parts else len(parts)
    nothing = True
    # Path.glob would match hidden files and cannot start from an absolute pattern.
    for match in sorted(glob.iglob(str(Path(*parts[:at])))):  # noqa: PTH207
        for found in _given(match) if at == len(parts) else _below(Path(match), parts[at:]):
            nothing = False
            yield found
    if nothing:
        yield Skip(shown(pattern), "no such file or directory, and no file matches it as a pattern")


def _below(folder: Path, pattern: tuple[str, ...]) -> Iterator[Found]:
    """The files of a folder that fit, found by `walk` so that links and hidden files are treated as everywhere."""
    for found in walk(folder):
        if isinstance(found, Found) and found.path and _fits(found.path.relative_to(folder).parts, pattern):
            yield found


def _fits(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == _ANY_DEPTH:
        return any(_fits(parts[start:], pattern[1:]) for start in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])
