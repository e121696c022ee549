"""One folder -> the files in it, at any depth. Opens nothing and knows no kind of document."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spsl_cli.documents.document import Skip
from spsl_cli.documents.wording import os_reason, shown

_HIDDEN_NAMED = 5
_SPECIAL = {
    stat.S_IFIFO: "a named pipe, not a file (pipe its text into `-` instead)",
    stat.S_IFSOCK: "a socket, not a file",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
}


@dataclass(frozen=True, slots=True)
class Found:
    """An input to be read: its path as the operating system takes it (None: standard input), and as users see it."""

    path: Path | None
    name: str


def regular(path: Path, mode: int) -> Found | Skip:
    """The file at `path`, unless its mode says that opening it could wait for ever or touch a device."""
    name = shown(str(path))
    if stat.S_ISREG(mode):
        return Found(path, name)
    return Skip(name, _SPECIAL.get(stat.S_IFMT(mode), "not a regular file"))


def walk(root: Path) -> Iterator[Found | Skip]:
    """The files below `root` in the order of their paths' parts.

    Hidden files and folders are left out and named together at the end; links are followed only to files within `root`.
    """
    hidden: list[str] = []
    empty = True
    try:
        real_root = root.resolve()
        pending = _entries(root, root, hidden)
    except OSError as error:
        yield Skip(shown(str(root)), f"cannot be listed: {os_reason(error)}")
        return
    while pending:
        entry = pending.pop()
        path = Path(entry.path)
        try:
            if entry.is_dir(follow_symlinks=False):
                pending.extend(_entries(path, root, hidden))
                continue
            found = _link(path, real_root) if entry.is_symlink() else regular(path, path.lstat().st_mode)
        except OSError as error:
            found = Skip(shown(str(path)), os_reason(error))
        empty = False
        yield found
    if hidden:
        yield Skip(shown(str(root)), _left_out(hidden), by_rule=True)
    elif empty:
        yield Skip(shown(str(root)), "no files in this folder")


def _entries(folder: Path, root: Path, hidden: list[str]) -> list[os.DirEntry[str]]:
    """The visible entries, last name first as they are taken from the end; the names of the others go to `hidden`."""
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    visible = []
    for entry in entries:
        if entry.name.startswith("."):
            slash = "/" if entry.is_dir(follow_symlinks=False) else ""
            hidden.append(shown(str(Path(entry.path).relative_to(root))) + slash)
        else:
            visible.append(entry)
    return visible[::-1]


def _link(path: Path, real_root: Path) -> Found | Skip:
    name = shown(str(path))
    try:
        target = path.resolve(strict=True)
    except FileNotFoundError:
        return Skip(name, "a broken link")
    except RuntimeError:  # so Python says before 3.13; then it is an OSError
        return Skip(name, "a link that leads in a circle")
    if not target.is_relative_to(real_root):
        return Skip(name, "a link that leads out of the folder")
    if target.is_dir():
        return Skip(name, "a link to a folder (not followed: its files are read where they are)", by_rule=True)
    if any(part.startswith(".") for part in target.relative_to(real_root).parts):
        return Skip(name, "a link to a hidden file")
    return regular(path, target.stat().st_mode)


def _left_out(hidden: list[str]) -> str:
    named = ", ".join(hidden[:_HIDDEN_NAMED])
    more = f" and {len(hidden) - _HIDDEN_NAMED:,} more" if len(hidden) > _HIDDEN_NAMED else ""
    return f"{len(hidden):,} hidden {'entry' if len(hidden) == 1 else 'entries'} left out: {named}{more}"
