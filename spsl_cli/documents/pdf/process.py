"""One process that parses PDFs, as its parent sees it: started, asked, timed, killed. Knows no pages and no retries."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from spsl_cli.documents.pdf import protocol
from spsl_cli.documents.wording import one_line

MODULE = "spsl_cli.documents.pdf.child"
_HOME = Path(__file__).resolve().parents[3]
_SECONDS_TO_DIE = 10
_KEPT_STDERR = 4096
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "SYSTEMROOT", "APPDATA", "USERPROFILE")


class CrashedError(Exception):
    """The process ended, or answered nonsense; `str(error)` says how, in words that follow a document's name."""


class HungError(Exception):
    """No answer came in time; the process has been killed."""


class ParserProcess:
    """Each request is answered, or costs the process; after an error it is of no further use and must be closed.

    `kill` may be called from any thread, at any time; everything else from one thread only, which must outlive the
    process, for Linux ends a process together with the thread that started it.
    """

    def __init__(self, module: str = MODULE) -> None:
        """Starts the process. Raises OSError."""
        # -P: a file in the current folder, which may be the document's, is never imported in a library's place.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(os.environ, sys.path),
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr  # noqa: S101, PT018 - for mypy
        self._in: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._out: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self._said = bytearray()
        self._drain = threading.Thread(target=self._keep_tail, args=(self._process.stderr,), daemon=True)
        self._drain.start()
        self._lock = threading.Lock()
        self._asked = 0
        self._expired = False

    def ask(self, request: dict[str, Any], seconds: float, most: int) -> dict[str, Any]:
        """The reply, of at most `most` bytes. Raises HungError after `seconds`, CrashedError."""
        return self._exchange(protocol.dump(request | {"seconds": seconds}), seconds, most)

    def send(self, data: bytes, seconds: float, most: int) -> dict[str, Any]:
        """The same for a file's bytes."""
        return self._exchange(data, seconds, most)

    def kill(self) -> None:
        """At once. A thread that waits for a reply gets CrashedError."""
        self._process.kill()

    def close(self) -> None:
        """Leaves neither process nor pipe behind."""
        self._process.kill()
        self._process.wait()
        self._drain.join(_SECONDS_TO_DIE)
        for stream in (self._in, self._out, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was not written yet cannot be any more
                    stream.close()

    def _exchange(self, payload: bytes, seconds: float, most: int) -> dict[str, Any]:
        self._asked += 1
        # A thread that kills works on every system and whether the process fails to read or to write.
        timer = threading.Timer(seconds, self._expire, (self._asked,))
        timer.daemon = True
        timer.start()
        try:
            protocol.write_frame(self._in, payload)
            frame = protocol.read_frame(self._out, most)
            reply = None if frame is None else protocol.load(frame)
        except OSError:
            reply = None
        except protocol.ProtocolError as error:
            raise CrashedError(f"its parser answers nonsense ({error})") from error
        finally:
            timer.cancel()
            with self._lock:
                self._asked += 1  # a timer that is just going off must not hit the next request
                expired = self._expired
        if expired:
            raise HungError(f"no answer within {seconds:g} s")
        if reply is None:
            raise CrashedError(self._end())
        return reply

    def _expire(self, asked: int) -> None:
        with self._lock:
            if asked == self._asked:
                self._expired = True
                self._process.kill()

    def _end(self) -> str:
        """How the process ended, and its last words where it ended by itself."""
        try:
            status = self._process.wait(_SECONDS_TO_DIE)
        except subprocess.TimeoutExpired:
            return "its parser stopped answering"
        if status == protocol.OUT_OF_MEMORY:
            return "out of memory"
        if status < 0:
            return f"it crashes the parser ({_signal_name(-status)})"
        self._drain.join(_SECONDS_TO_DIE)
        last = self._said.decode("utf-8", "replace").strip().splitlines()[-1:]
        return f"its parser ended ({one_line(last[0]) if last else f'status {status}'})"

    def _keep_tail(self, stderr: BinaryIO) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed in the middle of a read
            while chunk := stderr.read1(_KEPT_STDERR):  # type: ignore[attr-defined]
                self._said = (self._said + chunk)[-_KEPT_STDERR:]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _environment(environ: Mapping[str, str], path: Sequence[str]) -> dict[str, str]:
    """What Python needs to find the same modules as here; no token or key of the user's is passed on."""
    passed = {key: value for key, value in environ.items() if key in _PASSED_ON or key.startswith("PYTHON")}
    kept = [entry for entry in path if entry and (Path(entry).resolve() == _HOME or not _is_current(entry))]
    return passed | {"PYTHONPATH": os.pathsep.join(kept if str(_HOME) in kept else [*kept, str(_HOME)])}


def _is_current(entry: str) -> bool:
    try:
        return Path(entry).samefile(Path.cwd())
    except OSError:  # either is gone
        return False
