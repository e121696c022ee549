"""What the `.gitignore` files of a folder, and of the repository it lies in, leave out. Opens those files and no other.

A repository's rules begin where its `.git` lies: `.git/info/exclude`, then the `.gitignore` of each folder downwards,
the inner one first. Where `.git` is a file, as in a linked worktree, it names the folder that is meant, and that one
may name another that several share. The user's global excludes are no part of the folder and are not asked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from spsl_cli.documents.document import Skip
from spsl_cli.documents.ignore import PatternError, Patterns
from spsl_cli.documents.intake import read_file
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.source import UnreadableError
from spsl_cli.documents.wording import os_reason, shown

_LARGEST = 1 << 20  # bytes; real ones have a few thousand
_GIT = ".git"
_GITDIR = "gitdir:"
_LONGEST_PATH = 1 << 14


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one file, for paths from `base` on, and the rules that are asked where it says nothing."""

    patterns: Patterns
    base: int
    outer: _Rules | None

    def verdict(self, path: str) -> bool:
        rules: _Rules | None = self
        while rules:
            said = rules.patterns.verdict(path[rules.base :])
            if said is not None:
                return said
            rules = rules.outer
        return False


class IgnoreFiles:
    """The rules below one folder `root`, read as its folders are entered; `skips` names files that cannot be obeyed.

    Paths are relative to `root`, their parts joined by `/`, with a `/` at the end of a folder's.
    """

    def __init__(self, root: Path, given: Path) -> None:
        """`root` is `given` with every link resolved."""
        self._root, self._given = root, given
        self.skips: list[Skip] = []
        top = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / _GIT)), root)
        between = root.relative_to(top).parts
        self._prefix = "".join(f"{part}/" for part in between)
        rules = self._extended(None, top, "")
        path = ""
        for number, part in enumerate(between, 1):
            path += f"{part}/"
            # Who names a folder that is left out from above wants it all the same.
            outer = None if rules and rules.verdict(path) else rules
            rules = self._extended(outer, top.joinpath(*between[:number]), path)
        self._known: dict[str, _Rules | None] = {"": rules}

    def enter(self, folder: str) -> None:
        """Reads what holds in `folder`; the one above it has been entered."""
        if folder not in self._known:
            outer = self._known[_above(folder)]
            self._known[folder] = self._extended(outer, self._root / folder, self._prefix + folder)

    def names(self, path: str) -> bool:
        """Whether `path`, in a folder that has been entered, is left out."""
        rules = self._known[_above(path)]
        return rules is not None and rules.verdict(self._prefix + path)

    def _extended(self, outer: _Rules | None, folder: Path, path: str) -> _Rules | None:
        rules = outer
        if os.path.lexists(folder / _GIT):
            rules = None
            for patterns in self._read(_common(folder / _GIT) / "info" / "exclude"):
                rules = _Rules(patterns, len(path), rules)
        for patterns in self._read(folder / ".gitignore"):
            rules = _Rules(patterns, len(path), rules)
        return rules

    def _read(self, path: Path) -> Iterator[Patterns]:
        """The patterns in the file at `path`; none where there is no such file."""
        try:
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                yield Patterns.of_file(read_file(path, replace(Limits(), file_bytes=_LARGEST)))
            elif not stat.S_ISDIR(mode):
                self._disobey(path, "not a regular file")  # git does not follow links either
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self._disobey(path, os_reason(error))
        except (UnreadableError, PatternError) as error:
            self._disobey(path, str(error))

    def _disobey(self, path: Path, reason: str) -> None:
        if path.is_relative_to(self._root):
            path = self._given / path.relative_to(self._root)
        self.skips.append(Skip(shown(str(path)), f"cannot be obeyed, so what it names may be read: {reason}"))


def _common(git: Path) -> Path:
    """The folder that holds what a repository's worktrees share; `git` itself where nothing else is named."""
    if not git.is_symlink() and git.is_dir():
        return git
    named = _line(git)
    if not named.startswith(_GITDIR):
        return git
    folder = _joined(git.parent, named.removeprefix(_GITDIR).strip())
    return _joined(folder, _line(folder / "commondir").strip())


def _line(path: Path) -> str:
    """The first line of a small regular file; empty where it is none."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return ""
        data = read_file(path, replace(Limits(), file_bytes=_LONGEST_PATH))
    except (OSError, ValueError, UnreadableError):
        return ""
    return os.fsdecode(data.split(b"\n", 1)[0])


def _joined(folder: Path, path: str) -> Path:
    """`path` as seen from `folder`, never on another machine, which Windows would ask for it."""
    return folder if not path or "\0" in path or path.startswith(("\\\\", "//")) else folder / path


def _above(path: str) -> str:
    return path[: path.rfind("/", 0, -1) + 1]
