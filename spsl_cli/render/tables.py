"""A table on standard output: drawn by Rich on a terminal, aligned text elsewhere. It knows cells, not figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, cast

from spsl_cli.render.sanitise import one_line
from spsl_cli.render.streams import Streams

if TYPE_CHECKING:
    from rich.console import Console

_PAIRS = 2
_AROUND = 3
"""Columns that a drawn table takes beside each column's words."""
_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,e+-]*\s*(?:%|x|s|ms)?|-|")


def render_table(streams: Streams, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a table. Cells are shown as `str` gives them, None as `-`; columns of numbers only are right-aligned.

    Where a terminal is too narrow for three columns or more, each row becomes some lines of its own.

    Raises ValueError if a row has not as many cells as there are columns, and what `Stream.write` raises.
    """
    head = [one_line(column) for column in columns]
    body = [["-" if cell is None else one_line(str(cell)) for cell in row] for row in rows]
    if any(len(row) != len(head) for row in body):
        raise ValueError(f"every row of {title!r} needs {len(head)} cells")
    right = [all(_NUMBER.fullmatch(row[at]) for row in body) for at in range(len(head))]
    if streams.out.styled and len(head) > _PAIRS and not _has_room(streams.out.size()[0], head, body):
        _records(streams, one_line(title), head, body)
    else:
        draw = _rich_table if streams.out.styled else _plain_table
        draw(streams, one_line(title), head, body, right)


def _has_room(columns: int, head: list[str], body: list[list[str]]) -> bool:
    """Whether no word need be broken to put the table into so many columns."""
    from spsl_cli.render.line import width  # noqa: PLC0415 - Rich is slow to import

    widest = [
        max(width(word) for row in (head, *body) for word in (row[at] or "-").split(" ")) for at in range(len(head))
    ]
    return sum(widest) + _AROUND * len(widest) + 1 <= columns


def _records(streams: Streams, title: str, head: list[str], body: list[list[str]]) -> None:
    """The rows below each other, what a table would have in columns on lines of their own; empty cells are left out."""
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = _console(streams)
    console.print(Text(title, "bold"))
    for row in body:
        console.print()
        console.print(Text(row[0], "bold"))
        for name, cell in zip(head[1:], row[1:], strict=True):
            if cell not in ("-", ""):
                console.print(Padding(Text(f"{name}: {cell}" if name else cell), (0, 0, 0, 2)))


def _plain_table(streams: Streams, title: str, head: list[str], body: list[list[str]], right: list[bool]) -> None:
    from spsl_cli.render.line import width  # noqa: PLC0415 - Rich is slow to import

    cells = [max(width(row[at]) for row in (head, *body)) for at in range(len(head))]

    def aligned(row: list[str]) -> str:
        padding = [" " * (wide - width(cell)) for cell, wide in zip(row, cells, strict=True)]
        parts = zip(row, padding, right, strict=True)
        return "  ".join(pad + cell if to_right else cell + pad for cell, pad, to_right in parts).rstrip()

    rule = "  ".join("-" * wide for wide in cells)
    streams.out.write("\n".join([title, "", aligned(head), rule, *map(aligned, body)]) + "\n")


def _rich_table(streams: Streams, title: str, head: list[str], body: list[list[str]], right: list[bool]) -> None:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(
        title=Text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD if streams.out.unicode else box.ASCII2
    )
    for column, to_right in zip(head, right, strict=True):
        table.add_column(Text(column), justify="right" if to_right else "left", overflow="fold")
    for row in body:
        table.add_row(*map(Text, row))
    _console(streams).print(table)


def _console(streams: Streams) -> Console:
    from rich.console import Console  # noqa: PLC0415

    return Console(
        file=cast("IO[str]", streams.out),
        force_terminal=True,
        force_jupyter=False,
        no_color=not streams.out.colour,
        width=streams.out.size()[0],
    )
