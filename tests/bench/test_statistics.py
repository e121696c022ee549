"""Medians, paired ratios, their bootstrap interval, and when noise is larger than the effect."""

from __future__ import annotations

import random
from statistics import median

import pytest

from spsl_cli.bench.records import Interval
from spsl_cli.bench.statistics import agree, bootstrap_interval, is_noisy, paired_ratios, spread


def test_spread_is_least_median_greatest():
    assert spread([3.0, 1.0, 2.0, 9.0]) == Interval(1.0, 2.5, 9.0)


def test_ratios_are_those_of_pairs():
    assert paired_ratios([2.0, 9.0, 0.0], [1.0, 3.0, 5.0]) == [2.0, 3.0]
    with pytest.raises(ValueError, match="zip"):
        paired_ratios([1.0], [1.0, 2.0])


def test_pairs_cancel_what_slows_both_sides():
    slow = [1.0, 0.2, 0.7, 0.5, 0.9, 0.3]
    ratios = paired_ratios([30.0 * share for share in slow], [20.0 * share for share in slow])
    interval = bootstrap_interval(ratios)
    assert interval.low == pytest.approx(1.5)
    assert interval.high == pytest.approx(1.5)


def test_the_interval_holds_the_median_and_is_the_same_each_time():
    values = [1.31, 1.27, 1.4, 1.22, 1.36, 1.3, 1.29]
    interval = bootstrap_interval(values)
    assert interval == bootstrap_interval(values)
    assert min(values) <= interval.low < interval.median == median(values) < interval.high <= max(values)


def test_of_one_or_three_values_the_interval_is_all_there_is():
    assert bootstrap_interval([1.5]) == Interval(1.5, 1.5, 1.5)
    assert bootstrap_interval([1.2, 1.5, 1.9]) == Interval(1.2, 1.5, 1.9)


def test_the_interval_covers_the_true_median_about_as_often_as_it_says():
    """Of 300 samples of 15 from a skewed distribution 95 % should; fewer than 88 % would come once in 10^6 runs."""
    rng, covered = random.Random(3), 0
    for seed in range(300):
        interval = bootstrap_interval([rng.lognormvariate(0.0, 0.3) for _ in range(15)], seed=seed, draws=800)
        covered += interval.low <= 1.0 <= interval.high
    assert covered >= 264


def test_an_effect_that_stands_out_is_not_noise():
    assert not is_noisy(Interval(1.2, 1.3, 1.4), [10.0, 10.1, 9.9, 10.0])
    assert not is_noisy(Interval(0.7, 0.75, 0.8), [10.0, 10.1, 9.9, 10.0])


@pytest.mark.parametrize(
    ("speedup", "baseline"),
    [
        (Interval(0.98, 1.04, 1.1), [10.0, 10.1, 9.9]),  # includes 1
        (Interval(1.02, 1.05, 1.1), [10.0, 14.0, 7.0, 12.0]),  # the baseline varies more
        (Interval(1.9, 2.0, 2.1), [10.0, 10.0]),  # too few to know
    ],
)
def test_noise(speedup, baseline):
    assert is_noisy(speedup, baseline)


def test_intervals_agree_where_they_meet():
    assert agree(Interval(1.0, 1.1, 1.2), Interval(1.2, 1.3, 1.4))
    assert agree(Interval(1.0, 1.5, 2.0), Interval(1.2, 1.3, 1.4))
    assert not agree(Interval(1.0, 1.1, 1.19), Interval(1.2, 1.3, 1.4))
