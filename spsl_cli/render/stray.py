"""What other libraries write to standard error while the panel is drawn: whole lines, handed on as notices.

Written past the panel they would tear it apart; handed on, they pass the sanitiser like all else.
"""

from __future__ import annotations

import io
from collections.abc import Callable

from spsl_cli.events import Notice


class StrayOutput(io.TextIOBase):
    """A text file that turns each line written to it into a notice; of a progress bar's rewrites the last stays."""

    def __init__(self, take: Callable[[Notice], None]) -> None:
        super().__init__()
        self._take = take
        self._partial = ""

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str) -> int:
        """Hand on the lines that `text` completes."""
        *lines, self._partial = (self._partial + text).split("\n")
        for line in lines:
            self._hand_on(line)
        return len(text)

    def finish(self) -> None:
        """Hand on what was left without a newline."""
        self._hand_on(self._partial)
        self._partial = ""

    def _hand_on(self, line: str) -> None:
        last = line.rstrip("\r").rpartition("\r")[2]
        if last.strip():
            self._take(Notice(last, warning=False))
