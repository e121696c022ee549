"""What every decoding loop is made of: one sequence of the cache, its output, its counters and its clock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from spsl_cli.decoding.chooser import Chooser
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.costs import StepCosts, clock
from spsl_cli.decoding.counters import Counters
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.output import Output
from spsl_cli.decoding.target import TargetModel
from spsl_cli.events import Event


class DecodingLoop(ABC):
    """Decodes one sequence; `output` holds its first token already, which the prefill gave."""

    def __init__(
        self,
        target: TargetModel,
        cache: DecoderCache,
        output: Output,
        config: DecodeConfig,
        chooser: Chooser,
        sequence: int = 0,
    ) -> None:
        self.target, self.cache, self.output, self.config, self.sequence = target, cache, output, config, sequence
        self.chooser = chooser
        self.costs = StepCosts()
        self.counters = Counters(config, new_tokens=len(output.token_ids))
        self._now = clock(target.device)

    def run(self) -> Iterator[Event]:
        """Rounds until the output ends."""
        while self.output.finish_reason is None:
            yield from self.round()

    @abstractmethod
    def round(self) -> tuple[Event, ...]:
        """At least one token enters the output. Returns what happened."""
