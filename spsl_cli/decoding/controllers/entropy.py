"""The paper's draft-length controller (arXiv 2607.27735, Eq. 6-8)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spsl_cli.decoding.config import K_MAX
from spsl_cli.decoding.controllers.always import AlwaysDrafting
from spsl_cli.decoding.controllers.base import Drafted, Evidence, Source
from spsl_cli.decoding.costs import StepCosts


class EntropyController(AlwaysDrafting):
    """The paper's controller, Eq. 6-8, as a stopping rule.

    Eq. 8 needs the entropy of tokens that are not drafted yet. So it is evaluated after every drafted token, with p_i
    of Eq. 7 for those drafted and a running mean of p for the rest, and the draft ends when its argmax is reached.

    Choices where the paper is silent: beta 0.9; class means start one nat apart (0.5 accepted, 1.5 rejected);
    candidates are 1 .. `K_MAX`; until the first round is timed, a draft step is taken to cost half of the rest of a
    round.

    Known weakness: p never exceeds sigmoid(|H_acc - H_rej|), 0.73 at one nat, where tokens are accepted more often than
    that; so it stops too early.
    """

    beta = 0.9
    presumed_draft_cost = 0.5

    def __init__(self, costs: StepCosts, candidates: Sequence[int] = range(1, K_MAX + 1)) -> None:
        self.costs = costs
        self.candidates = tuple(candidates)
        self.mean_accepted_entropy = 0.5
        self.mean_rejected_entropy = 1.5
        self.mean_probability = 0.7
        self.k_star = self.candidates[0]

    def acceptance_probability(self, entropy: float) -> float:
        """p_i: softmax over the negative distances to the two class means (Eq. 7)."""
        further = abs(entropy - self.mean_rejected_entropy) - abs(entropy - self.mean_accepted_entropy)
        return 1.0 / (1.0 + math.exp(-further))

    def best_length(self, drafted: Drafted) -> int:
        """k*: the argmax of Eq. 8, summed over the rows, over the candidates not shorter than what is drafted."""
        draft_s, round_s = self.costs.draft_step_s, self.costs.round_s
        gamma = self.presumed_draft_cost if draft_s is None or round_s is None else draft_s / round_s
        shortest = min(map(len, drafted))
        best, best_rate = max(shortest, self.candidates[0]), 0.0
        prefixes, expected, reached = [1.0] * len(drafted), float(len(drafted)), 0
        for k in self.candidates:
            for i in range(reached, k):
                for row, known in enumerate(drafted):
                    p = self.acceptance_probability(known[i].entropy) if i < len(known) else self.mean_probability
                    prefixes[row] *= p
                    expected += prefixes[row]
            reached = k
            rate = expected / (k * gamma + 1.0)
            if k >= shortest and rate > best_rate:
                best, best_rate = k, rate
        return best

    def wants_more(self, drafted: Drafted) -> bool:
        """Until k* is reached."""
        self.k_star = self.best_length(drafted)
        return min(map(len, drafted)) < self.k_star

    def observe(self, source: Source, draft: Sequence[Evidence], accepted: int) -> None:
        """Move the class means (Eq. 6): every token of the sparse draft is of one class or the other."""
        if source is not Source.SPARSE:
            return
        for i, evidence in enumerate(draft):
            entropy = evidence.entropy
            self.mean_probability += (1 - self.beta) * (self.acceptance_probability(entropy) - self.mean_probability)
            if i < accepted:
                self.mean_accepted_entropy += (1 - self.beta) * (entropy - self.mean_accepted_entropy)
            else:
                self.mean_rejected_entropy += (1 - self.beta) * (entropy - self.mean_rejected_entropy)
