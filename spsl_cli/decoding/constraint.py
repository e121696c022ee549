"""Outputs that must keep to a rule: which tokens may follow, asked anew behind every prefix.

Logits of tokens that may not follow become -inf before anything else is done with them. So drafts keep to the rule,
and a target's own choice does: verification then gives what plain decoding under the same rule gives, token for token
or in distribution. A looked-up draft that breaks the rule is rejected as any other wrong draft.

Does not know what the rule is, nor where it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from spsl_cli.decoding.scores import Scores


class Constraint(Protocol):
    """Which tokens may follow: a function of the new tokens of one output. The prompt is not among them."""

    def note(self, token_ids: Sequence[int]) -> None:
        """These tokens are now part of the output. Raises for one that may not stand there, `allowed` as judge.

        That happens where no token may follow: what comes then is nobody's choice.
        """
        ...

    def allowed(self, tail: Sequence[int], rows: int) -> torch.Tensor:
        """Bool [m, W], m <= rows, on the CPU: which tokens may follow the output and `tail`.

        Row i stands behind `tail` without its last rows-1-i tokens. There are fewer rows than asked for from the first
        one behind a token that may not stand. Ids from W on may not follow. A token that ends the output may follow
        exactly where it may end, and none but such where it must.
        """
        ...


MakeConstraint = Callable[[], Constraint]
"""Called for every decoding of every row: a constraint at the start of its output."""


class ConstrainedScores:
    """Scores of logits in which every token that may not follow has -inf.

    prompt_tokens: so many of the tokens noted first are the prompt, which the constraint does not see.
    """

    def __init__(self, scores: Scores, constraint: Constraint, prompt_tokens: int) -> None:
        self._scores, self._constraint = scores, constraint
        self._prompt_left = prompt_tokens

    def note(self, token_ids: Sequence[int]) -> None:
        """These tokens are now part of the sequence. Raises what the constraint does for those that may not be."""
        new = token_ids[self._prompt_left :]
        self._prompt_left = max(0, self._prompt_left - len(token_ids))
        self._scores.note(token_ids)
        if new:
            self._constraint.note(new)

    def __call__(self, logits: torch.Tensor, tail: Sequence[int]) -> torch.Tensor:
        """Scores [n, V] of logits [n, V]; row i stands behind `tail` without its last n-1-i tokens."""
        forbidden = self._forbidden(tail, *logits.shape)
        return self._scores(logits.masked_fill(forbidden.to(logits.device), float("-inf")), tail)

    def _forbidden(self, tail: Sequence[int], rows: int, vocabulary: int) -> torch.Tensor:
        """Bool [rows, vocabulary], on the CPU.

        A row where nothing may follow forbids nothing: scores of -inf alone are no distribution. Most often no one
        comes to such a row, as the draft before it is rejected; where one does, `note` refuses what was chosen there.
        """
        allowed = self._constraint.allowed(tail, rows)[:, :vocabulary]
        known, width = allowed.shape
        forbidden = torch.zeros(rows, vocabulary, dtype=torch.bool)
        forbidden[:known, :width] = ~allowed
        forbidden[:known, width:] = True
        forbidden[forbidden.all(-1)] = False
        return forbidden
