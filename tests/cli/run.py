"""Runs the command line: within the test's own process (fast), or in one of its own, as a user's shell does."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from unittest import mock

from spsl_cli.cli.app import main

COMMAND = [sys.executable, "-m", "spsl_cli"]


@dataclass
class Result:
    """A finished run; stdout and stderr in bytes."""

    returncode: int
    stdout: bytes
    stderr: bytes


def spsl(*arguments, stdin=b"") -> Result:
    """One run in this process, on streams that are no terminal."""
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for name in ("stdout", "stderr")}
    source = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with mock.patch.multiple(sys, stdin=source, **streams):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as leave:
            code = int(leave.code or 0)
    contents = {name: stream.buffer.getvalue() for name, stream in streams.items() if not stream.flush()}
    return Result(int(code), **contents)


def spsl_process(*arguments, stdin=b"", **environment) -> Result:
    """One run in a process of its own."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run([*COMMAND, *map(str, arguments)], input=stdin, capture_output=True, env=env, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def check_failed(result, code, *words):
    """The exit code, an empty stdout, and on stderr a last line that says what is wrong; no traceback, no escapes."""
    error = result.stderr.decode()
    assert result.returncode == code, error
    assert result.stdout == b""
    assert "Traceback" not in error
    assert "\x1b" not in error
    last = error.splitlines()[-1]
    assert last.startswith("spsl: error: ")
    for word in words:
        assert word in last
