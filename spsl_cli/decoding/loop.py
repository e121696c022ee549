"""What every decoding loop is made of: the rows of a batch, their cache, costs and clock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.costs import StepCosts, clock
from spsl_cli.decoding.graphs.suitability import choose_steps
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.row import Row
from spsl_cli.decoding.target import TargetModel
from spsl_cli.events import Done, Event


class DecodingLoop(ABC):
    """Decodes the rows of a batch together; each holds its first token already, which the prefill gave.

    steps: forwards of fixed shape, None where they run as ever; not_graphs: why they are no CUDA graphs, or None.
    """

    drafts: ClassVar[bool]
    """Whether it drafts over sparse views."""

    def __init__(self, target: TargetModel, cache: DecoderCache, rows: Sequence[Row], config: DecodeConfig) -> None:
        self.target, self.cache, self.rows, self.config = target, cache, rows, config
        self.costs = StepCosts()
        self.steps, self.not_graphs = choose_steps(
            target, cache, wanted=config.graphs, drafts=self.drafts, strict=config.strict
        )
        self._clock = clock(target.device)

    def _now(self) -> float:
        """Seconds; recording a graph takes none, as it is done once."""
        return self._clock() - (self.steps.capture_s if self.steps else 0.0)

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

    def dense(
        self, rows: Sequence[Row], inputs: Sequence[Sequence[int]], *, keep: int = 0, mass: bool = False
    ) -> torch.Tensor:
        """Logits [R, q, V] behind these tokens of every row, see `TargetModel.dense_forward`; read before the next."""
        sequences = tuple(row.sequence for row in rows)
        if self.steps:
            return self.steps.dense(sequences, inputs, keep=keep)
        ids = torch.tensor(inputs, device=self.target.device)
        return self.target.dense_forward(self.cache, ids, sequences, keep=keep, mass=mass, strict=self.config.strict)

    @abstractmethod
    def round(self, rows: Sequence[Row]) -> list[Event]:
        """At least one token enters the output of each of these rows. Returns what happened."""
