"""Where output goes and what that place can do: nothing else asks `isatty`, the encoding or the environment.

It knows nothing of events or of what is written. A write is whole and flushed; characters that the stream's encoding
lacks are replaced; a reader that has gone away (`| head`) ends the run quietly, a full disk with one line.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from spsl_cli.errors import ExitCode, SpslError

_DUMB_TERMINALS = ("dumb", "unknown")
_DEFAULT_SIZE = (80, 24)


class ReaderGoneError(SystemExit):
    """Whoever read our standard output has closed it: the run ends without a word and with exit code 0."""

    def __init__(self) -> None:
        super().__init__(int(ExitCode.DONE))


@dataclass(frozen=True, slots=True)
class Stream:
    """One output stream: `styled` allows escape codes, `colour` colours too; `file` None is a closed descriptor.

    `required` tells standard output, whose loss ends the run, from standard error, which may fail silently because
    there is nowhere left to tell it.
    """

    file: TextIO | None
    required: bool
    is_terminal: bool = False
    styled: bool = False
    colour: bool = False

    @property
    def encoding(self) -> str:
        """The name of the encoding, `utf-8` where the file has none (a text buffer)."""
        return getattr(self.file, "encoding", None) or "utf-8"

    @property
    def unicode(self) -> bool:
        """Whether every character can be written."""
        return self.encoding.lower().replace("_", "-").startswith("utf")

    def size(self) -> tuple[int, int]:
        """Columns and rows right now; 80 x 24 where that is not known."""
        try:
            columns, rows = os.get_terminal_size(self._descriptor())
        except OSError:
            return _DEFAULT_SIZE
        return (columns, rows) if columns > 0 and rows > 0 else _DEFAULT_SIZE

    def write(self, text: str) -> int:
        """Write all of `text` and flush; returns its length.

        Raises `ReaderGoneError` or `SpslError` if the stream is required and cannot be written.
        """
        if self.file is None:
            if self.required:
                raise SpslError("standard output is closed", hint="redirect it to a file or leave it open")
            return len(text)
        try:
            self.file.write(text.encode(self.encoding, "replace").decode(self.encoding))
            self.file.flush()
        except BrokenPipeError:
            self.discard_rest()
            if self.required:
                raise ReaderGoneError from None
        except OSError as error:
            self.discard_rest()
            if self.required:
                reason = error.strerror or str(error)
                raise SpslError(
                    f"cannot write to standard output: {reason}", hint="free some space or write elsewhere"
                ) from error
        return len(text)

    def flush(self) -> None:
        """Nothing is held back; here because Rich asks for it."""

    def _descriptor(self) -> int:
        if self.file is None:
            raise io.UnsupportedOperation("no file")
        return self.file.fileno()

    def discard_rest(self) -> None:
        """Point the descriptor at nothing: what is still buffered would fail again, loudly, when Python exits."""
        try:
            descriptor = self._descriptor()
        except io.UnsupportedOperation:
            return
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, descriptor)
        os.close(nothing)


@dataclass(frozen=True, slots=True)
class Streams:
    """Standard output (the answer, nothing else), standard error (all else), and whether a person types the input."""

    out: Stream
    err: Stream
    stdin_is_terminal: bool = False

    @classmethod
    def detect(cls, *, plain: bool = False, environ: Mapping[str, str] | None = None) -> Streams:
        """The process's own streams. `plain` (`--plain`) and `TERM=dumb` allow no escape code, `NO_COLOR` no colour."""
        environ = os.environ if environ is None else environ
        bare = plain or environ.get("TERM", "").lower() in _DUMB_TERMINALS
        colour = not environ.get("NO_COLOR")

        def stream(file: TextIO | None, *, required: bool) -> Stream:
            terminal = _is_terminal(file)
            styled = terminal and not bare
            return Stream(file, required=required, is_terminal=terminal, styled=styled, colour=styled and colour)

        return cls(
            out=stream(sys.stdout, required=True),
            err=stream(sys.stderr, required=False),
            stdin_is_terminal=_is_terminal(sys.stdin),
        )


def _is_terminal(file: TextIO | None) -> bool:
    # Python leaves None where the descriptor was closed before the start.
    return file is not None and not file.closed and file.isatty()
