"""AdaEDL (Agrawal et al. 2024, arXiv 2410.18351): a bound on acceptance from the draft's entropy, against a threshold.

As in the paper: a draft ends where 1 - sqrt(gamma H) falls below lambda, H being the entropy of the draft's
distribution in nats and gamma 0.2; lambda moves after every round as in Draft & Verify (Zhang et al. 2023, arXiv
2309.08168), with the constants of that paper's program: up by a step where the smoothed acceptance rate is below 0.9,
else down, unless the draft was as long as drafts may be; and only a tenth of the way. Ours: lambda begins at 0.5, the
acceptance rate at 0 as in that program; the token whose distribution ends the draft stays in it; the rows of a batch
share one lambda and move it one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from spsl_cli.decoding.config import K_MAX
from spsl_cli.decoding.controllers.base import Evidence, Source
from spsl_cli.decoding.controllers.stopping import StoppingRule

GAMMA = 0.2
WANTED = 0.9
"""Acceptance rate that the threshold is moved for."""

STEP, KEPT, REMEMBERED = 0.01, 0.9, 0.5
"""Of a move its size, the weight of the threshold before it, and that of the acceptance rate before this round."""


class AdaEdlController(StoppingRule):
    """Until the bound falls below lambda, which follows the acceptance rate."""

    def __init__(self) -> None:
        super().__init__()
        self.threshold = 0.5
        self.acceptance = 0.0

    def goes_on(self, evidence: Evidence) -> bool:
        """While the bound reaches lambda."""
        return 1.0 - math.sqrt(GAMMA * evidence.entropy) >= self.threshold

    def observe(self, source: Source, draft: Sequence[Evidence], accepted: int) -> None:
        """Move lambda by what became of a sparse draft."""
        if source is not Source.SPARSE:
            return
        self.acceptance = REMEMBERED * self.acceptance + (1.0 - REMEMBERED) * accepted / len(draft)
        aim = self.threshold
        if self.acceptance < WANTED:
            aim += STEP
        elif len(draft) < K_MAX:
            aim -= STEP
        self.threshold = KEPT * self.threshold + (1.0 - KEPT) * aim
