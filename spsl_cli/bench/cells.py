"""The cells of a suite, one after the other: what was done before is not done again, and Ctrl-C keeps what is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spsl_cli.bench.cell import Cell
from spsl_cli.bench.journal import Journal
from spsl_cli.bench.records import CellRecord


@dataclass(frozen=True)
class Measured:
    """The cells that are done, in the order of the suite; `resumed` of them were done before. complete: all are."""

    cells: tuple[CellRecord, ...]
    complete: bool
    resumed: int = 0


def measure_cells(
    cells: Sequence[Cell], measure: Callable[[Cell], CellRecord], journal: Journal | None = None
) -> Measured:
    """Measure those that the journal has not, noting each there; it is removed when all are done.

    KeyboardInterrupt ends it early: the cell under way is lost, those before it are not.
    """
    found: list[CellRecord] = []
    resumed = 0
    for cell in cells:
        record = None if journal is None else journal.done(cell.name, cell.settings)
        if record is not None:
            resumed += 1
        else:
            try:
                record = measure(cell)
                if journal is not None:
                    journal.add(record)
            except KeyboardInterrupt:
                return Measured(tuple(found), complete=False, resumed=resumed)
        found.append(record)
    if journal is not None:
        journal.remove()
    return Measured(tuple(found), complete=True, resumed=resumed)
