"""What every decoding loop is made of: the rows of a batch, their cache, costs and clock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.costs import StepCosts, clock
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.row import Row
from spsl_cli.decoding.target import TargetModel
from spsl_cli.events import Done, Event


class DecodingLoop(ABC):
    """Decodes the rows of a batch together; each holds its first token already, which the prefill gave."""

    def __init__(self, target: TargetModel, cache: DecoderCache, rows: Sequence[Row], config: DecodeConfig) -> None:
        self.target, self.cache, self.rows, self.config = target, cache, rows, config
        self.costs = StepCosts()
        self._now = clock(target.device)

    @property
    def active(self) -> list[Row]:
        """The rows whose output has not ended; the others have left the batch."""
        return [row for row in self.rows if not row.finished]

    def run(self) -> Iterator[Event]:
        """Rounds until every output has ended; `Done` for each row that ends."""
        waiting = list(self.rows)
        while True:
            for row in waiting:
                if row.output.finish_reason is not None:
                    yield Done(row.output.finish_reason, row.counters.snapshot(self.costs.plain_step_s), row.sequence)
            waiting = self.active
            if not waiting:
                return
            yield from self.round(waiting)

    @abstractmethod
    def round(self, rows: Sequence[Row]) -> list[Event]:
        """At least one token enters the output of each of these rows. Returns what happened."""
