"""Files are written whole or not at all."""

from __future__ import annotations

import os

import pytest

from spsl_cli.errors import SpslError
from spsl_cli.storage.atomic import write_whole


def test_replaces_a_file_whole_and_for_its_owner_only(tmp_path):
    target = tmp_path / "a.txt"
    write_whole(target, "old")
    write_whole(target, "näu\n")
    assert target.read_bytes() == "näu\n".encode()
    assert target.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["a.txt"]  # noqa: PTH208 names are enough


@pytest.mark.parametrize("call", ["fsync", "replace", "mkstemp"])
def test_a_failure_at_any_call_leaves_the_old_file_and_no_rest(tmp_path, monkeypatch, call):
    target = tmp_path / "a.txt"
    target.write_text("old", encoding="utf-8")

    def fail(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    place = {"fsync": "os.fsync", "replace": "pathlib.Path.replace", "mkstemp": "tempfile.mkstemp"}[call]
    monkeypatch.setattr(place, fail)
    with pytest.raises(SpslError, match="No space left"):
        write_whole(target, "new")
    monkeypatch.undo()
    assert target.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["a.txt"]  # noqa: PTH208


def test_a_missing_folder_is_one_clear_error(tmp_path):
    with pytest.raises(SpslError, match="none"):
        write_whole(tmp_path / "none" / "a.txt", "x")


def test_links_modes_and_devices_are_respected(tmp_path):
    """A link's target is written, an existing file keeps its mode, a pipe stays a pipe."""
    target, link = tmp_path / "a.txt", tmp_path / "link"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o644)
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"
    assert target.stat().st_mode & 0o777 == 0o644
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
