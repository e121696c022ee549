"""From what was noted of every system in a cell to its record: which speedups may be told, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from spsl_cli.answer import speculation_json, summed
from spsl_cli.bench.records import Interval, SystemRecord
from spsl_cli.bench.statistics import FEWEST, bootstrap_interval, is_noisy, paired_ratios, spread
from spsl_cli.bench.systems.base import Decoded, Round
from spsl_cli.bench.systems.catalogue import AR, EAGER
from spsl_cli.bench.traces import Trace

NEAR_TIE = 0.5
"""Logits between the two best tokens up to which 16-bit rounding may decide: 4 steps of bfloat16 between 16 and 32."""


def records_of(traces: Mapping[str, Trace], *, sixteen_bit: bool) -> tuple[SystemRecord, ...]:
    """Every system's record. `sixteen_bit`: of the model's type; then near-ties do not forbid a speedup."""
    return tuple(_record(trace, traces, sixteen_bit=sixteen_bit) for trace in traces.values())


def may_be_compared(trace: Trace, *, sixteen_bit: bool) -> bool:
    """Whether the tokens are those of plain decoding, or in 16 bit differ first where two were all but equal."""
    if trace.unavailable is not None:
        return False
    near = (difference.margin is not None and difference.margin <= NEAR_TIE for difference in trace.differences)
    return all(sixteen_bit and tie for tie in near)


def _record(trace: Trace, traces: Mapping[str, Trace], *, sixteen_bit: bool) -> SystemRecord:
    if trace.unavailable is not None:
        return SystemRecord(trace.name, unavailable=trace.unavailable)
    compared = AR in traces and traces[AR].unavailable is None
    speedup = _speedup(trace, traces, AR, sixteen_bit=sixteen_bit)
    first = min(trace.differences, key=lambda difference: difference.index, default=None)
    stats = [decoded.stats for decoded in trace.typical if decoded.stats is not None]
    together = summed(stats) if stats else None
    drafted = together is not None and together.drafted > 0
    return SystemRecord(
        name=trace.name,
        rates=tuple(trace.rates),
        ratios=tuple(_relative(trace)),
        tokens_per_s=spread(trace.rates),
        speedup=speedup,
        speedup_eager=_speedup(trace, traces, EAGER, sixteen_bit=sixteen_bit),
        identical=first is None if compared else None,
        first_difference=None if first is None else first.index,
        top2_margin=None if first is None else first.margin,
        acceptance=together.acceptance_rate if together is not None and drafted else None,
        accepted_length=together.mean_accepted if together is not None and drafted else None,
        by_position=by_position([taken for decoded in trace.typical for taken in decoded.rounds]),
        phases=_phases(trace.typical),
        quality=fmean(trace.scores) if trace.scores else None,
        peak_bytes=max(trace.peaks, default=None),
        speculation=None if together is None else {**speculation_json(together), "drafts": _drafts(trace.typical)},
        noisy=speedup is not None and _is_noisy(speedup, trace, traces[AR]),
    )


def _speedup(trace: Trace, traces: Mapping[str, Trace], baseline: str, *, sixteen_bit: bool) -> Interval | None:
    """Over that baseline; None for itself, without it, and where either has other tokens than plain decoding.

    Both sides are taken relative to the plain loop beside them: a system and `hf-eager` may be a minute apart.
    """
    base = traces.get(baseline)
    if base is None or base is trace or AR not in traces or traces[AR].unavailable is not None:
        return None
    if not (may_be_compared(trace, sixteen_bit=sixteen_bit) and may_be_compared(base, sixteen_bit=sixteen_bit)):
        return None
    ratios = _relative(trace)
    if baseline != AR:
        theirs = _relative(base)
        ratios = paired_ratios(ratios if trace.name != AR else [1.0] * len(theirs), theirs)
    ratios = [ratio for ratio in ratios if ratio > 0]
    return bootstrap_interval(ratios) if ratios else None


def _relative(trace: Trace) -> list[float]:
    """Its rates as multiples of the plain loop's beside them; none where that did not go on to the end."""
    if len(trace.beside) != len(trace.rates):
        return []
    return [own / plain if plain > 0 else 0.0 for own, plain in zip(trace.rates, trace.beside, strict=True)]


def _is_noisy(speedup: Interval, trace: Trace, plain: Trace) -> bool:
    """As `is_noisy`, against what the plain loop varies by from one of its turns to the next."""
    return len(trace.rates) < FEWEST or is_noisy(speedup, _relative(plain))


def by_position(rounds: Sequence[Round]) -> tuple[float, ...]:
    """The share of the 1st, 2nd ... drafted tokens that was accepted."""
    longest = max((taken.drafted for taken in rounds), default=0)
    shares = []
    for place in range(longest):
        there = [taken.accepted > place for taken in rounds if taken.drafted > place]
        shares.append(sum(there) / len(there))
    return tuple(shares)


def _phases(decodings: Sequence[Decoded]) -> dict[str, float]:
    """Seconds by part of the work, of all these decodings."""
    names = dict.fromkeys(name for decoded in decodings for name in decoded.phases)
    return {name: sum(decoded.phases.get(name, 0.0) for decoded in decodings) for name in names}


def _drafts(decodings: Sequence[Decoded]) -> list[dict[str, Any]]:
    """Every draft of the first rows: how many of its tokens stood, and the entropies (nats) they were drafted with."""
    return [
        {"accepted": taken.accepted, "entropies": [round(nats, 4) for nats in taken.entropies]}
        for decoded in decodings
        for taken in decoded.rounds
    ]
