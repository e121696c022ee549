"""What of a folder is read: `.gitignore` files, patterns to include and exclude, and how what is left out is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spsl_cli.documents import Collection, Selection, Skip, read_paths


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Writes files below the current folder, each with a text of its own."""
    monkeypatch.chdir(tmp_path)

    def write(*names: str) -> None:
        for name in names:
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"This is {name}.", encoding="utf-8")

    return write


def ignore(folder: str, text: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    Path(folder, ".gitignore").write_text(text, encoding="utf-8")


def names(collection: Collection) -> list[str]:
    return [document.path for document in collection.documents]


def left_out(collection: Collection) -> list[str]:
    """What is told of entries left out by rule, hidden ones not counted."""
    assert all(skip.by_rule for skip in collection.skipped), collection.skipped
    return [skip.reason for skip in collection.skipped if "hidden" not in skip.reason]


def test_gitignore_files_at_every_depth(tree):
    tree("t/a.txt", "t/a.log", "t/build/x.txt", "t/sub/b.log", "t/sub/keep.log", "t/sub/draft.txt", "t/sub/d/draft.txt")
    tree("t/draft.txt", "t/secret.txt", "t/sub/secret.txt")
    ignore("t", "*.log\nbuild/\n/secret.txt\n")
    ignore("t/sub", "!keep.log\n/draft.txt\n")
    collection = read_paths(["t"])
    assert names(collection) == [
        *("t/a.txt", "t/draft.txt", "t/sub/d/draft.txt", "t/sub/keep.log", "t/sub/secret.txt"),
    ]
    assert left_out(collection) == [
        "5 entries left out by .gitignore (--no-ignore reads them): a.log, build/, secret.txt, sub/b.log, sub/draft.txt"
    ]


def test_a_file_below_a_folder_left_out_cannot_be_taken_back(tree):
    tree("t/build/x.txt", "t/out/x.txt", "t/out/y.txt")
    ignore("t", "build/\n!build/x.txt\nout/*\n!out/x.txt\n")
    assert names(read_paths(["t"])) == ["t/out/x.txt"]


def test_a_large_folder_left_out_is_one_entry(tree):
    tree(*(f"t/node_modules/{number}/index.js" for number in range(200)), "t/a.js")
    ignore("t", "node_modules\n")
    collection = read_paths(["t"])
    assert names(collection) == ["t/a.js"]
    assert left_out(collection) == ["1 entry left out by .gitignore (--no-ignore reads it): node_modules/"]


def test_the_repository_above_has_its_say(tree):
    tree("r/docs/in/a.txt", "r/docs/in/a.log", "r/docs/in/b.tmp", "r/docs/in/c.bak", "r/docs/in/d.old")
    Path("r/.git/info").mkdir(parents=True)
    Path("r/.git/info/exclude").write_text("*.bak\n*.old\n")
    ignore("r", "*.log\n/docs/in/b.tmp\n!*.old\n")
    ignore(".", "*.txt\n")  # above the repository: none of its business
    assert names(read_paths(["r/docs/in"])) == ["r/docs/in/a.txt", "r/docs/in/d.old"]
    assert names(read_paths(["r/docs"])) == ["r/docs/in/a.txt", "r/docs/in/d.old"]
    os.chdir("r/docs/in")
    assert names(read_paths(["."])) == ["a.txt", "d.old"]


def test_without_a_repository_only_what_lies_in_the_folder_counts(tree):
    tree("t/sub/a.log", "t/sub/b.log")
    ignore("t", "a.log\n")
    assert names(read_paths(["t"])) == ["t/sub/b.log"]
    assert names(read_paths(["t/sub"])) == ["t/sub/a.log", "t/sub/b.log"]


def test_a_repository_within_has_rules_of_its_own(tree):
    tree("r/a.log", "r/inner/a.log", "r/inner/b.tmp", "r/worktree/a.log")
    Path("r/.git").mkdir()
    Path("r/inner/.git").mkdir()
    Path("r/worktree/.git").write_text("gitdir: elsewhere\n")
    ignore("r", "*.log\n")
    ignore("r/inner", "*.tmp\n")
    assert names(read_paths(["r"])) == ["r/inner/a.log", "r/worktree/a.log"]
    assert names(read_paths(["r/inner"])) == ["r/inner/a.log"]


def test_a_linked_worktree_obeys_what_its_repository_excludes(tree):
    tree("wt/a.txt", "wt/a.tmp", "wt/sub/b.tmp", "module/a.txt", "module/a.old")
    git = Path("r/.git/worktrees/wt")
    git.mkdir(parents=True)
    (git / "commondir").write_text("../..\n")
    for exclude, pattern in ((Path("r/.git/info"), "*.tmp\n"), (Path("r/.git/modules/module/info"), "*.old\n")):
        exclude.mkdir(parents=True)
        (exclude / "exclude").write_text(pattern)
    Path("wt/.git").write_text(f"gitdir: {git.resolve()}\n")
    Path("module/.git").write_text("gitdir: ../r/.git/modules/module\n")
    assert names(read_paths(["wt", "module"])) == ["wt/a.txt", "module/a.txt"]
    assert names(read_paths(["wt/sub"])) == []


@pytest.mark.parametrize(
    "content", ["", "gitdir:", "gitdir: \0", "gitdir: //host/share", "x" * 100_000, "gitdir: a.txt"]
)
def test_a_git_file_that_leads_nowhere(tree, content):
    tree("t/a.txt")
    Path("t/.git").write_text(content)
    assert names(read_paths(["t"])) == ["t/a.txt"]


def test_what_is_given_by_name_is_read(tree):
    tree("r/build/a.txt", "r/build/a.log", "r/b.log")
    Path("r/.git").mkdir()
    ignore("r", "build/\n*.log\n")
    assert names(read_paths(["r/b.log"], selection=Selection(exclude=("*",)))) == ["r/b.log"]
    assert names(read_paths(["r/build"])) == ["r/build/a.log", "r/build/a.txt"], "nor do the rules above count in it"
    assert names(read_paths(["r/*.log"])) == ["r/b.log"]
    assert names(read_paths(["r/**/*.log"])) == [], "`**` walks, so the rules hold"


def test_everything_left_out_says_so(tree):
    tree("t/a.txt")
    ignore("t", "*\n")
    collection = read_paths(["t"])
    assert names(collection) == []
    assert left_out(collection) == ["1 entry left out by .gitignore (--no-ignore reads it): a.txt"]


def test_no_ignore_reads_all_but_hidden_files(tree):
    tree("t/a.log", "t/build/b.txt", "t/.env")
    ignore("t", "*.log\nbuild/\n!.env\n")
    Path("t/.git/info").mkdir(parents=True)
    Path("t/.git/info/exclude").write_text("*\n")
    assert names(read_paths(["t"], selection=Selection(ignore_files=False))) == ["t/a.log", "t/build/b.txt"]


def test_patterns_to_include(tree):
    tree("t/a.md", "t/b.txt", "t/docs/c.txt", "t/docs/old/d.txt", "t/sub/e.md", "t/sub/f.rst")
    collection = read_paths(["t"], selection=Selection(include=("*.md", "docs/", "!old/")))
    assert names(collection) == ["t/a.md", "t/docs/c.txt", "t/sub/e.md"]
    assert left_out(collection) == [
        "3 files left out, which no pattern to include names: b.txt, docs/old/d.txt, sub/f.rst"
    ]
    nothing = read_paths(["t"], selection=Selection(include=("*.pdf",)))
    assert names(nothing) == []
    assert left_out(nothing)[0].startswith("6 files left out")


def test_patterns_to_exclude_outweigh_gitignore(tree):
    tree("t/a.txt", "t/b.txt", "t/c.log", "t/d.log", "t/sub/a.txt")
    ignore("t", "*.log\n")
    collection = read_paths(["t"], selection=Selection(exclude=("/a.txt", "!c.log")))
    assert names(collection) == ["t/b.txt", "t/c.log", "t/sub/a.txt"]
    assert left_out(collection) == [
        "1 entry left out by a pattern to exclude: a.txt",
        "1 entry left out by .gitignore (--no-ignore reads it): d.log",
    ]


def test_include_brings_back_nothing(tree):
    tree("t/a.log", "t/b.txt")
    ignore("t", "*.log\n")
    wanted = Selection(include=("*.log", "*.txt"), exclude=("b.*",))
    assert names(read_paths(["t"], selection=wanted)) == []


def test_patterns_hold_in_each_folder_given(tree):
    tree("t/a.txt", "t/x/a.txt", "u/a.txt", "u/b.txt")
    assert names(read_paths(["t", "u"], selection=Selection(exclude=("/a.txt",)))) == ["t/x/a.txt", "u/b.txt"]


@pytest.mark.parametrize("option", ["include", "exclude"])
def test_a_pattern_without_a_meaning_is_refused_at_once(option):
    with pytest.raises(ValueError, match=rf"the pattern '\[ab' to {option} has a bracket that is not closed"):
        Selection(**{option: ("*.txt", "[ab")})


def test_what_is_not_included_is_not_complained_of(tree):
    tree("t/a.txt")
    Path("t/gone").symlink_to("nowhere")
    assert left_out(read_paths(["t"], selection=Selection(include=("*.txt",)))) == [
        "1 file left out, which no pattern to include names: gone"
    ]


def test_a_link_brings_in_nothing_that_was_left_out(tree):
    tree("t/a.txt", "t/secret.key", "t/build/out.txt", "t/drafts/d.txt")
    ignore("t", "*.key\nbuild/\n")
    for name, target in {"b": "secret.key", "c": "build/out.txt", "d": "drafts/d.txt", "e": "a.txt"}.items():
        Path(f"t/{name}.txt").symlink_to(target)
    collection = read_paths(["t"], selection=Selection(exclude=("drafts",)))
    assert names(collection) == ["t/a.txt"]
    told = {skip.path: skip.reason for skip in collection.skipped if skip.path != "t"}
    left = "a link to a file that is left out"
    assert told == {"t/b.txt": left, "t/c.txt": left, "t/d.txt": left, "t/e.txt": "same content as t/a.txt"}


def test_suffixes_in_capitals_tell_the_kind(tree):
    tree("t/A.MD", "t/B.Txt")
    assert [document.media_type for document in read_paths(["t"]).documents] == ["text/markdown", "text/plain"]


def test_a_pattern_with_any_depth_names_what_it_could_not_read(tree, monkeypatch):
    tree("t/a.txt", "t/locked/b.txt", "t/c.md")
    Path("t/d.txt").symlink_to("nowhere")
    Path("t/e.md").symlink_to("nowhere")
    real = os.scandir

    def refuse(path):
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    collection = read_paths(["t/**/*.txt"])
    assert names(collection) == ["t/a.txt"]
    assert collection.skipped == (
        Skip("t/d.txt", "a broken link"),
        Skip("t/locked", "cannot be listed: permission denied"),
    )


def test_hard_links_and_two_ways_to_a_file_are_read_once(tree):
    tree("t/a.txt", "t/sub/b.txt")
    os.link("t/a.txt", "t/z.txt")
    collection = read_paths(["t", "t/../t/a.txt", "./t/a.txt"])
    assert names(collection) == ["t/a.txt", "t/sub/b.txt"]
    assert [(skip.path, skip.reason) for skip in collection.skipped] == [
        ("t/z.txt", "same content as t/a.txt"),
        ("t/../t/a.txt", "same content as t/a.txt"),
        ("t/a.txt", "named twice"),
    ]
