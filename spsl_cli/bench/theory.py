"""Eq. 1 of the paper: the speedup of a draft length, from what drafting and verifying cost and what is accepted.

    S(k) = (accepted(k) + 1) C / (k C_d + C_v(k))

C is a plain step. The paper sets C_v(k) = C and accepted(k) = alpha k with one alpha; here alpha is the chance that one
more token is accepted, so accepted(k) = alpha + alpha^2 + ... + alpha^k, which falls behind as drafts grow.
Floats only: it knows neither models nor how costs were measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from spsl_cli.bench.records import CellRecord, SystemRecord
from spsl_cli.bench.series import base_name, draft_length

LONGEST = 20
"""The longest draft of the paper's Table 3."""


@dataclass(frozen=True)
class ModelShape:
    """What one forward of a model reads: its weights, and keys and values (bytes) of every position."""

    name: str
    weight_bytes: float
    kv_bytes_per_token: float


@dataclass(frozen=True)
class Costs:
    """Seconds of one forward for all rows of a batch: a plain step, a draft step, verifying by draft length.

    verify: (k, seconds), in order of k; between them it is interpolated, outside the nearest one counts.
    """

    plain: float
    draft: float
    verify: tuple[tuple[int, float], ...]

    def verify_at(self, k: int) -> float:
        """C_v(k) in seconds."""
        below = max((point for point in self.verify if point[0] <= k), default=self.verify[0])
        above = min((point for point in self.verify if point[0] >= k), default=self.verify[-1])
        if above[0] == below[0]:
            return below[1]
        share = (k - below[0]) / (above[0] - below[0])
        return below[1] + share * (above[1] - below[1])

    @property
    def relative_draft_cost(self) -> float:
        """Gamma: a draft step as a share of a plain step."""
        return self.draft / self.plain


@dataclass(frozen=True)
class Point:
    """What drafting k tokens brings: accepted tokens a round, and speedup."""

    k: int
    accepted: float
    speedup: float


@dataclass(frozen=True)
class Curve:
    """Speedup against k, from k = 0. `costs`, `alpha` and `batch` are what it was made of."""

    points: tuple[Point, ...]
    costs: Costs
    alpha: float
    batch: int

    @property
    def best(self) -> Point:
        """At k*: the shortest of the draft lengths with the highest speedup; k = 0 where drafting never pays."""
        return max(self.points, key=lambda point: (point.speedup, -point.k))

    @property
    def inversion(self) -> Point | None:
        """The first draft length behind the best one, from which on drafts lose (the efficiency inversion).

        None where the longest is the best.
        """
        return next((point for point in self.points if point.k > self.best.k), None)

    @property
    def plain_tokens_per_s(self) -> float:
        """Of all rows together."""
        return self.batch / self.costs.plain


def expected_accepted(alpha: float, k: int) -> float:
    """Accepted tokens of a draft of k, each accepted with probability `alpha` if all before it were."""
    return math.fsum(alpha**depth for depth in range(1, k + 1))


def speedup(accepted: float, k: int, costs: Costs) -> float:
    """Eq. 1. Without a draft nothing is verified: 1."""
    return (accepted + 1) * costs.plain / (k * costs.draft + costs.verify_at(k)) if k else 1.0


def roofline(shape: ModelShape, context: int, batch: int, bandwidth: float, budget: float) -> Costs:
    """Costs of a machine that does nothing but read at `bandwidth` bytes a second; verifying reads what a step reads.

    budget: the positions that a draft reads: their share of `context` (float, up to 1.0) or their number (int).
    """
    drafted = math.ceil(budget * context) if isinstance(budget, float) else min(budget, context)
    plain, draft = (
        (shape.weight_bytes + batch * positions * shape.kv_bytes_per_token) / bandwidth
        for positions in (context, drafted)
    )
    return Costs(plain, draft, ((0, plain),))


def make_curve(costs: Costs, alpha: float, batch: int = 1, longest: int = LONGEST) -> Curve:
    """Speedup for every draft length up to `longest`, at these costs."""
    accepted = [expected_accepted(alpha, k) for k in range(longest + 1)]
    points = tuple(Point(k, tokens, speedup(tokens, k, costs)) for k, tokens in enumerate(accepted))
    return Curve(points, costs, alpha, batch)


def theory(
    shape: ModelShape, context: int, batch: int, bandwidth: float, alpha: float, budget: float, longest: int = LONGEST
) -> Curve:
    """The roofline's curve (`roofline`, `make_curve`). Raises ValueError for what has no meaning."""
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is a probability, not {alpha:g}")
    if min(context, batch, bandwidth, budget) <= 0 or (isinstance(budget, float) and budget > 1):
        raise ValueError("context, batch, bandwidth and budget are above 0, a share is at most 1.0")
    return make_curve(roofline(shape, context, batch, bandwidth, budget), alpha, batch, longest)


# ---- measured --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prediction:
    """What Eq. 1 makes of a system's own costs and accepted tokens, beside its measured speedup (None: not told)."""

    cell: str
    system: str
    k: int
    accepted: float
    predicted: float
    measured: float | None


def measured_costs(cell: CellRecord, system: SystemRecord) -> Costs | None:
    """What a system of fixed draft length spent on a forward; None without a plain loop, or where nothing was drafted.

    The refresh belongs to the verify: there is one a round, and without it there is no next draft. Lookup drafts cost
    no forward and are left out.
    """
    plain, counts, k = cell.system("ar"), system.speculation, draft_length(cell, system)
    if k is None or counts is None or plain is None or plain.tokens_per_s is None or plain.tokens_per_s.median <= 0:
        return None
    steps = (counts["drafted"] - counts["lookup_drafted"]) / cell.batch
    rounds = _drafting_rounds(system) / cell.batch
    if steps <= 0 or rounds <= 0:
        return None
    verify = (counts["verify_s"] + counts["refresh_s"] + counts.get("mass_s", 0.0)) / rounds
    return Costs(cell.batch / plain.tokens_per_s.median, counts["draft_s"] / steps, ((k, verify),))


def _drafting_rounds(system: SystemRecord) -> int:
    histogram = (system.speculation or {}).get("k_histogram", {})
    return sum(count for k, count in histogram.items() if int(k))


def cell_costs(cell: CellRecord) -> Costs | None:
    """Measured costs of a cell as one: verify by draft length from all systems of fixed length, drafting on average.

    Only of drafts that read by the paper's index, so that one cost of a draft step is meant. None without any.
    """
    fixed = [system for system in cell.systems if base_name(system) == "fixed"]
    found = [costs for system in fixed if (costs := measured_costs(cell, system)) is not None]
    if not found:
        return None
    verify = tuple(sorted(point for costs in found for point in costs.verify))
    return Costs(found[0].plain, fmean(costs.draft for costs in found), verify)


def fitted_alpha(accepted: float, k: int) -> float:
    """The chance of one more token that explains `accepted` of k; between 0 and 1."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_accepted(middle, k) < accepted else (low, middle)
    return (low + high) / 2


def predictions(cells: Iterable[CellRecord]) -> list[Prediction]:
    """For every system of fixed draft length that was measured: Eq. 1 beside the measurement."""
    found = []
    for cell in cells:
        for system in cell.systems:
            costs, k = measured_costs(cell, system), draft_length(cell, system)
            if costs is None or k is None or system.accepted_length is None:
                continue
            measured = None if system.speedup is None else system.speedup.median
            predicted = speedup(system.accepted_length, k, costs)
            found.append(Prediction(cell.name, system.name, k, system.accepted_length, predicted, measured))
    return found
