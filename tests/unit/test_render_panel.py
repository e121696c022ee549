"""The live panel on a real pseudo-terminal, read back through a small terminal emulator."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from spsl_cli.events import (
    Finished,
    Notice,
    Piece,
    Progress,
    RoundEvent,
    SpeculationStats,
    Started,
    TextEvent,
    TokenKind,
)
from spsl_cli.render.line import Line, width
from spsl_cli.render.painter import Painter
from spsl_cli.render.panel import LivePanel
from spsl_cli.render.streams import Stream, Streams

fcntl = pytest.importorskip("fcntl")
pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")

STATS = SpeculationStats(
    enabled=True, controller="calibrated", budget=0.1, new_tokens=101, rounds=25, drafted=100, accepted=75, bonus=25,
    k_histogram={4: 25}, decode_s=5.0, plain_step_s=0.1,
)  # fmt: skip
STARTED = Started("ask", "model", "cpu", "float32", ("a.pdf",), 1000, 200, "calibrated", 0.1, "Why?")
ROUND = RoundEvent((Piece(" yes", TokenKind.ACCEPTED), Piece(" no", TokenKind.REJECTED)), 2, STATS, 1.0)


class Screen:
    """What a terminal would show after the given output; refuses every sequence that the panel has no need of."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.lines = [""]
        self.row = self.column = 0
        self.cursor = True

    def feed(self, output: str) -> None:
        for piece in re.findall(r"\x1b\[[?\d;]*[a-zA-Z]|[\r\n]|[^\x00-\x1f\x7f-\x9f]+|.", output, re.DOTALL):
            self._take(piece)

    def _take(self, piece: str) -> None:
        if piece == "\r":
            self.column = 0
        elif piece == "\n":
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append("")
        elif piece in ("\x1b[?25h", "\x1b[?25l"):
            self.cursor = piece.endswith("h")
        elif piece == "\x1b[K":
            self.lines[self.row] = self.lines[self.row][: self.column]
        elif piece == "\x1b[J":
            self.lines[self.row :] = [self.lines[self.row][: self.column]]
        elif up := re.fullmatch(r"\x1b\[(\d+)A", piece):
            self.row = max(0, len(self.lines) - self.rows, self.row - int(up[1]))
        elif piece in ("\x1b[?2026h", "\x1b[?2026l") or re.fullmatch(r"\x1b\[[\d;]*m", piece):
            pass
        else:
            assert piece.isprintable() or "\u200d" in piece, ascii(piece)
            self._write(piece)

    def _write(self, text: str) -> None:
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + text + line[self.column + len(text) :]
        self.column += len(text)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines).rstrip()


class Terminal:
    """A pseudo-terminal whose output is collected."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self._master, slave = pty.openpty()
        self.file = os.fdopen(slave, "w", encoding="utf-8", newline="")
        self.stream = Stream(self.file, required=False, is_terminal=True, styled=True, colour=True)
        self._output = bytearray()
        self._reader = threading.Thread(target=self._read)
        self.resize(columns, rows)
        self._reader.start()

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(
            self.file,
            termios.TIOCSWINSZ,
            rows.to_bytes(2, sys.byteorder) + columns.to_bytes(2, sys.byteorder) + bytes(4),
        )

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._master, 65536)
            except OSError:  # the other end is closed
                return
            if not chunk:
                return
            self._output += chunk

    def close(self) -> str:
        self.file.close()
        self._reader.join()
        os.close(self._master)
        return self._output.decode("utf-8")


@contextmanager
def panel_on(terminal: Terminal) -> Iterator[LivePanel]:
    with LivePanel(Streams(Stream(None, required=True), terminal.stream)) as panel:
        yield panel


def shown(output: str, columns: int = 80, rows: int = 24) -> Screen:
    screen = Screen(columns, rows)
    screen.feed(output)
    return screen


def test_the_panel_goes_and_a_summary_stays() -> None:
    terminal = Terminal()
    with panel_on(terminal) as report:
        for event in (Notice("careful"), STARTED, TextEvent("the answer"), ROUND, Finished("stop", STATS)):
            report(event)
    screen = shown(terminal.close())
    assert screen.text.splitlines() == [
        "spsl: warning: careful",
        "\u2713 101 tokens in 5.0 s (20.0/s) \u00b7 accepted 75 of 100 \u00b7 2.00x AR estimated",
    ]
    assert screen.cursor


def frames(terminal: Terminal) -> LivePanel:
    """A panel that is drawn only when asked."""
    return LivePanel(Streams(Stream(None, required=True), terminal.stream))


def test_frames_replace_one_another() -> None:
    terminal = Terminal()
    panel = frames(terminal)
    for event in (Progress("prefill", 1, 10, "tokens"), STARTED, TextEvent("one "), ROUND, TextEvent("two"), ROUND):
        panel(event)
        panel.refresh()
    text = shown(terminal.close()).text
    assert text.count("spsl ask") == 1
    assert text.count("\u2500\u2500 rounds") == 1
    assert "one two" in text
    assert text.count("\u2713yes \u2717no") == 2
    assert "prefill" in text


def test_shorter_lines_and_fewer_of_them_leave_nothing_behind() -> None:
    terminal = Terminal()
    painter = Painter(terminal.stream)
    for texts in (["a long line", "another", "third"], ["short", "other", "3"], ["one"]):
        painter.paint([Line().add(text) for text in texts], 80)
    assert shown(terminal.close()).text == "one"
    terminal = Terminal()
    painter = Painter(terminal.stream)
    for texts in (["a long line", "another"], ["short", ""]):
        painter.paint([Line().add(text) for text in texts], 80)
    assert shown(terminal.close()).text == "short"


def test_notices_go_above_the_panel_once_and_may_be_long() -> None:
    terminal = Terminal()
    panel = frames(terminal)
    for event in (STARTED, ROUND, Notice("n" * 100), ROUND, Notice("short", warning=False), ROUND):
        panel(event)
        panel.refresh()
    lines = shown(terminal.close()).text.splitlines()
    assert lines[:3] == [f"spsl: warning: {'n' * 100}", "spsl: short", "spsl ask \u00b7 model \u00b7 cpu float32"]


def test_nothing_is_drawn_when_nothing_changes() -> None:
    terminal = Terminal()
    panel = frames(terminal)
    panel(STARTED)
    panel(ROUND)
    panel.refresh()
    for _ in range(5):
        panel.refresh()
    assert terminal.close().count("\x1b[?2026h") == 1


def test_narrowing_goes_up_over_the_rows_that_the_terminal_added() -> None:
    terminal = Terminal(80, 30)
    panel = frames(terminal)
    panel(STARTED)
    panel(ROUND)
    panel.refresh()
    drawn = panel._painter._drawn
    terminal.resize(40, 30)
    panel.refresh()
    last = terminal.close().split("\x1b[?2026h")[-1]
    rows = sum(max(1, -(-line.width // 40)) for line in drawn)
    assert rows > len(drawn)
    assert last.startswith(f"\r\x1b[{rows - 1}A\x1b[J")
    assert all(width(line) < 40 for line in shown(last, 40).text.splitlines())


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_any_way_out_brings_the_cursor_back_and_takes_the_panel_away(error: type[BaseException]) -> None:
    terminal = Terminal()

    def run() -> None:
        with panel_on(terminal) as report:
            report(STARTED)
            report(ROUND)
            raise error

    with pytest.raises(error):
        run()
    screen = shown(terminal.close())
    assert screen.cursor
    assert "rounds \u2500" not in screen.text
    assert screen.text.startswith("\u2717 101 tokens") == (error is KeyboardInterrupt)


def test_ctrl_c_in_a_real_process() -> None:
    program = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a suite run in the background hands on 'ignore'
        "from spsl_cli.events import Progress\n"
        "from spsl_cli.render import Streams, make_reporter, write_error\n"
        "streams = Streams.detect(environ={'TERM': 'xterm'})\n"
        "try:\n"
        "    with make_reporter(streams) as report:\n"
        "        report(Progress('prefill', 1, 10, 'tokens'))\n"
        "        print('ready', flush=True)\n"
        "        while True: time.sleep(0.05)\n"
        "except KeyboardInterrupt:\n"
        "    write_error(streams, 'interrupted')\n"
        "    sys.exit(130)\n"
    )
    terminal = Terminal()
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=terminal.file, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    screen = shown(terminal.close())
    assert screen.cursor
    assert screen.text == "spsl: error: interrupted"


def test_a_fault_in_drawing_is_told_and_costs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = threading.Event()

    def fail(*_: object) -> None:
        failed.set()
        raise ZeroDivisionError("no cells")

    monkeypatch.setattr("spsl_cli.render.panel.panel_lines", fail)
    terminal = Terminal()
    with panel_on(terminal) as report:
        report(STARTED)
        failed.wait()
        report(ROUND)
    screen = shown(terminal.close())
    assert screen.text == "spsl: warning: the live panel stopped: ZeroDivisionError: no cells"
    assert screen.cursor


def test_what_libraries_write_to_standard_error_goes_above_the_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    before = sys.stderr
    terminal = Terminal()
    with panel_on(terminal):
        sys.stderr.write("library \x1b[2Jsays\x1b]0;x\x07 hello\n")
        sys.stderr.write("\r 10 %|#   |\r100 %|####|\n")
        sys.stderr.write("rest")
    assert sys.stderr is before
    assert shown(terminal.close()).text.splitlines() == ["spsl: library says hello", "spsl: 100 %|####|", "spsl: rest"]


def test_several_answers_leave_a_summary_each() -> None:
    terminal = Terminal()
    with panel_on(terminal) as report:
        for question in ("First?", "Second?"):
            for event in (replace(STARTED, question=question), ROUND, Finished("stop", STATS)):
                report(event)
    lines = shown(terminal.close()).text.splitlines()
    assert [line for line in lines if line.endswith("?")] == ["First?", "Second?"]
    assert sum("101 tokens" in line for line in lines) == 2


def test_no_colour_leaves_styles_only() -> None:
    terminal = Terminal()
    stream = replace(terminal.stream, colour=False)
    with LivePanel(Streams(Stream(None, required=True), stream)) as report:
        report(Notice("careful"))
        report(Finished("stop", STATS))
    styles = set(re.findall(r"\x1b\[([\d;]*)m", terminal.close()))
    assert "2" in styles
    assert styles <= {"0", "1", "2", ""}
