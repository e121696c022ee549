"""What is allowed on which stream, and what happens when a stream fails."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from spsl_cli.errors import ExitCode, SpslError
from spsl_cli.render.streams import ReaderGoneError, Stream, Streams

fcntl = pytest.importorskip("fcntl")
pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")


def on_terminal(monkeypatch: pytest.MonkeyPatch, **environ: str) -> Streams:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    return Streams.detect(plain=environ.pop("plain", "") == "yes", environ=environ)


def test_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = on_terminal(monkeypatch, TERM="xterm-256color")
    assert streams.out.is_terminal
    assert streams.err.styled
    assert streams.err.colour


def test_no_color_leaves_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = on_terminal(monkeypatch, TERM="xterm", NO_COLOR="1")
    assert streams.err.styled
    assert not streams.err.colour
    assert on_terminal(monkeypatch, TERM="xterm", NO_COLOR="").err.colour


@pytest.mark.parametrize("environ", [{"TERM": "dumb"}, {"TERM": "xterm", "plain": "yes"}])
def test_dumb_and_plain_allow_no_escape_codes(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> None:
    streams = on_terminal(monkeypatch, **environ)
    assert streams.err.is_terminal
    assert not streams.err.styled
    assert not streams.err.colour


def test_files_and_closed_descriptors_are_no_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "stdin", None)
    streams = Streams.detect(environ={"TERM": "xterm"})
    assert not streams.out.is_terminal
    assert not streams.out.styled
    assert not streams.stdin_is_terminal
    assert streams.err.write("nowhere") == len("nowhere")


def test_closed_standard_output_is_an_error() -> None:
    with pytest.raises(SpslError, match="standard output is closed"):
        Stream(None, required=True).write("answer")


def test_characters_the_encoding_lacks_are_replaced() -> None:
    raw = io.BytesIO()
    stream = Stream(io.TextIOWrapper(raw, encoding="latin-1", newline=""), required=True)
    assert not stream.unicode
    stream.write("caf\u00e9 \u4e2d \udc80\n")
    assert raw.getvalue() == b"caf\xe9 ? ?\n"


def test_lone_surrogates_do_not_stop_utf8() -> None:
    raw = io.BytesIO()
    stream = Stream(io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape"), required=True)
    assert stream.unicode
    stream.write("a\udc9bb")
    assert raw.getvalue() == b"a?b"


def test_a_reader_that_has_gone_ends_the_run_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as file:
        stream = Stream(file, required=True)
        with pytest.raises(ReaderGoneError) as ended:
            stream.write("answer\n" * 100)
        assert ended.value.code == ExitCode.DONE
        stream.write("more")  # goes nowhere, and neither it nor closing the file complains


def test_standard_error_may_be_lost_silently() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as file:
        assert Stream(file, required=False).write("warning\n") == len("warning\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_told_in_one_line() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as file:
        with pytest.raises(SpslError, match="cannot write to standard output: No space left") as failed:
            Stream(file, required=True).write("answer\n")
        assert failed.value.exit_code == ExitCode.FAILED
        assert "\n" not in str(failed.value)


def test_head_ends_a_real_process_with_code_0_and_no_word() -> None:
    program = (
        "from spsl_cli.render import Streams, write_answer\n"
        "for _ in range(10000): write_answer(Streams.detect(), 'a line of an answer')\n"
        "raise SystemExit(9)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "a line of an answer\n"
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), complaint) == (0, "")


def test_size_is_that_of_the_terminal_now_and_else_a_default() -> None:
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, "w", encoding="utf-8") as file:
            stream = Stream(file, required=False, is_terminal=True)
            for rows, columns, size in ((30, 100, (100, 30)), (6, 20, (20, 6)), (0, 0, (80, 24))):
                fcntl.ioctl(file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                assert stream.size() == size
    finally:
        os.close(master)
    assert Stream(io.StringIO(), required=False).size() == (80, 24)
    assert Stream(None, required=False).size() == (80, 24)


def test_importing_render_leaves_the_slow_libraries_alone() -> None:
    program = (
        "import sys, spsl_cli.render as r; r.make_reporter(r.Streams.detect());"
        "print(sorted({'rich', 'torch', 'transformers', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
