"""One folder -> the files in it, at any depth. Opens no document and knows no kind of one."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spsl_cli.documents.document import Skip
from spsl_cli.documents.ignore import Patterns
from spsl_cli.documents.ignore_files import IgnoreFiles
from spsl_cli.documents.wording import os_reason, shown

_NAMED = 5
_SPECIAL = {
    stat.S_IFIFO: "a named pipe, not a file (pipe its text into `-` instead)",
    stat.S_IFSOCK: "a socket, not a file",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
}
_NO_PATTERNS = Patterns(())


@dataclass(frozen=True, slots=True)
class Found:
    """An input to be read: its path as the operating system takes it (None: standard input), and as users see it."""

    path: Path | None
    name: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a folder is wanted; paths are relative to it, their parts joined by `/`.

    Left out is what `exclude` names and, if `ignore_files`, what the folder's `.gitignore` files name. Of the rest,
    only files count that `include` names, by themselves or by a folder above them; all, if it has no pattern. A file
    for which `fits` is false is none of the walk's business: it is not even named as left out.
    """

    include: Patterns = _NO_PATTERNS
    exclude: Patterns = _NO_PATTERNS
    ignore_files: bool = True
    fits: Callable[[str], bool] | None = None


def regular(path: Path, mode: int) -> Found | Skip:
    """The file at `path`, unless its mode says that opening it could wait for ever or touch a device."""
    name = _shown(str(path))
    if stat.S_ISREG(mode):
        return Found(path, name)
    return Skip(name, _SPECIAL.get(stat.S_IFMT(mode), "not a regular file"))


def walk(root: Path, wanted: Wanted | None = None) -> Iterator[Found | Skip]:
    """The files below `root` in the order of their paths' parts.

    Hidden files and folders, and what is not wanted, are left out and named together at the end; links are followed
    only to files within `root`.
    """
    wanted = wanted or Wanted()
    walking = _Walk(root, wanted)
    empty = True
    for item in walking.items():
        empty = False
        yield item
    for skip in walking.left_out():
        empty = False
        yield skip
    if empty and not wanted.fits:
        yield Skip(shown(str(root)), "no files in this folder")


@dataclass(slots=True)
class _LeftOut:
    """Entries that are left out for one reason: how many, and the first few by name."""

    number: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, path: str) -> None:
        self.number += 1
        if len(self.names) < _NAMED:
            self.names.append(_shown(path))

    def named(self) -> str:
        more = f" and {self.number - _NAMED:,} more" if self.number > _NAMED else ""
        return ", ".join(self.names) + more


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a listing gave: the entry, its path below the root, and whether a pattern to include covers it."""

    entry: os.DirEntry[str]
    path: str
    included: bool


class _Walk:
    """One walk: the entries still to be seen, last one first, and what has been left out so far."""

    def __init__(self, root: Path, wanted: Wanted) -> None:
        self._root = root
        self._wanted = wanted
        self._pending: list[_Entry] = []
        self._hidden, self._excluded, self._ignored, self._other = (_LeftOut() for _ in range(4))
        self._real_root = root
        self._ignore_files: IgnoreFiles | None = None

    def items(self) -> Iterator[Found | Skip]:
        try:
            self._real_root = self._root.resolve()
            if self._wanted.ignore_files:
                self._ignore_files = IgnoreFiles(self._real_root, self._root)
            self._list(str(self._root), "", included=not self._wanted.include)
        except OSError as error:
            yield Skip(shown(str(self._root)), f"cannot be listed: {os_reason(error)}")
            return
        while self._pending:
            at = self._pending.pop()
            try:
                if at.path.endswith("/"):
                    self._list(at.entry.path, at.path, included=at.included)
                    continue
                yield self._found(at.entry)
            except OSError as error:
                what = "cannot be listed: " if at.path.endswith("/") else ""
                yield Skip(_shown(str(Path(at.entry.path))), f"{what}{os_reason(error)}")

    def left_out(self) -> Iterator[Skip]:
        """What was left out by rule, one reason at a time, and the rules that cannot be obeyed."""
        yield from self._ignore_files.skips if self._ignore_files else ()
        for left, one, several in (
            (self._hidden, "hidden entry left out", "hidden entries left out"),
            (self._excluded, "entry left out by a pattern to exclude", "entries left out by the patterns to exclude"),
            (
                self._ignored,
                "entry left out by .gitignore (--no-ignore reads it)",
                "entries left out by .gitignore (--no-ignore reads them)",
            ),
            (
                self._other,
                "file left out, which no pattern to include names",
                "files left out, which no pattern to include names",
            ),
        ):
            if left.number:
                reason = f"{left.number:,} {one if left.number == 1 else several}: {left.named()}"
                yield Skip(shown(str(self._root)), reason, by_rule=True)

    def _list(self, folder: str, path: str, *, included: bool) -> None:
        """Puts the entries of a folder that are wanted before all others. Raises OSError."""
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        if self._ignore_files:
            self._ignore_files.enter(path)
        kept = []
        for entry in entries:
            is_folder = _is_folder(entry)
            below = f"{path}{entry.name}/" if is_folder else f"{path}{entry.name}"
            if self._wanted.fits and not is_folder and not self._wanted.fits(below):
                continue
            if entry.name.startswith("."):
                self._hidden.add(below)
            elif left := self._by_rule(below):
                left.add(below)
            else:
                said = self._wanted.include.verdict(below)
                covered = included if said is None else said
                if covered or is_folder:
                    kept.append(_Entry(entry, below, covered))
                else:
                    self._other.add(below)
        self._pending.extend(reversed(kept))

    def _by_rule(self, path: str) -> _LeftOut | None:
        """Where to count what a rule leaves out; None if it may stay. A pattern to exclude outweighs `.gitignore`."""
        said = self._wanted.exclude.verdict(path)
        if said is None and self._ignore_files and self._ignore_files.names(path):
            return self._ignored
        return self._excluded if said else None

    def _found(self, entry: os.DirEntry[str]) -> Found | Skip:
        path = Path(entry.path)
        if entry.is_symlink():
            return self._link(path)
        mode = stat.S_IFREG if entry.is_file(follow_symlinks=False) else path.lstat().st_mode
        return regular(path, mode)

    def _link(self, path: Path) -> Found | Skip:
        name = _shown(str(path))
        try:
            target = path.resolve(strict=True)
        except FileNotFoundError:
            return Skip(name, "a broken link")
        except RuntimeError:  # so Python says before 3.13; then it is an OSError
            return Skip(name, "a link that leads in a circle")
        if not target.is_relative_to(self._real_root):
            return Skip(name, "a link that leads out of the folder")
        return self._within(path, target)

    def _within(self, link: Path, target: Path) -> Found | Skip:
        """A link to what lies in the folder itself; it must not bring in what was left out there."""
        name = _shown(str(link))
        if target.is_dir():
            return Skip(name, "a link to a folder (not followed: its files are read where they are)", by_rule=True)
        parts = target.relative_to(self._real_root).parts
        if any(part.startswith(".") for part in parts):
            return Skip(name, "a link to a hidden file")
        if self._target_left_out(parts):
            return Skip(name, "a link to a file that is left out", by_rule=True)
        return regular(link, target.stat().st_mode)

    def _target_left_out(self, parts: tuple[str, ...]) -> bool:
        """Whether a rule leaves out the file, or a folder above it."""
        path = ""
        for part in parts[:-1]:
            path += f"{part}/"
            if self._by_rule(path):
                return True
            if self._ignore_files:
                self._ignore_files.enter(path)
        return self._by_rule(path + parts[-1]) is not None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:  # it is asked again, and named, when its turn comes
        return False


def _shown(path: str) -> str:
    """The same as `shown`, at once where nothing needs to be escaped."""
    return path if path.isprintable() else shown(path)
