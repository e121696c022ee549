"""Will this draft token be accepted? Logistic regressions that start from a prior and learn from every verify.

Bayesian, one observation at a time: the posterior over the weights is kept as a Gaussian, and each outcome moves it by
one step of Newton's method (Spiegelhalter and Lauritzen 1990). A few multiplications; nothing is stored but the weights
and their covariance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from spsl_cli.decoding.controllers.base import Evidence

SURE = 8.0
"""Nats: a larger margin, as of a token that no other could be drawn for, says nothing more."""


class OnlineLogistic:
    """P(outcome | x) = sigmoid(weights . x), the weights known to within a covariance.

    `deviations`: of the prior, one for each weight; what was learned fades back to them by `forgetting` an observation,
    since a text changes as it goes on.
    """

    forgetting = 0.01

    def __init__(self, weights: Sequence[float], deviations: Sequence[float]) -> None:
        self.weights = list(weights)
        self._prior = [deviation**2 for deviation in deviations]
        size = len(self.weights)
        self._covariance = [[self._prior[i] if i == j else 0.0 for j in range(size)] for i in range(size)]

    def probability(self, x: Sequence[float]) -> float:
        """Of the outcome, at the mean of the weights."""
        return sigmoid(sum(w * value for w, value in zip(self.weights, x, strict=True)))

    def observe(self, x: Sequence[float], outcome: bool) -> None:
        """Learn from one outcome."""
        p, size = self.probability(x), len(x)
        covariance = self._covariance
        for i in range(size):
            covariance[i][i] += self.forgetting * (self._prior[i] - covariance[i][i])
        spread = [sum(row[j] * x[j] for j in range(size)) for row in covariance]  # covariance . x
        slope = p * (1.0 - p)
        shrink = slope / (1.0 + slope * sum(x[i] * spread[i] for i in range(size)))
        for i in range(size):
            for j in range(size):
                covariance[i][j] -= shrink * spread[i] * spread[j]
        step = (float(outcome) - p) / (1.0 + slope * sum(x[i] * spread[i] for i in range(size)))
        for i in range(size):
            self.weights[i] += step * spread[i]


def sigmoid(score: float) -> float:
    """1 / (1 + exp(-score)), without overflow."""
    if score >= 0:
        return 1.0 / (1.0 + math.exp(-score))
    return (power := math.exp(score)) / (1.0 + power)


def sparse_features(evidence: Evidence, depth: int) -> tuple[float, ...]:
    """Of a token that the sparse model drafted, `depth` drafts before it."""
    return (
        1.0,
        min(evidence.entropy, 8.0),
        min(evidence.margin, SURE),
        math.log1p(depth),
        math.log1p(evidence.match) if evidence.match > 0 else 0.0,
        math.log1p(-evidence.match) if evidence.match < 0 else 0.0,
        1.0 - evidence.coverage,
    )


def lookup_features(match: int, depth: int) -> tuple[float, ...]:
    """Of a token that was looked up behind a match of so many tokens, `depth` drafts before it."""
    return (1.0, math.log(match + depth), math.log1p(depth))
