"""One cell: some samples, decoded by several systems in turn from one prefill, several times. Knows no suites.

Of every batch of samples each system first decodes once uncounted; `turns` has the order of the repeats behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import fmean
from typing import TYPE_CHECKING, Any

from spsl_cli.bench.peak_memory import PeakMemory
from spsl_cli.bench.prompts import Prompts
from spsl_cli.bench.records import CellRecord
from spsl_cli.bench.systems.base import Decoded, System, UnavailableError
from spsl_cli.bench.systems.catalogue import AR, make_system
from spsl_cli.bench.tasks.base import Sample
from spsl_cli.bench.traces import Trace, first_differences
from spsl_cli.bench.turns import Neighbours, schedule
from spsl_cli.bench.verdicts import records_of
from spsl_cli.errors import OutOfMemoryError
from spsl_cli.model_facts import memory_errors

if TYPE_CHECKING:
    from spsl_cli.decoding.config import DecodeConfig
    from spsl_cli.decoding.run import DecodingRun

MakeSystem = Callable[[str, "DecodingRun", "DecodeConfig"], System]
Tell = Callable[[str, int, int], None]
"""Told before each decoding which system's it is, how many are done, and of how many."""


@dataclass(frozen=True)
class Cell:
    """What to measure. `settings` tell it apart from other cells of its suite; `batch` samples are decoded together.

    `config`: what systems of ours share, such as the budget; None: the run's own.
    """

    name: str
    settings: Mapping[str, Any]
    samples: tuple[Sample, ...]
    systems: tuple[str, ...]
    new_tokens: int
    repeats: int = 3
    batch: int = 1
    config: DecodeConfig | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.samples or len(self.samples) % self.batch:
            raise ValueError(f"{len(self.samples)} samples do not make whole batches of {self.batch}")

    @property
    def decodings(self) -> int:
        """How many it takes, if every system runs here."""
        return len(self.samples) // self.batch * len(list(schedule(self.systems, self.repeats)))

    @property
    def batches(self) -> Iterator[tuple[Sample, ...]]:
        """The samples, as many at a time as are decoded together."""
        for first in range(0, len(self.samples), self.batch):
            yield self.samples[first : first + self.batch]


def measure_cell(cell: Cell, prompts: Prompts, tell: Tell, make: MakeSystem = make_system) -> CellRecord:
    """Measure it. An interruption leaves the model as it was, and nothing of this cell but what `prompts` keep.

    Raises what `prompts` raise, and UsageError for a system that there is none of.
    """
    traces = {name: Trace(name) for name in cell.systems}
    done, total = count(), cell.decodings

    def told(name: str) -> None:
        tell(name, next(done), total)

    facts = [_measure_batch(cell, samples, prompts, make, traces, told) for samples in cell.batches]
    records = records_of(traces, sixteen_bit=facts[0].sixteen_bit)
    decoded = next((trace for trace in traces.values() if trace.unavailable is None), None)
    return CellRecord(
        name=cell.name,
        settings=cell.settings,
        batch=cell.batch,
        prompt_tokens=round(fmean(batch.prompt_tokens for batch in facts)),
        new_tokens=0 if decoded is None else round(decoded.new_tokens / len(facts)),
        repeats=cell.repeats,
        prefill_s=fmean(batch.prefill_s for batch in facts),
        systems=records,
        noisy=any(record.noisy for record in records),
    )


@dataclass(frozen=True)
class _BatchFacts:
    prompt_tokens: int
    prefill_s: float
    sixteen_bit: bool


def _measure_batch(
    cell: Cell,
    samples: Sequence[Sample],
    prompts: Prompts,
    make: MakeSystem,
    traces: Mapping[str, Trace],
    told: Callable[[str], None],
) -> _BatchFacts:
    """Every system on these samples. Nothing here keeps the run: `prompts` may, until they are asked for others."""
    run = prompts.prefilled(samples, cell.new_tokens)
    systems = _systems(cell, run, make, traces)
    neighbours = Neighbours(traces.get(AR))
    for name, repeat in schedule(list(systems), cell.repeats):
        told(name)
        trace, counted = traces[name], repeat > 0
        if trace.unavailable is not None:
            continue
        decoded = _decode_once(systems[name], cell.new_tokens, trace, run, counted=counted)
        if decoded is not None:
            neighbours.decoded(trace, decoded.tokens_per_s, counted=counted)
    neighbours.end()
    _judge(traces, run, prompts, samples)
    tokens = sum(len(request.prompt_ids) for request in run.requests)
    return _BatchFacts(tokens, run.prefill_s, run.target.dtype.itemsize == 2)  # noqa: PLR2004 bytes


def _systems(cell: Cell, run: DecodingRun, make: MakeSystem, traces: Mapping[str, Trace]) -> dict[str, System]:
    """Those that run here; of the others it is noted why not."""
    systems = {}
    for name in cell.systems:
        try:
            systems[name] = make(name, run, cell.config or run.config)
        except UnavailableError as error:
            traces[name].unavailable = str(error)
    return systems


def _decode_once(system: System, new_tokens: int, trace: Trace, run: DecodingRun, *, counted: bool) -> Decoded | None:
    """Let it decode; where it cannot, as for want of memory, it is noted, None comes back, and the others go on."""
    device = str(run.target.device)
    peak = PeakMemory(device)
    peak.reset()
    try:
        with memory_errors(device, run.capacity):
            decoded = system.decode(new_tokens)
    except (UnavailableError, OutOfMemoryError) as error:
        trace.unavailable = str(error)
        return None
    trace.note(decoded, peak.read(), counted=counted)
    return decoded


def _judge(traces: Mapping[str, Trace], run: DecodingRun, prompts: Prompts, samples: Sequence[Sample]) -> None:
    """Hold every decoding of this batch against plain ones, and its answers against those that are right."""
    plain = traces.get(AR)
    for trace in traces.values():
        if trace.unavailable is not None:
            continue
        last: Decoded = trace.decodings[-1]
        answers = prompts.answers(last.token_ids)
        scores = (sample.score(answer) for sample, answer in zip(samples, answers, strict=True))
        trace.scores += [score for score in scores if score is not None]
        if plain is not None and plain.unavailable is None:
            trace.differences += first_differences(trace.decodings, plain.decodings[0], run)
    for trace in traces.values():
        trace.end_batch()
