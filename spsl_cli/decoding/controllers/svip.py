"""SVIP (Zhang et al. 2024, arXiv 2411.18462): self-verification by the draft's entropy.

A token stands with probability 1 - TV(q, p), by Pinsker's inequality at least 1 - sqrt(KL(q, p) / 2), and the authors
find the cross-entropy of q and p near a multiple of the entropy H of q. So the bound is about 1 - sqrt(c H), and the
draft ends with the first token where sqrt(c H) exceeds h. c = 0.15 and h = 0.3 as in the authors' program, which keeps
that token too; it drafts up to 40 tokens, this engine up to `K_MAX`.
"""

from __future__ import annotations

import math

from spsl_cli.decoding.controllers.base import Evidence
from spsl_cli.decoding.controllers.stopping import StoppingRule

SCALE = 0.15
"""c = (r - 1) / 2, r being how many times the entropy the cross-entropy is."""

LIMIT = 0.3
"""h: the largest chance of rejection, by the bound, at which a draft goes on."""


class SvipController(StoppingRule):
    """Until the bound on the chance of acceptance falls below 1 - h."""

    def goes_on(self, evidence: Evidence) -> bool:
        """While the bound holds."""
        return math.sqrt(SCALE * evidence.entropy) <= LIMIT
