"""One prompt or a batch, decoded again and again by each system in turn from one prefill; medians and paired ratios.

Interleaving is what makes a ratio worth something on a machine that others use too: whatever slows one side down for a
while slows the other as well. A speedup is only told if the outputs are the same.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from spsl_cli.answer import skipped_json, speculation_json
from spsl_cli.bench.records import Interval
from spsl_cli.bench.report.table import interval_text
from spsl_cli.bench.statistics import is_noisy, paired_ratios, spread
from spsl_cli.bench.systems.catalogue import AR, EAGER
from spsl_cli.comparison import first_difference
from spsl_cli.documents import Collection
from spsl_cli.events import SpeculationStats
from spsl_cli.machine import cores, processor_name

if TYPE_CHECKING:
    from spsl_cli.bench.systems.base import System
    from spsl_cli.decoding.run import DecodingRun


@dataclass(frozen=True)
class SystemResult:
    """One system: tokens per second of decoding, speedup against `ar` pair by pair, and whether its tokens are `ar`'s.

    `tokens_per_s` counts all rows of a batch. `speedup` is None for `ar` itself, and where the tokens differ;
    `first_difference` is the earliest of any row; `stats` are those of all rows together in the last repeat; `noisy`:
    the speedup cannot be told from none.
    """

    name: str
    tokens_per_s: Interval
    speedup: Interval | None
    identical: bool | None
    first_difference: int | None
    stats: SpeculationStats | None
    noisy: bool = False


@dataclass(frozen=True)
class BenchResult:
    """All systems on one prompt, or on the prompts of a batch: then tokens are those of all rows together.

    finish_reason: "length" if any row ended at the limit, else "stop".
    """

    batch: int
    prompt_tokens: int
    new_tokens: int
    repeats: int
    prefill_s: float
    finish_reason: str
    systems: tuple[SystemResult, ...]


def run_bench(run: DecodingRun, repeats: int, *, compare: bool, tell: Callable[[str, int, int], None]) -> BenchResult:
    """Measure `run`, which has been prefilled. Without `compare` only our own decoding, so no measured speedup.

    `tell(system, done, total)` is called before each repeat. One decoding of each kind comes first and is not counted.
    """
    ours = run.config.index
    names = (ours, AR, EAGER) if compare else (ours,)
    rates: dict[str, list[float]] = {name: [] for name in names}
    tokens: dict[str, list[list[int]]] = {}
    last: dict[str, SpeculationStats] = {}
    prompts = [request.prompt_ids for request in run.requests]
    eager = _eager(run) if compare else None
    ends: set[str | None] = set()
    for turn in range(-1, repeats):
        for name in names:
            tell(name, turn + 1, repeats + 1)
            if name == EAGER and eager is not None:
                tokens[name], seconds = _decode_eagerly(eager, tokens[ours])
            else:
                tokens[name], last[name] = _decode(run, speculation=name == ours)
                seconds = last[name].decode_s
                ends = {output.finish_reason for output in run.outputs}
            decoded = sum(len(ids) - 1 for ids in tokens[name])
            if turn >= 0:
                rates[name].append(decoded / seconds if seconds > 0 else 0.0)
    systems = tuple(_result(name, rates, tokens, last.get(name), compare) for name in names)
    new_tokens = sum(map(len, tokens[ours]))
    ended = "stop" if ends == {"stop"} else "length"
    return BenchResult(len(prompts), sum(map(len, prompts)), new_tokens, repeats, run.prefill_s, ended, systems)


def _decode(run: DecodingRun, *, speculation: bool) -> tuple[list[list[int]], SpeculationStats]:
    run.rewind()
    for _ in run.decode(speculation=speculation):
        pass
    return [list(output.token_ids) for output in run.outputs], run.totals


def _eager(run: DecodingRun) -> System:
    from spsl_cli.bench.systems.hugging_face import hf_eager  # noqa: PLC0415 transformers takes seconds

    return hf_eager(run)


def _decode_eagerly(eager: System, ours: list[list[int]]) -> tuple[list[list[int]], float]:
    """As many tokens as our rows have; the longest is decoded for all, as `generate` does."""
    decoded = eager.decode(max(map(len, ours)))
    return [ids[: len(own)] for ids, own in zip(decoded.token_ids, ours, strict=True)], decoded.seconds


def _result(
    name: str,
    rates: dict[str, list[float]],
    tokens: dict[str, list[list[int]]],
    stats: SpeculationStats | None,
    compare: bool,
) -> SystemResult:
    difference = identical = speedup = None
    if compare:
        pairs = zip(tokens[name], tokens[AR], strict=True)
        differences = [at for at in (first_difference(*pair) for pair in pairs) if at is not None]
        identical = not differences
        difference = min(differences, default=None)
    if identical and name != AR:
        ratios = paired_ratios(rates[name], rates[AR])
        speedup = spread(ratios) if ratios else None
    noisy = speedup is not None and is_noisy(speedup, rates[AR])
    return SystemResult(name, spread(rates[name]), speedup, identical, difference, stats, noisy)


def bench_json(result: BenchResult, model: dict[str, Any], collection: Collection) -> dict[str, Any]:
    """The object of `bench --json` (schema `spsl.bench/1`)."""
    return {
        "schema": "spsl.bench/1",
        "model": model,
        "machine": machine_facts(),
        "documents": [{"path": document.path, "sha256": document.sha256} for document in collection.documents],
        "skipped": skipped_json(collection),
        "batch": result.batch,
        "prompt_tokens": result.prompt_tokens,
        "new_tokens": result.new_tokens,
        "repeats": result.repeats,
        "prefill_s": result.prefill_s,
        "systems": [
            {
                "name": system.name,
                "tokens_per_s": asdict(system.tokens_per_s),
                "speedup": None if system.speedup is None else asdict(system.speedup),
                "noisy": system.noisy,
                "identical": system.identical,
                "first_difference": system.first_difference,
                "speculation": None if system.stats is None else speculation_json(system.stats),
            }
            for system in result.systems
        ],
    }


def bench_size(result: BenchResult) -> str:
    """What was decoded, for a heading."""
    rows = f"{result.batch} prompts, " if result.batch > 1 else ""
    return f"{rows}{result.prompt_tokens:,} prompt tokens, {result.new_tokens} new"


def bench_rows(result: BenchResult) -> Iterator[tuple[str, ...]]:
    """The rows of the table: system, tokens/s, speedup, identity, acceptance, accepted length."""
    for system in result.systems:
        stats = system.stats
        drafts = stats is not None and stats.drafted > 0
        yield (
            system.name,
            interval_text(system.tokens_per_s, ".1f"),
            "-" if system.speedup is None else f"{interval_text(system.speedup, '.2f')}{', noise' * system.noisy}",
            {None: "-", True: "yes", False: f"no, from token {system.first_difference}"}[system.identical],
            f"{stats.acceptance_rate:.1%}" if stats is not None and drafts else "-",
            f"{stats.mean_accepted:.2f}" if stats is not None and drafts else "-",
        )


COLUMNS = ("system", "tokens/s", "speedup over ar", "same tokens as ar", "acceptance", "accepted a round")


def machine_facts() -> dict[str, Any]:
    """What a reader needs to know of the machine to make sense of the figures."""
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    return {
        "system": platform.platform(),
        "processor": processor_name(),
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
