"""How tokens are chosen in a decoding: greedily, or by sampling. Both drafts and verification ask here.

A chooser belongs to one sequence. `tail` is what stands behind the committed output when a row is judged: the drafts
before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch

from spsl_cli.decoding.config import SamplingConfig
from spsl_cli.decoding.constraint import ConstrainedScores, MakeConstraint
from spsl_cli.decoding.sampling import Dice, SeededDice, verify
from spsl_cli.decoding.scores import SampledScores, Scores


@dataclass(frozen=True)
class Choice:
    """A chosen token and what it was chosen from.

    entropy: of that distribution, in nats. margin: by how many nats its likeliest token leads. distribution: itself
    [V], where tokens are drawn; None where all of it is on this token. probability: of this token, in the distribution
    that the scores make (where nothing is drawn too).
    """

    token: int
    entropy: float = 0.0
    margin: float = float("inf")
    distribution: torch.Tensor | None = None
    probability: float = 1.0


class Chooser(Protocol):
    """Chooses tokens from logits.

    sampling: what its choice follows from beside the logits and the throws of its dice, whose seed is left out; None
    where that is not all.
    """

    sampling: SamplingConfig | None

    def note(self, token_ids: Sequence[int]) -> None:
        """These tokens are now part of the sequence."""
        ...

    def choose(self, logits: torch.Tensor, tail: Sequence[int] = ()) -> Choice:
        """One token from logits [V] behind the sequence and `tail`."""
        ...

    def throws(self, count: int) -> list[float]:
        """What the dice show for the next `count` choices, made elsewhere by `sampling`."""
        ...

    def verify(self, drafts: Sequence[Choice], logits: torch.Tensor) -> tuple[int, int]:
        """How many leading drafts stand, and the target's token behind them; logits [k+1, V]."""
        ...


class GreedyChooser:
    """The token of the highest score."""

    def __init__(self, scores: Scores, sampling: SamplingConfig | None = None) -> None:
        self._scores, self.sampling = scores, sampling
        self.note = scores.note

    def throws(self, count: int) -> list[float]:
        """None are looked at."""
        return [0.0] * count

    def choose(self, logits: torch.Tensor, tail: Sequence[int] = ()) -> Choice:
        """The argmax, and entropy, margin and its probability in the softmax, in one transfer from the device."""
        scores = self._scores(logits[None], tail)[0]
        best = scores.topk(min(2, len(scores))).values
        log_p = scores.log_softmax(-1)
        entropy = -(log_p.exp() * log_p).nan_to_num(0.0).sum()
        found = torch.stack((scores.argmax(), entropy.double(), best[0] - best[-1], log_p.max().exp())).tolist()
        return Choice(int(found[0]), found[1], found[2], probability=found[3])

    def verify(self, drafts: Sequence[Choice], logits: torch.Tensor) -> tuple[int, int]:
        """A draft stands if it is the target's own choice."""
        token_ids = [draft.token for draft in drafts]
        choices = self._scores(logits, token_ids).argmax(-1).tolist()
        accepted = next((i for i, token in enumerate(token_ids) if token != choices[i]), len(token_ids))
        return accepted, choices[accepted]


class SamplingChooser:
    """Tokens drawn from the softmax of the scores; verification keeps that distribution exactly."""

    def __init__(self, scores: Scores, dice: Dice, sampling: SamplingConfig | None = None) -> None:
        self._scores, self._dice = scores, dice
        self.sampling = sampling if isinstance(dice, SeededDice) else None
        self.note = scores.note

    def throws(self, count: int) -> list[float]:
        """The next throws of the seed. TypeError for dice that show no numbers."""
        if not isinstance(self._dice, SeededDice):
            raise TypeError("these dice show no numbers")
        return [self._dice.uniform() for _ in range(count)]

    def choose(self, logits: torch.Tensor, tail: Sequence[int] = ()) -> Choice:
        """A token drawn from logits [V]. RuntimeError if there is none to draw."""
        p = self._distributions(logits[None], tail)[0]
        if tail and bool(p.isnan().any()):
            p = logits.float().softmax(-1).cpu()  # a draft no one may come to; if one does, verify says so
        _check_drawable(p)
        first, second = p.topk(2).values.tolist() if len(p) > 1 else (1.0, 0.0)
        margin = math.log(first / second) if second else float("inf")
        token = self._dice.draw(p)
        return Choice(token, float(torch.special.entr(p).sum()), margin, p, float(p[token]))

    def verify(self, drafts: Sequence[Choice], logits: torch.Tensor) -> tuple[int, int]:
        """Speculative sampling. RuntimeError if there is no token to draw where one is wanted."""
        token_ids = [draft.token for draft in drafts]
        p = self._distributions(logits, token_ids)
        q = [_all_on(draft.token, p[0]) if draft.distribution is None else draft.distribution for draft in drafts]
        accepted, token = verify(token_ids, p, q, self._dice)
        _check_drawable(p[: accepted + 1])
        return accepted, token

    def _distributions(self, logits: torch.Tensor, tail: Sequence[int]) -> torch.Tensor:
        # On the CPU: the dice are thrown there, and so the same seed gives the same tokens on every device.
        return self._scores(logits, tail).softmax(-1).cpu()


def _all_on(token: int, like: torch.Tensor) -> torch.Tensor:
    """The distribution of a token that was not drawn: one-hot."""
    one_hot = torch.zeros_like(like)
    one_hot[token] = 1.0
    return one_hot


def _check_drawable(p: torch.Tensor) -> None:
    if bool(p.isnan().any()):
        raise RuntimeError(
            "no token can be drawn: the scores are not finite, or a logits processor forbids every token"
        )


def make_chooser(
    sampling: SamplingConfig,
    dice: Dice | None = None,
    *,
    constraint: MakeConstraint | None = None,
    prompt_tokens: int = 0,
) -> Chooser:
    """Greedy at temperature 0, sampling above; `dice` other than those of the seed are for tests.

    constraint: what the output keeps to; it begins behind the first `prompt_tokens` tokens that are noted.
    """
    scores: Scores = SampledScores(sampling)
    all_there_is = constraint is None and sampling.repetition_penalty == 1.0
    follows_from = replace(sampling, seed=0) if all_there_is else None
    if constraint is not None:
        scores = ConstrainedScores(scores, constraint(), prompt_tokens)
    if sampling.temperature == 0:
        return GreedyChooser(scores, follows_from)
    return SamplingChooser(scores, dice or SeededDice(sampling.seed), follows_from)
