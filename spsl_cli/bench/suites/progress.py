"""How far a suite is, and about how long it will take still."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from spsl_cli.bench.cell import Cell
from spsl_cli.events import Event, Progress


class SuiteProgress:
    """Tells how far a suite is, in decodings, and about how long it will take still."""

    def __init__(self, cells: Sequence[Cell], tell: Callable[[Event], None], notice: Callable[..., None]) -> None:
        self._tell, self._notice = tell, notice
        self._names = [cell.name for cell in cells]
        self._sizes = [cell.decodings for cell in cells]
        self._total = sum(self._sizes)
        self._begun = time.perf_counter()
        self._skipped: int | None = None

    def of(self, cell: Cell) -> Callable[[str, int, int], None]:
        """What one cell tells before each of its decodings."""
        before = sum(self._sizes[: self._names.index(cell.name)])
        if self._skipped is None:
            self._skipped = before  # by cells that were measured in an earlier run
        return lambda _system, done, _all: self._told(before + done)

    def ended(self, cell: Cell) -> None:
        """Of a cell that is done, with how long the others will take."""
        number = self._names.index(cell.name) + 1
        done = sum(self._sizes[:number])
        self._told(done)
        left = self._left_s(done)
        more = f", about {max(1, round(left / 60))} min left" if left and number < len(self._names) else ""
        self._notice(f"{cell.name}: done, {number} of {len(self._names)}{more}", warning=False)

    def _told(self, done: int) -> None:
        seconds = time.perf_counter() - self._begun
        self._tell(Progress("measure", done, self._total, "decodings", seconds, self._left_s(done)))

    def _left_s(self, done: int) -> float | None:
        measured = done - (self._skipped or 0)
        seconds = time.perf_counter() - self._begun
        return seconds / measured * (self._total - done) if measured > 0 else None
