"""Patterns as in a `.gitignore`: what each form means, what git says of them, and what a hostile one may cost."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest

from spsl_cli.documents.ignore import PatternError, Patterns


def named(pattern: str, *paths: str) -> list[str]:
    patterns = Patterns.of_file(pattern.encode("utf-8", "surrogateescape"))
    return [path for path in paths if patterns.verdict(path)]


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("a.txt", ["a.txt", "d/a.txt", "a.txt/"], ["ba.txt", "a.txt.b", "A.txt"]),
        ("/a.txt", ["a.txt"], ["d/a.txt"]),
        ("d/a.txt", ["d/a.txt"], ["e/d/a.txt"]),
        ("build/", ["build/", "d/build/"], ["build", "rebuild/"]),
        ("*.log", ["x.log", "d/.log"], ["x.log.txt"]),
        ("d/*", ["d/a", "d/b/"], ["d/", "d/b/c", "e/d/a"]),
        ("d/**", ["d/a", "d/b/c"], ["d/", "e/d/a"]),
        ("**/d/a", ["d/a", "e/f/d/a"], ["xd/a"]),
        ("d/**/a", ["d/a", "d/e/a", "d/e/f/a"], ["d/xa", "da"]),
        ("**/d/**/a*b*/", ["d/ab/", "x/d/y/z/a-b-/"], ["d/ab", "ab/"]),
        ("a**b", ["ab", "axxb"], ["a/b"]),
        ("a**/b", ["ab", "a/b", "ax/y/b", "a/c/d/b"], ["xa/b", "a/xb/c"]),
        ("a**/c/**/b", ["a/c/b", "ac/b", "ax/c/d/b"], ["a/b", "axc/b", "xa/c/b"]),
        ("a**//", ["a/"], ["a", "ax/", "b/a/"]),
        ("/a***//", ["a/"], ["ax/"]),
        ("a?**/b", ["ax/b", "axy/b"], ["a/b", "ax/y/b"]),
        ("a?c", ["abc", "aéc"], ["a/c", "ac"]),
        ("[a-c]x[!0-9]", ["axb", "cx-"], ["dxb", "ax1", "ax/"]),
        ("[]a]x", ["]x", "ax"], ["x"]),
        (r"[\]a]x", ["]x", "ax"], [r"\x"]),
        ("[[:digit:]_]x", ["1x", "_x"], ["ax", ":x"]),
        ("[z-a]x", ["zx"], ["bx", "-x"]),
        (r"\#a", ["#a"], ["a"]),
        (r"\!a", ["!a"], ["a"]),
        (r"a\*b", ["a*b"], ["axb"]),
        ("a b", ["a b"], ["a"]),
        ("a   ", ["a"], ["a   "]),
        (r"a\ ", ["a "], ["a"]),
        (r"a\   ", ["a "], ["a", "a   "]),
        (" a", [" a"], ["a"]),
        ("a.txt", ["new\nline/a.txt"], ["a.txt\n"]),
    ],
)
def test_forms_of_patterns(pattern, inside, outside):
    assert named(pattern, *inside, *outside) == inside


def test_the_last_pattern_that_matches_decides():
    patterns = Patterns.of_file(b"*.txt\n!keep*\nkeep-not*\n!/keep-not-but-here.txt\n")
    said = {name: patterns.verdict(name) for name in ("a.txt", "keep.txt", "keep-not.txt", "keep-not-but-here.txt")}
    assert said == {"a.txt": True, "keep.txt": False, "keep-not.txt": True, "keep-not-but-here.txt": False}
    assert patterns.verdict("a.md") is None


def test_a_file_with_a_mark_and_windows_line_ends():
    assert named("\ufeffa\r\n*.b  \r\n\r\n# c\r\n", "a", "x.b", "# c", "c") == ["a", "x.b"]


def test_names_that_are_not_utf8_are_compared_byte_by_byte():
    patterns = Patterns.of_file(b"caf\xe9*\n")
    assert patterns.verdict(os.fsdecode(b"caf\xe9.txt"))
    assert patterns.verdict("café.txt") is None


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "blank"),
        ("  ", "blank"),
        ("# a", "comment"),
        ("!", "names nothing"),
        ("/", "names nothing"),
        ("a\\", "backslash"),
        ("[ab", "not closed"),
        ("[a\\]", "not closed"),
        ("[[:letter:]]", r"\[:letter:\]"),
        ("./a", "'.'"),
        ("../a", "'..'"),
        ("a//b", "empty part"),
        ("a" * 5000, "longer than 4,096"),
    ],
)
def test_patterns_without_a_meaning(pattern, reason):
    with pytest.raises(PatternError, match=reason):
        Patterns([pattern])
    after = Patterns.of_file(f"{pattern}\nb\n".encode())
    assert after.verdict("b"), "in a file, such a line costs no other"


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 40 + "*b", "a" * 255),
        ("**/a/" * 40 + "b", "a/" * 2000 + "c"),
        ("*?" * 60 + "x", "y" * 255),
        ("*[!b]" * 40 + "*c", "a" * 255),
        ("**/*a*/" * 20 + "x", ("a" * 200 + "/") * 20),
        ("a**/" + "a/**/" * 40 + "b", "a/" * 2000 + "c"),
    ],
)
def test_no_pattern_takes_for_ever(pattern, path):
    assert Patterns([pattern]).verdict(path) is None  # by trying every division of the path, not in this century


def test_many_patterns():
    exact = Patterns.of_file("".join(f"d/{number}.txt\n" for number in range(50_000)).encode())
    assert exact.verdict("d/49999.txt")
    assert exact.verdict("d/50000.txt") is None
    assert Patterns.of_file(b"*.a\n" * 2000).verdict("x.a")
    for line in (b"*.a\n", b"a\n!b\n"):
        with pytest.raises(PatternError, match="more than 2,000"):
            Patterns.of_file(line * 2001)


# Left out is `\/`, which git reads otherwise than its manual says.
PIECES = (
    *(
        "a",
        "b",
        "ab",
        "a**/",
        "*",
        "?",
        "/",
        "/",
        "[ab]",
        "[!a]",
        "[a-c]",
        "[]a]",
        r"[a\]]",
        "[[:alpha:]]",
        "[z-a]",
        "[a-]",
    ),
    *(r"[\a-c]", "[[a]", "\\*", "\\!", "!", "#", " ", "\\ ", ".", "-", "[", "[a/b]", "[[:no:]]", "[a-c-e]"),
)
NAMES = ("a", "b", "ab", "abc", "a.b", "a]", "a-", "-", "!a", "#a", "a ", "\\a", "[a]", "*a", "z", "A", "1")


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
def test_git_says_the_same(tmp_path):
    rng = random.Random(20)
    paths = sorted({*NAMES, *(f"{rng.choice(NAMES)}.d/{rng.choice(NAMES)}" for _ in range(30))})
    paths += [f"deep/{path}" for path in paths] + ["deep/deeper/a", "deep/deeper/ab"]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True, env=environment)
    for _ in range(40):
        lines = []
        for _ in range(rng.randint(1, 4)):
            start, end = rng.choice(["", "", "", "**/", "/", "!"]), rng.choice(["", "", "", "/**", "/", "/**/b"])
            lines.append(start + "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 4))) + end)
        lines = [line for line in lines if "\\/" not in line]
        content = rng.choice(["\n", "\r\n"]).join(lines).encode()
        (tmp_path / ".gitignore").write_bytes(content)
        asked = subprocess.run(
            [*git, "check-ignore", "--no-index", "-z", "--stdin"],
            input="\0".join(paths).encode() + b"\0",
            capture_output=True,
            check=False,
            env=environment,
        )
        patterns = Patterns.of_file(content)
        assert [path for path in paths if left_out(patterns, path)] == asked.stdout.decode().split("\0")[:-1], lines


def left_out(patterns: Patterns, path: str) -> bool:
    parts = path.split("/")
    above = ("/".join(parts[:end]) + "/" for end in range(1, len(parts)))
    return any(patterns.verdict(folder) for folder in above) or bool(patterns.verdict(path))
