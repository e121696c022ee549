"""Counted outcomes against their exact distribution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping

from scipy.stats import chisquare


def chi_square(seen: Counter[Hashable], chances: Mapping[Hashable, float], *, bins: int = 1) -> float:
    """p of a chi-square test; rare outcomes are put together until at least 5 are expected.

    0 where an outcome was seen that cannot be. AssertionError where fewer than `bins` bins come about: a test with few
    says little.
    """
    if not set(seen) <= {outcome for outcome, chance in chances.items() if chance > 0}:
        return 0.0
    samples, pooled, rest = seen.total() / sum(chances.values()), [], [0.0, 0.0]
    for outcome, chance in sorted(chances.items(), key=lambda item: item[1]):
        rest = [rest[0] + seen[outcome], rest[1] + samples * chance]
        if rest[1] >= 5:
            pooled.append(rest)
            rest = [0.0, 0.0]
    pooled[-1] = [pooled[-1][0] + rest[0], pooled[-1][1] + rest[1]]
    assert len(pooled) >= bins
    observed, wanted = zip(*pooled, strict=True)
    return float(chisquare(observed, wanted).pvalue)
