"""Numbers in words: counts, times, rates, and what a run came to. Never a number that was not measured: `-` instead.

It knows no terminal: the panel and the plain lines say the same thing because both take it from here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from spsl_cli.events import Comparison, Finished, SpeculationStats, Started

UNKNOWN = "-"
_BYTES = ("B", "byte", "bytes")
_MINUTE, _HOUR = 60, 3600
_LARGE = 100  # from here on a decimal place says nothing
_BYTE_SCALES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def count(number: float) -> str:
    """A whole number with thousands set apart."""
    return f"{number:,.0f}"


def percent(share: float | None) -> str:
    """`0.71` as `71.0 %`."""
    return UNKNOWN if share is None or not math.isfinite(share) else f"{100 * share:.1f} %"


def duration(seconds: float) -> str:
    """Seconds as a person says them: `0.42 s`, `12.3 s`, `2 min 05 s`, `1 h 07 min`."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02d} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d} min"


def amount(done: float, total: float | None, unit: str) -> str:
    """`12,288 of 31,204 tokens`, `3 files`, `45.2 of 101.0 MB`; once all is done, the total alone."""
    largest = done if total is None else total
    if unit in _BYTES:
        scale, unit = next(((s, name) for s, name in _BYTE_SCALES if largest >= s), _BYTE_SCALES[-1])
        shown = [f"{value / scale:.1f}" for value in (done, largest)]
    else:
        unit = unit.removesuffix("s") if largest == 1 else unit
        shown = [count(done), count(largest)]
    number = shown[1] if done >= largest else f"{shown[0].rjust(len(shown[1]))} of {shown[1]}"
    return f"{number} {unit}".rstrip()


def rate(done: float, seconds: float, unit: str) -> str:
    """`2,537 tokens/s`, or nothing where no time was measured or the amount has no unit."""
    if seconds <= 0 or not unit or not math.isfinite(done / seconds):
        return ""
    if unit in _BYTES:
        return f"{amount(done / seconds, None, unit)}/s"
    return f"{_one_decimal(done / seconds)} {unit}/s"


def tokens_per_s(stats: SpeculationStats) -> str:
    """Decoded tokens a second, `-` before two were decoded."""
    return _one_decimal(stats.tokens_per_s) if stats.tokens_per_s > 0 else UNKNOWN


def acceptance(stats: SpeculationStats) -> str:
    """Accepted share of the drafted tokens, `-` before one was drafted."""
    return percent(stats.acceptance_rate if stats.drafted else None)


def mean_accepted(stats: SpeculationStats) -> str:
    """Accepted tokens a drafting round, `-` before one was drafted."""
    return f"{stats.mean_accepted:.2f}" if stats.drafted else UNKNOWN


def speedup(stats: SpeculationStats, comparison: Comparison | None) -> str:
    """Over plain autoregressive decoding: `1.62x measured`, `1.58x estimated` or `-`."""
    if comparison is not None and comparison.speedup is not None and math.isfinite(comparison.speedup):
        return f"{comparison.speedup:.2f}x measured"
    estimate = stats.estimated_speedup if stats.enabled else None
    return UNKNOWN if estimate is None or not math.isfinite(estimate) else f"{estimate:.2f}x estimated"


def budget(value: float) -> str:
    """A budget: a share of the cache if a float, positions if an int."""
    return f"{100 * value:g} %" if isinstance(value, float) else f"{value:,} positions"


def agreement(comparison: Comparison) -> str:
    """Whether the output is that of plain decoding, and if not, where it leaves it and how near the tie was."""
    if comparison.identical is None:
        return "sampled: tokens are not compared"
    if comparison.identical:
        return "identical to AR"
    place = "" if comparison.first_difference is None else f" at token {count(comparison.first_difference)}"
    margin = "" if comparison.top2_margin is None else f" (top-2 margin {comparison.top2_margin:.2g})"
    return f"differs from AR{place}{margin}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one answer came to; `label` tells it from others of the same run."""

    stats: SpeculationStats
    finish_reason: str
    comparison: Comparison | None = None
    label: str = ""

    @property
    def whole(self) -> bool:
        """Whether the answer came to an end of its own or at its length limit."""
        return self.finish_reason in ("stop", "length")

    @classmethod
    def of(cls, finished: Finished, comparison: Comparison | None, label: str = "") -> Outcome:
        """Of a run that has ended; `comparison` is one told before the end."""
        return cls(finished.stats, finished.finish_reason, finished.comparison or comparison, label)

    def brief(self) -> tuple[str, ...]:
        """The facts that fit into one line of 80 cells, most telling first; more only where more was asked for."""
        stats = self.stats
        facts = [f"{amount(stats.new_tokens, None, 'tokens')} in {duration(stats.decode_s)}"]
        if stats.tokens_per_s > 0:
            facts[0] += f" ({tokens_per_s(stats)}/s)"
        if self.finish_reason != "stop":
            facts.append({"length": "length limit"}.get(self.finish_reason, self.finish_reason))
        facts.append(
            f"accepted {count(stats.accepted)} of {count(stats.drafted)}" if stats.drafted else self._drafting()[0]
        )
        told = speedup(stats, self.comparison)
        if told != UNKNOWN:
            facts.append(told.replace("x ", "x AR "))
        if self.comparison is not None:
            facts.append(agreement(self.comparison))
        return tuple(facts)

    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The facts, most telling first, in groups that belong together."""
        stats = self.stats
        reasons = {"stop": "complete", "length": "stopped by the length limit"}
        first = [f"{amount(stats.new_tokens, None, 'tokens')} in {duration(stats.decode_s)}"]
        if stats.tokens_per_s > 0:
            first.append(f"{tokens_per_s(stats)} tokens/s")
        first.append(reasons.get(self.finish_reason, self.finish_reason))
        return (tuple(first), self._drafting(), self._against_ar())

    def _drafting(self) -> tuple[str, ...]:
        stats = self.stats
        if not stats.enabled:
            return ("speculation off",)
        if not stats.drafted:
            return ("nothing drafted",)
        return (
            f"accepted {count(stats.accepted)} of {count(stats.drafted)} drafted ({acceptance(stats)})",
            f"mean accepted {mean_accepted(stats)}",
            amount(stats.rounds, None, "rounds"),
        )

    def _against_ar(self) -> tuple[str, ...]:
        told = speedup(self.stats, self.comparison)
        gain = (f"speedup over AR {told}",) if told != UNKNOWN else ()
        return gain if self.comparison is None else (*gain, agreement(self.comparison))


def label(started: Started | None) -> str:
    """What tells one answer from the others of a run: its question, else its documents."""
    if started is None:
        return ""
    return started.question or ", ".join(started.documents)


def _one_decimal(value: float) -> str:
    return count(value) if value >= _LARGE else f"{value:.1f}"
