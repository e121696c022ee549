"""Folders and names made to trap a reader: pipes, devices, links in circles, names that are no text, refused access."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from spsl_cli.documents import Collection, intake, read_paths

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX files")


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A folder `t` with one good file, in the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = Path("t")
    folder.mkdir()
    (folder / "good.txt").write_text("A good file.")
    return folder


def reasons(collection: Collection) -> dict[str, str]:
    assert [document.path for document in collection.documents] == ["t/good.txt"]
    return {skip.path: skip.reason for skip in collection.skipped}


def test_pipes_and_sockets_are_never_opened(tree):
    os.mkfifo(tree / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("t/socket.txt")
        assert reasons(read_paths(["t", "t/pipe.txt", "/dev/null"])) == {
            "t/pipe.txt": "a named pipe, not a file (pipe its text into `-` instead)",
            "t/socket.txt": "a socket, not a file",
            "/dev/null": "a device, not a file",
        }


def test_a_file_that_becomes_a_pipe_does_not_hold_the_run(tree, monkeypatch):
    os.mkfifo(tree / "late.txt")
    real = Path.lstat

    def deceived(self):
        result = real(self)
        if not stat.S_ISFIFO(result.st_mode):
            return result
        return os.stat_result((stat.S_IFREG | 0o600, *result[1:]))

    monkeypatch.setattr(Path, "lstat", deceived)
    assert reasons(read_paths(["t"])) == {"t/late.txt": "not a regular file any more"}


def test_links(tree):
    outside = Path("outside")
    outside.mkdir()
    (outside / "secret.txt").write_text("Not asked for.")
    (tree / ".hidden").write_text("Not asked for.")
    (tree / "inner").mkdir()
    for name, target in {
        "t/inner/up": "..",
        "t/self": ".",
        "t/out-file.txt": "../outside/secret.txt",
        "t/out-folder": "../outside",
        "t/root": "/",
        "t/ping": "pong",
        "t/pong": "ping",
        "t/nowhere.txt": "gone.txt",
        "t/hidden.txt": ".hidden",
        "t/twin.txt": "good.txt",
    }.items():
        Path(name).symlink_to(target)
    told = reasons(read_paths(["t"]))
    assert told.pop("t").startswith("1 hidden entry left out")
    folder = "a link to a folder (not followed: its files are read where they are)"
    circle = "a link that leads in a circle"
    assert told == {
        "t/inner/up": folder,
        "t/self": folder,
        "t/out-file.txt": "a link that leads out of the folder",
        "t/out-folder": "a link that leads out of the folder",
        "t/root": "a link that leads out of the folder",
        "t/ping": circle,
        "t/pong": circle,
        "t/nowhere.txt": "a broken link",
        "t/hidden.txt": "a link to a hidden file",
        "t/twin.txt": "same content as t/good.txt",
    }


def test_a_neighbour_whose_name_begins_alike_is_outside(tree):
    Path("t-other").mkdir()
    Path("t-other/secret.txt").write_text("Not asked for.")
    (tree / "link.txt").symlink_to("../t-other/secret.txt")
    assert reasons(read_paths(["t"])) == {"t/link.txt": "a link that leads out of the folder"}


def test_links_given_by_name_are_followed(tree):
    Path("link").symlink_to("t")
    Path("link.txt").symlink_to("t/good.txt")
    assert [document.path for document in read_paths(["link"]).documents] == ["link/good.txt"]
    assert [document.path for document in read_paths(["link.txt"]).documents] == ["link.txt"]
    Path("broken").symlink_to("gone")
    Path("circle").symlink_to("circle")
    assert [skip.reason for skip in read_paths(["broken", "circle"]).skipped] == [
        "a broken link",
        "a link that leads in a circle",
    ]


def test_patterns_do_not_follow_circles(tree):
    (tree / "sub").mkdir()
    (tree / "sub" / "up").symlink_to("..")
    assert reasons(read_paths(["t/**/*.txt"])) == {}


def test_refused_access_is_named(tree, monkeypatch):
    (tree / "shut.txt").write_text("Not readable.")
    (tree / "torn.txt").write_text("On a bad disk.")
    (tree / "locked").mkdir()
    real_open, real_scan = os.open, os.scandir

    def refuse_open(path, *rest, **more):
        if Path(path).name == "shut.txt":
            raise PermissionError(errno.EACCES, "Permission denied")
        if Path(path).name == "torn.txt":
            raise OSError(errno.EIO, "Input/output error")
        return real_open(path, *rest, **more)

    def refuse_scan(path):
        if Path(path).name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real_scan(path)

    monkeypatch.setattr(intake.os, "open", refuse_open)
    monkeypatch.setattr(os, "scandir", refuse_scan)
    assert reasons(read_paths(["t", "t/locked"])) == {
        "t/shut.txt": "permission denied",
        "t/torn.txt": "input/output error",
        "t/locked": "cannot be listed: permission denied",
    }


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"caf\xe9.txt", "caf\\xe9.txt"),
        (b"line\nbreak.txt", "line\\nbreak.txt"),
        (b"red\x1b[31m.txt", "red\\x1b[31m.txt"),
        ("turn\u202egpj.txt".encode(), "turn\\u202egpj.txt"),
        ("Größe 漢.txt".encode(), "Größe 漢.txt"),
    ],
)
def test_names_are_shown_safely(tree, name, shown):
    path = os.fsencode(tree) + b"/" + name
    try:
        Path(os.fsdecode(path)).write_text("Oddly named.")
    except OSError:
        pytest.skip("this file system does not take the name")
    (tree / "zz.txt").write_text("Oddly named.")
    collection = read_paths([os.fsdecode(path), "t"])
    assert [document.path for document in collection.documents] == [f"t/{shown}", "t/good.txt"]
    assert [(s.path, s.reason) for s in collection.skipped] == [
        (f"t/{shown}", "named twice"),
        ("t/zz.txt", f"same content as t/{shown}"),
    ]


def test_a_deep_folder_is_walked_without_recursion(tree):
    deep = tree
    for _ in range(400):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "low.txt").write_text("Down here.")
    assert len(read_paths(["t"]).documents) == 2


def test_ten_thousand_entries(tree):
    many = tree / "many"
    many.mkdir()
    for number in range(10_000):
        (many / f"{number:05}").touch()
    told = reasons(read_paths(["t"]))
    assert len(told) == 10_000
    assert set(told.values()) == {"empty file"}


def test_a_gitignore_that_cannot_be_obeyed_is_named(tree):
    for name in ("pipe", "link", "large", "many", "folder"):
        (tree / name).mkdir()
    os.mkfifo(tree / "pipe" / ".gitignore")
    Path("outside").write_text("*\n")
    (tree / "link" / ".gitignore").symlink_to("../../outside")
    (tree / "large" / ".gitignore").write_bytes(b"#" * (1 << 20) + b"\n*\n")
    (tree / "many" / ".gitignore").write_text("*x\n" * 2001)
    (tree / "folder" / ".gitignore").mkdir()
    told = reasons(read_paths(["t"]))
    assert told.pop("t").startswith("5 hidden entries left out")
    begin = "cannot be obeyed, so what it names may be read: "
    assert told == {
        "t/large/.gitignore": f"{begin}larger than the limit of 1,048,576 bytes",
        "t/link/.gitignore": f"{begin}not a regular file",
        "t/many/.gitignore": f"{begin}more than 2,000 patterns with wildcards or `!`",
        "t/pipe/.gitignore": f"{begin}not a regular file",
    }


def test_a_gitignore_of_any_bytes_is_obeyed(tree):
    (tree / ".gitignore").write_bytes(b"\xff\xfe\0\n*.log\r\n\x1b[31m\n\xc3\n")
    (tree / "a.log").write_text("Not wanted.")
    assert reasons(read_paths(["t"]))["t"].endswith(": a.log")


def test_a_file_that_vanishes_costs_nothing_else(tree):
    (tree / "later.txt").write_text("Gone before it is read.")

    def remove(_):
        (tree / "later.txt").unlink(missing_ok=True)

    assert reasons(read_paths(["t"], on_progress=remove)) == {"t/later.txt": "no such file or directory"}


def test_a_folder_that_vanishes_costs_nothing_else(tree, monkeypatch):
    (tree / "sub" / "deeper").mkdir(parents=True)
    real = os.scandir

    def vanish(path):
        if Path(path).name == "sub":
            (tree / "sub" / "deeper").rmdir()
            (tree / "sub").rmdir()
        return real(path)

    monkeypatch.setattr(os, "scandir", vanish)
    assert reasons(read_paths(["t"])) == {"t/sub": "cannot be listed: no such file or directory"}


def test_entries_left_out_are_named_safely(tree):
    try:
        for name in (b"a\x1b[31m.log", b"b\n.log", b"c\xe9.log"):
            Path(os.fsdecode(os.fsencode(tree) + b"/" + name)).touch()
    except OSError:
        pytest.skip("this file system does not take the names")
    (tree / ".gitignore").write_text("*.log\n")
    assert read_paths(["t"]).skipped[1].reason.endswith(r"a\x1b[31m.log, b\n.log, c\xe9.log")


@pytest.fixture
def nested(tree):
    """Makes so many folders of one name, each in the one before, and writes a file into the last; removes them."""

    def make(name: str, levels: int) -> None:
        here = os.open(tree, os.O_RDONLY)
        for _ in range(levels):
            os.mkdir(name, dir_fd=here)
            deeper = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = deeper
        with os.fdopen(os.open("low.txt", os.O_CREAT | os.O_WRONLY, dir_fd=here), "wb") as file:
            file.write(b"Down here.")
        os.close(here)

    yield make
    subprocess.run(["rm", "-rf", str(tree)], check=True)  # noqa: S607 - Python's own would recurse too deep


def test_a_thousand_levels(tree, nested):
    nested("d", 1000)
    (tree / ".gitignore").write_text("nothing-here\n")
    collection = read_paths(["t"])
    assert [document.text for document in collection.documents] == ["Down here.", "A good file."]


def test_deeper_than_a_path_can_say(tree, nested):
    nested("n" * 200, 30)
    told = list(reasons(read_paths(["t"])).values())
    assert "cannot be listed: the path is too long" in told
    assert all(reason.endswith("the path is too long") for reason in told)  # a .gitignore there may be the first


def test_five_thousand_entries_left_out_are_one_line(tree):
    many = tree / "many"
    many.mkdir()
    for number in range(5_000):
        os.close(os.open(many / f"{number:06}.o", os.O_CREAT))
    (tree / ".gitignore").write_text("*.o\n" + "".join(f"*.x{number}\n" for number in range(100)) + "!keep*\n")
    assert reasons(read_paths(["t"]))["t"].startswith("5,000 entries left out by .gitignore")
