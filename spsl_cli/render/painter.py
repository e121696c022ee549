"""Lines kept at the bottom of a terminal and rewritten in place, without blanking them first: a frame cut in two by a
slow terminal shows old rows below new ones, never a gap (which Rich's `Live` shows, since it erases before it draws).

It knows lines, colours and cursor movements; nothing of what the lines say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, cast

from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from spsl_cli.render.line import Line
from spsl_cli.render.streams import Stream

_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # draw at once what stands between; ignored where it is not known
_CLEAR_LINE, _CLEAR_BELOW = "\x1b[K", "\x1b[J"  # from the cursor on
_STYLES = {
    name: Style.parse(style)
    for name, style in {
        "": "none",
        "bold": "bold",
        "dim": "dim",
        "accepted": "green",
        "bonus": "bold cyan",
        "rejected": "red",
        "plain": "none",
        "warning": "yellow",
    }.items()
}


class Painter:
    """Draws on a terminal that allows escape codes; between `hide_cursor` and `show_cursor` nobody else should."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._drawn: list[Line] = []
        self._columns = 0
        self._console = Console(
            file=cast("IO[str]", stream),
            force_terminal=True,
            force_jupyter=False,
            force_interactive=True,
            no_color=not stream.colour,
            width=80,  # nothing is laid out by Rich
        )

    def hide_cursor(self) -> None:
        """Until `show_cursor`."""
        self._stream.write(_HIDE_CURSOR)

    def show_cursor(self) -> None:
        """As it was."""
        self._stream.write(_SHOW_CURSOR)

    def paint(self, lines: Sequence[Line], columns: int, settled: Sequence[Line] = ()) -> None:
        """Put `lines` where those of the last call are, on a terminal `columns` wide, in one write.

        `settled` lines go above them for good; a settled line may be longer than the terminal is wide.
        """
        anew = bool(settled) or columns != self._columns or len(lines) < len(self._drawn)
        out = [Segment(_BEGIN + self._to_top(columns) + (_CLEAR_BELOW if anew else ""))]
        for line in settled:
            out += [*_segments(line), Segment("\r\n")]
        for at, line in enumerate(lines):
            out += [Segment("\r\n" if at else ""), *_segments(line), Segment(_CLEAR_LINE)]
        self._console.print(Segments([*out, Segment(_END)]), end="", crop=False)
        self._drawn, self._columns = list(lines), columns

    def _to_top(self, columns: int) -> str:
        """To the beginning of the first line drawn; a terminal made narrower has wrapped them into more rows."""
        rows = sum(max(1, -(-line.width // columns)) for line in self._drawn)
        return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "")


def _segments(line: Line) -> list[Segment]:
    return [Segment(text, _STYLES[style]) for text, style in line.spans]
