"""`--include`, `--exclude` and `--no-ignore`, from outside, on every command that takes folders."""

from __future__ import annotations

import json

import pytest

from tests.cli.run import check_failed, spsl


@pytest.fixture
def project(tmp_path):
    """A folder with notes, code, a log that its .gitignore leaves out, and a hidden file."""
    folder = tmp_path / "project"
    for name in ("notes.md", "code.py", "old/notes.md", "run.log", ".env"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"This is {name}.\n", encoding="utf-8")
    (folder / ".gitignore").write_text("*.log\n", encoding="utf-8")
    return folder


def names(result, folder) -> list[str]:
    documents = json.loads(result.stdout)["documents"]
    return [document["path"].removeprefix(f"{folder}/") for document in documents]


def test_read_leaves_out_by_rule_and_says_so(project):
    result = spsl("read", project, "--json")
    assert result.returncode == 0
    assert names(result, project) == ["code.py", "notes.md", "old/notes.md"]
    skipped = {skip["reason"] for skip in json.loads(result.stdout)["skipped"]}
    assert skipped == {
        "2 hidden entries left out: .env, .gitignore",
        "1 entry left out by .gitignore (--no-ignore reads it): run.log",
    }
    error = result.stderr.decode()
    assert f"skipped {project}: 1 entry left out by .gitignore" in error
    assert "warning" not in error


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--no-ignore",), ["code.py", "notes.md", "old/notes.md", "run.log"]),
        (("--include", "*.md"), ["notes.md", "old/notes.md"]),
        (("--include", "*.md", "--include", "*.py", "--exclude", "old/"), ["code.py", "notes.md"]),
        (("--exclude", "/notes.md", "--exclude", "*.py"), ["old/notes.md"]),
        (("--exclude", "!run.log"), ["code.py", "notes.md", "old/notes.md", "run.log"]),
        (("--include", "*.log"), []),
    ],
)
def test_read_of_what_is_wanted(project, options, expected):
    result = spsl("read", project, "--json", *options)
    assert names(result, project) == expected
    assert result.returncode == (0 if expected else 3)


def test_nothing_left_is_explained(project):
    result = spsl("read", project, "--include", "*.pdf")
    check_failed(result, 3, "no readable input")
    assert (
        "3 files left out, which no pattern to include names: code.py, notes.md, old/notes.md" in result.stderr.decode()
    )
    check_failed(spsl("ask", project, "Why?", "--include", "*.pdf"), 3, "no pattern to include names")


@pytest.mark.parametrize("command", [("read",), ("ask", "-q", "Why?"), ("summarize",), ("bench",)])
@pytest.mark.parametrize("option", ["--include", "--exclude"])
def test_a_pattern_without_a_meaning_is_wrong_usage(project, command, option):
    result = spsl(*command, project, option, "*.md", option, "a[b")
    check_failed(result, 2, "'a[b'", option.removeprefix("--"), "bracket")


def test_ask_summarize_and_bench_take_the_same_options(model, project):
    options = ("--include", "*.md", "--exclude", "old/", "--model", model, "--max-new-tokens", 2, "--json")
    for command in (("ask", "-q", "Why?"), ("summarize",), ("bench", "--repeats", 1)):
        result = spsl(*command, project, *options)
        assert result.returncode == 0, result.stderr.decode()
        skipped = [skip["reason"] for skip in json.loads(result.stdout)["skipped"]]
        assert "1 entry left out by a pattern to exclude: old/" in skipped
        assert "1 file left out, which no pattern to include names: code.py" in skipped


def test_a_gitignore_that_cannot_be_obeyed_is_a_skip_that_counts(project):
    (project / ".gitignore").write_bytes(b"#" * (2 << 20))
    result = spsl("read", project, "--json")
    assert result.returncode == 7
    assert "cannot be obeyed" in result.stderr.decode()
