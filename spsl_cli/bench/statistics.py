"""What repeats say: medians, ratios of pairs, how sure their median is, and whether noise is larger than the effect.

Repeats are pairs because all systems decode in turn: whatever slows the machine down for a while slows both. Knows
numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spsl_cli.bench.records import Interval

DRAWS = 4000
LEVEL = 0.95
FEWEST = 3
"""Repeats below which nothing is known of the noise."""


def spread(values: Sequence[float]) -> Interval:
    """Least, median and greatest of at least one value."""
    return Interval(min(values), float(np.median(values)), max(values))


def paired_ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Ours over theirs, repeat by repeat; repeats that one side has no rate of are left out.

    ValueError for sequences of different lengths.
    """
    return [a / b for a, b in zip(ours, theirs, strict=True) if a > 0 and b > 0]


def bootstrap_interval(values: Sequence[float], *, seed: int = 0, draws: int = DRAWS, level: float = LEVEL) -> Interval:
    """The median of at least one value and its percentile interval (Efron 1979); the same seed gives the same one.

    With few values it says little: of three, the interval is from the least to the greatest.
    """
    data = np.asarray(values, dtype=np.float64)
    chosen = np.random.default_rng(seed).integers(len(data), size=(draws, len(data)))
    medians = np.median(data[chosen], axis=1)
    low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(np.median(data)), float(high))


def is_noisy(speedup: Interval, baseline: Sequence[float]) -> bool:
    """Whether a speedup cannot be told from none.

    Its interval includes 1, the rates of the baseline itself (or its ratios to itself) vary by more than the effect
    (half of them, relative to their median), or there are too few of them to know.
    """
    if len(baseline) < FEWEST or speedup.low <= 1.0 <= speedup.high:
        return True
    lower, middle, upper = np.quantile(baseline, [0.25, 0.5, 0.75])
    return bool((upper - lower) / middle > abs(speedup.median - 1.0))


def agree(one: Interval, other: Interval) -> bool:
    """Whether two intervals have anything in common."""
    return one.low <= other.high and other.low <= one.high
