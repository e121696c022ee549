"""Which inputs are read, in which order, and how those that are not are named."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spsl_cli.documents import Collection, Document, Limits, Page, Reading, Skip, read_paths


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, empty, so that paths in tests are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str = "") -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or f"This is {name}.", encoding="utf-8")


def names(collection: Collection) -> list[str]:
    return [document.path for document in collection.documents]


def test_documents_come_in_the_order_given(folder):
    for name in ("b.txt", "a.txt", "c.txt"):
        write(name)
    collection = read_paths(["c.txt", "a.txt", "b.txt"])
    assert names(collection) == ["c.txt", "a.txt", "b.txt"]
    assert collection.documents[0].text == "This is c.txt."
    assert len(collection.documents[0].sha256) == 64


def test_folders_are_walked_in_the_order_of_their_paths(folder):
    for name in ("d/b.txt", "d/a/z.txt", "d/c/y.md", "d/c/a/x.txt", "d/a.txt"):
        write(name)
    wanted = ["d/a/z.txt", "d/a.txt", "d/b.txt", "d/c/a/x.txt", "d/c/y.md"]
    assert names(read_paths(["d"])) == wanted
    assert names(read_paths(["./d/"])) == wanted
    assert names(read_paths(["."])) == wanted


def test_one_bad_input_does_not_cost_the_others(folder):
    write("good.txt")
    Path("empty.txt").touch()
    collection = read_paths(["missing.txt", "empty.txt", "good.txt", "good.txt/below"])
    assert names(collection) == ["good.txt"]
    assert collection.skipped == (
        Skip("missing.txt", "no such file or directory"),
        Skip("empty.txt", "empty file"),
        Skip("good.txt/below", "no such file or directory (part of the path is a file)"),
    )


@pytest.mark.parametrize("path", ["", "nul\0byte", "x" * 5000, "\ud800"])
def test_impossible_paths_are_skips(folder, path):
    collection = read_paths([path])
    assert collection.documents == ()
    assert collection.skipped[0].path
    assert collection.skipped[0].reason
    str(collection).encode()


def test_nothing_at_all(folder):
    assert read_paths([]) == Collection((), ())
    Path("bare").mkdir()
    assert read_paths(["bare"]) == Collection((), (Skip("bare", "no files in this folder"),))


def test_hidden_entries_are_left_out_and_named_together(folder):
    for name in ("d/seen.txt", "d/.key", "d/.git/config", "d/sub/.env", "d/sub/also.txt"):
        write(name)
    collection = read_paths(["d"])
    assert names(collection) == ["d/seen.txt", "d/sub/also.txt"]
    assert collection.skipped == (Skip("d", "3 hidden entries left out: .git/, .key, sub/.env", by_rule=True),)


def test_many_hidden_entries_are_counted(folder):
    for number in range(9):
        write(f"d/.{number}")
    assert read_paths(["d"]).skipped[0].reason == "9 hidden entries left out: .0, .1, .2, .3, .4 and 4 more"


def test_hidden_files_given_by_name_are_read(folder):
    write(".notes/.draft.txt")
    assert names(read_paths([".notes/.draft.txt"])) == [".notes/.draft.txt"]
    write(".notes/plain.txt")
    assert names(read_paths([".notes"])) == [".notes/plain.txt"]


def test_patterns(folder):
    for name in ("d/b1.txt", "d/b2.txt", "d/c.md", "d/e/b3.txt", "d/e/f/b4.txt", "d/.b5.txt"):
        write(name)
    assert names(read_paths(["d/*.txt"])) == ["d/b1.txt", "d/b2.txt"]
    assert names(read_paths(["d/b[2-9].txt"])) == ["d/b2.txt"]
    assert names(read_paths(["d/**/b?.txt"])) == ["d/b1.txt", "d/b2.txt", "d/e/b3.txt", "d/e/f/b4.txt"]
    assert names(read_paths(["**/f/*"])) == ["d/e/f/b4.txt"]
    assert names(read_paths(["**/*.md"])) == ["d/c.md"]
    assert names(read_paths([str(folder / "*" / "c.*")])) == [str(folder / "d" / "c.md")]


def test_a_pattern_without_a_match_is_named(folder):
    write("d/a.txt")
    for pattern in ("*.pdf", "d/**/*.pdf"):
        skip = read_paths([pattern]).skipped[0]
        assert skip.path == pattern
        assert "no file matches" in skip.reason


def test_a_file_whose_name_looks_like_a_pattern_is_read(folder):
    write("report[1].txt")
    write("report1.txt")
    assert names(read_paths(["report[1].txt"])) == ["report[1].txt"]


def test_standard_input(folder):
    collection = read_paths(["-"], stdin=io.BytesIO("# Größe\r\n".encode()))
    assert (names(collection), collection.documents[0].text) == (["stdin"], "# Größe\n")
    again = read_paths(["-", "-"], stdin=io.BytesIO(b"once"))
    assert again.skipped == (Skip("stdin", "named twice", by_rule=True),)
    assert read_paths(["-"]).skipped == (Skip("stdin", "there is no standard input"),)
    assert read_paths(["-"], stdin=io.BytesIO()).skipped == (Skip("stdin", "empty"),)


def test_a_file_called_dash_is_not_standard_input(folder):
    write("-")
    stdin = io.BytesIO(b"typed")
    assert [d.text for d in read_paths(["./-", "*"], stdin=stdin).documents] == ["This is -."]
    assert stdin.tell() == 0


def test_standard_input_that_fails_is_a_skip(folder):
    class Broken(io.RawIOBase):
        def read(self, size=-1):
            raise OSError(5, "Input/output error")

    collection = read_paths(["-"], stdin=Broken())
    assert collection.skipped == (Skip("stdin", "input/output error"),)


def test_the_same_content_is_read_once(folder):
    write("a.txt", "Equal words.")
    write("d/b.txt", "Equal words.")
    write("d/c.txt", "Other words.")
    collection = read_paths(["a.txt", "d", "d/c.txt", "-"], stdin=io.BytesIO(b"Other words."))
    assert names(collection) == ["a.txt", "d/c.txt"]
    assert collection.skipped == (
        Skip("d/b.txt", "same content as a.txt", by_rule=True),
        Skip("d/c.txt", "named twice", by_rule=True),
        Skip("stdin", "same content as d/c.txt", by_rule=True),
    )


def test_files_above_the_limit_are_not_read(folder):
    write("big.txt", "x" * 11)
    write("fits.txt", "x" * 10)
    collection = read_paths(["big.txt", "fits.txt", "-"], stdin=io.BytesIO(b"y" * 11), limits=Limits(file_bytes=10))
    assert names(collection) == ["fits.txt"]
    assert [skip.reason for skip in collection.skipped] == ["larger than the limit of 10 bytes"] * 2


def test_progress_counts_every_input_and_ends(folder):
    write("d/a.txt")
    write("d/b.txt", "same")
    write("d/c.txt", "same")
    told = []
    read_paths(["d", "missing"], on_progress=told.append)
    assert told == [Reading(0, 3, "d/a.txt"), Reading(1, 3, "d/b.txt"), Reading(2, 3, "d/c.txt"), Reading(3, 3)]


def test_a_reader_that_fails_unforeseen_costs_its_file_only(folder, monkeypatch):
    write("a.txt")
    write("b.md")

    def fail(source, media_type):
        raise RecursionError("too\ndeep")

    monkeypatch.setattr("spsl_cli.documents.text.read_as", fail)
    collection = read_paths(["a.txt", "b.md"])
    assert [skip.reason for skip in collection.skipped] == ["could not be read: RecursionError: too deep"] * 2


def test_an_interrupt_is_not_swallowed(folder):
    write("a.txt")

    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_paths(["a.txt"], on_progress=interrupt)


def test_notices_gather_equal_page_warnings():
    pages = tuple(
        Page(n, "", None, ("blank",) if n in {2, 4, 5, 6} else ("torn",) if n == 3 else ()) for n in range(1, 7)
    )
    document = Document("a.pdf", "0" * 64, "application/pdf", pages, None, ("old",))
    assert document.notices == ("old", "pages 2, 4-6: blank", "page 3: torn")


def test_importing_documents_loads_neither_models_nor_pypdf():
    code = "import sys, spsl_cli.documents; print(sorted({'torch', 'transformers', 'pypdf'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "[]\n"
