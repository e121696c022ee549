"""PyramidKV (Cai et al. 2024, arXiv 2406.02069): a choice as in SnapKV, with a budget that falls from layer to layer.

As in the paper: what is not recent falls linearly from the first layer to the last, which has a twentieth of the
average (beta = 20 in the authors' configurations); all layers together read what they would with equal budgets; the
last queries of the prompt vote, and votes are pooled over neighbours. Ours: layers with a sliding window have no view
and no part in it; no layer gets more than there are positions, the last ones then get more than a twentieth; generated
positions join the view and push out the least voted-for, as in `snapkv`.
"""

from __future__ import annotations

from functools import lru_cache

from spsl_cli.decoding.policies.snapkv import SnapKV
from spsl_cli.decoding.sparse_index import Budget

BETA = 20
"""How many times what the last layer gets the average is."""


class PyramidKV(SnapKV):
    """SnapKV with the budget of a layer by its depth."""

    def largest(self, length: int) -> int:
        """That of the first layer."""
        return self.layer_budget(0, length).total

    def layer_budget(self, layer: int, length: int) -> Budget:
        """The recent positions, as many in every layer, and the layer's part of the rest."""
        budget = self.budget(length)
        parts = falling(budget.total - budget.recent, length - budget.recent, self.layers)
        return Budget(0, parts[layer], budget.recent)


@lru_cache(maxsize=64)
def falling(average: int, most: int, layers: int) -> tuple[int, ...]:
    """`layers` whole numbers on a falling line, none above `most`, their sum `average * layers`."""
    if layers <= 1:
        return (average,)
    first = min(2 * average - max(average // BETA, min(average, 1)), most)
    last, steps = 2 * average - first, layers - 1
    shares = [divmod(first * (steps - i) + last * i, steps) for i in range(layers)]
    missing, parts = average * layers - sum(whole for whole, _ in shares), []
    for whole, rest in shares:  # what rounding down takes away goes to the first of those it was taken from
        up = rest > 0 and missing > 0
        parts.append(whole + up)
        missing -= up
    return tuple(parts)
