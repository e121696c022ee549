"""How long to draft: decisions from floats, no tensors.

A controller is asked before every draft token whether to draft it, and told afterwards what became of the draft. It may
look at the entropies of distributions, never at the tokens drawn from them: that keeps sampling lossless.

A batch drafts one length for all its rows, so entropies come row by row, as many for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from spsl_cli.decoding.config import K_MAX, DecodeConfig
from spsl_cli.decoding.costs import StepCosts

Entropies = Sequence[Sequence[float]]
"""Of the drafted tokens' distributions, in nats: for each row of the batch one for each token."""


class Controller(Protocol):
    """Decides draft lengths. `k_star` is the length aimed at, as of the last decision."""

    k_star: int

    def wants_more(self, entropies: Entropies) -> bool:
        """Whether to draft another token behind those that had these entropies."""
        ...

    def observe(self, entropies: Sequence[float], accepted: int) -> None:
        """Of one row's draft the first `accepted` tokens stood, the others did not."""
        ...


class FixedController:
    """Always k tokens."""

    def __init__(self, k: int) -> None:
        self.k_star = k

    def wants_more(self, entropies: Entropies) -> bool:
        """Until k are drafted."""
        return len(entropies[0]) < self.k_star

    def observe(self, entropies: Sequence[float], accepted: int) -> None:
        """Nothing to learn."""


class EntropyController:
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

    def best_length(self, entropies: Entropies) -> int:
        """k*: the argmax of Eq. 8, summed over the rows, over the candidates not shorter than what is drafted."""
        draft_s, round_s = self.costs.draft_step_s, self.costs.round_s
        gamma = self.presumed_draft_cost if draft_s is None or round_s is None else draft_s / round_s
        drafted = len(entropies[0])
        best, best_rate = max(drafted, self.candidates[0]), 0.0
        prefixes, expected, reached = [1.0] * len(entropies), float(len(entropies)), 0
        for k in self.candidates:
            for i in range(reached, k):
                for row, known in enumerate(entropies):
                    p = self.acceptance_probability(known[i]) if i < drafted else self.mean_probability
                    prefixes[row] *= p
                    expected += prefixes[row]
            reached = k
            rate = expected / (k * gamma + 1.0)
            if k >= drafted and rate > best_rate:
                best, best_rate = k, rate
        return best

    def wants_more(self, entropies: Entropies) -> bool:
        """Until k* is reached."""
        self.k_star = self.best_length(entropies)
        return len(entropies[0]) < self.k_star

    def observe(self, entropies: Sequence[float], accepted: int) -> None:
        """Move the class means (Eq. 6): every drafted token is of one class or the other."""
        for i, entropy in enumerate(entropies):
            self.mean_probability += (1 - self.beta) * (self.acceptance_probability(entropy) - self.mean_probability)
            if i < accepted:
                self.mean_accepted_entropy += (1 - self.beta) * (entropy - self.mean_accepted_entropy)
            else:
                self.mean_rejected_entropy += (1 - self.beta) * (entropy - self.mean_rejected_entropy)


def make_controller(config: DecodeConfig, costs: StepCosts) -> Controller:
    """The controller that the configuration names."""
    if config.k == "auto":
        return EntropyController(costs)
    return FixedController(config.k)
