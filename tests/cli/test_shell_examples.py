"""Every example of docs/scripts.md in bash: it prints what it says, and leaves with the exit code that it says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.run import COMMAND

PAGE = Path(__file__).parents[2] / "docs" / "scripts.md"
EXAMPLE = re.compile(r"^## (?P<title>.+)\n\n(?P<words>(?:.+\n)+)\n```sh\n(?P<block>(?:.*\n)*?)```$", re.MULTILINE)
EXIT_CODE = re.compile(r"\(exit code (\d+)\)")
BASH, JQ = shutil.which("bash"), shutil.which("jq")

# Starting a model takes seconds: of these the way of calling is what others show too.
SLOW = {
    "An answer in a variable",
    "An answer in a file",
    "Quotes that were found",
    "xargs: one run for each file",
    "From cron",
    "Settings of a whole script",
}

pytestmark = pytest.mark.skipif(BASH is None, reason="the examples are for bash")


@dataclass(frozen=True)
class Example:
    """A block, the words before it, and what its comments say of its output."""

    title: str
    words: str
    block: str

    @property
    def outcomes(self) -> list[str]:
        return [line.removeprefix("# -> ") for line in self.block.splitlines() if line.startswith("# -> ")]

    @property
    def exit_code(self) -> int:
        told = EXIT_CODE.fullmatch(self.outcomes[-1])
        return int(told[1]) if told else 0

    @property
    def printed(self) -> re.Pattern[str]:
        """What standard output is to match from end to end; `...` is any text."""
        lines = [line for line in self.outcomes if not EXIT_CODE.fullmatch(line)]
        pattern = "\n".join(".*".join(map(re.escape, line.split("..."))) for line in lines)
        return re.compile(rf"{pattern}\n?", re.DOTALL)


EXAMPLES = [Example(*match.groups()) for match in EXAMPLE.finditer(PAGE.read_text(encoding="utf-8"))]


@pytest.fixture
def place(tmp_path):
    """The files that the examples name; `spsl` is this one, wherever it is installed."""
    texts = {
        "notes.txt": "The ferry leaves at nine.\nA ticket costs four crowns.\nBuy rope.\n",
        "book.txt": "The captain was not seen again.\n" * 100,
        "letters/ann.txt": "Dear Bob, send me two coils of rope by the end of May. Ann\n",
        "letters/bob.txt": "Dear Ann, there is no rope left. Will a chain do? Bob\n",
        "bin/spsl": f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n',
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "letters" / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(range(256)))
    (tmp_path / "bin" / "spsl").chmod(0o755)
    return tmp_path


def test_every_block_of_the_page_is_an_example():
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("```") == 2 * len(EXAMPLES)
    titles = [example.title for example in EXAMPLES]
    assert len(set(titles)) == len(titles)
    assert set(titles) >= SLOW
    for example in EXAMPLES:
        assert example.words.rstrip().endswith("."), example.title
        assert example.outcomes, f"{example.title} says nothing of what it prints"
        assert "spsl " in example.block, example.title


def test_every_block_is_bash():
    for example in EXAMPLES:
        read = subprocess.run([str(BASH), "-n"], input=example.block, capture_output=True, text=True, check=False)
        assert (read.returncode, read.stderr) == (0, ""), example.title


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(example, id=example.title, marks=[pytest.mark.slow] if example.title in SLOW else [])
        for example in EXAMPLES
    ],
)
def test_an_example_does_what_it_says(example, place, model):
    if re.search(r"\bjq\b", example.block) and JQ is None:
        pytest.skip("jq is not installed")
    environment = {
        **os.environ,
        "HOME": str(place),
        "XDG_CONFIG_HOME": str(place / "config"),
        "PATH": os.pathsep.join([str(place / "bin"), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(PAGE.parents[1]), os.environ.get("PYTHONPATH")])),
        "OMP_NUM_THREADS": "1",
        "SPSL_MODEL": str(model),
        "SPSL_MAX_NEW_TOKENS": "8",
        "SPSL_CACHE_DIR": str(place / "cache"),
        "SPSL_NATIVE": "off",  # nothing is compiled anew for each example
    }
    done = subprocess.run(
        [str(BASH), "-c", example.block],
        cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    error = done.stderr.decode()
    assert done.returncode == example.exit_code, error
    assert example.printed.fullmatch(done.stdout.decode()), done.stdout.decode()
    for line in error.splitlines():
        assert line.startswith("spsl: "), error
