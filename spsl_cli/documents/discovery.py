"""Arguments -> the files they stand for, in a stable order. Opens nothing and knows no kind of document."""

from __future__ import annotations

import glob
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from spsl_cli.documents.document import Skip
from spsl_cli.documents.folder import Found, Wanted, regular, walk
from spsl_cli.documents.ignore import PatternError, Patterns
from spsl_cli.documents.wording import os_reason, shown

_STDIN = "-"
_ANY_DEPTH = "**"


@dataclass(frozen=True, slots=True)
class Selection:
    """What of the folders given is wanted. A file given by name is read whatever this says.

    `include` and `exclude` are patterns as in a `.gitignore`, relative to the folder given; `ignore_files` says whether
    its `.gitignore` files are obeyed. Raises ValueError for a pattern that no path can match.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_files: bool = True

    def __post_init__(self) -> None:
        self.wanted()

    def wanted(self) -> Wanted:
        """The same, ready to be asked."""
        return Wanted(_patterns("include", self.include), _patterns("exclude", self.exclude), self.ignore_files)


def find(paths: Sequence[str], selection: Selection | None = None) -> Iterator[Found | Skip]:
    """Files as given, even hidden ones; folders walked through; patterns that are no file expanded; `-` as stdin."""
    wanted = (selection or Selection()).wanted()
    for path in paths:
        if path == _STDIN:
            yield Found(None, "stdin")
        elif not path:
            yield Skip("(an empty path)", "no such file or directory")
        else:
            yield from _given(path, wanted)


def _patterns(option: str, patterns: Sequence[str]) -> Patterns:
    for pattern in patterns:
        try:
            Patterns([pattern])
        except PatternError as error:
            raise ValueError(f"the pattern {pattern!r} to {option} {error}") from error
    return Patterns(patterns)


def _given(argument: str, wanted: Wanted) -> Iterator[Found | Skip]:
    path = Path(argument)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        if path.is_symlink():
            yield Skip(shown(argument), "a broken link")
        elif glob.has_magic(argument):
            yield from _matching(argument, wanted)
        else:
            yield Skip(shown(argument), os_reason(error))
        return
    except (OSError, ValueError) as error:
        yield Skip(shown(argument), os_reason(error))
        return
    if stat.S_ISDIR(mode):
        yield from walk(path, wanted)
    else:
        yield regular(path, mode)


def _matching(pattern: str, wanted: Wanted) -> Iterator[Found | Skip]:
    parts = Path(pattern).parts
    at = parts.index(_ANY_DEPTH) if _ANY_DEPTH in parts else len(parts)
    nothing = True
    # Path.glob would match hidden files and cannot start from an absolute pattern.
    for match in sorted(glob.iglob(str(Path(*parts[:at])))):  # noqa: PTH207
        for found in _given(match, wanted) if at == len(parts) else _below(Path(match), parts[at:], wanted):
            nothing = nothing and isinstance(found, Skip) and found.by_rule
            yield found
    if nothing:
        yield Skip(shown(pattern), "no such file or directory, and no file matches it as a pattern")


def _below(folder: Path, pattern: tuple[str, ...], wanted: Wanted) -> Iterator[Found | Skip]:
    """The files of a folder that fit, found by `walk` so that links and hidden files are treated as everywhere."""
    if folder.is_dir():
        yield from walk(folder, replace(wanted, fits=lambda path: _fits(tuple(path.split("/")), pattern)))


def _fits(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == _ANY_DEPTH:
        return any(_fits(parts[start:], pattern[1:]) for start in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])
