"""Where a row of a generation ends, by Hugging Face's stopping criteria, token by token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from transformers.generation.stopping_criteria import (
    EosTokenCriteria,
    MaxLengthCriteria,
    MaxTimeCriteria,
    StoppingCriteria,
    StoppingCriteriaList,
    StopStringCriteria,
)

from spsl_cli.decoding.output import Output

_ROW_BY_ROW = (MaxTimeCriteria, StopStringCriteria)
"""They judge each row of a batch alone, whichever place it has."""


class Endings:
    """The stopping criteria of a generation, sorted by how they are asked.

    eos: the tokens that `EosTokenCriteria` names. max_length: the least of all `MaxLengthCriteria`.
    others: everything else. Raises ValueError where no length is the limit.
    """

    def __init__(self, criteria: Iterable[StoppingCriteria]) -> None:
        eos: set[int] = set()
        lengths: list[int] = []
        self.others: list[StoppingCriteria] = []
        for criterion in criteria:
            if type(criterion) is EosTokenCriteria:
                eos.update(criterion.eos_token_id.tolist())
            elif type(criterion) is MaxLengthCriteria:
                lengths.append(criterion.max_length)
            else:
                self.others.append(criterion)
        if not lengths:
            raise ValueError("spsl_cli.hf_generate needs a limit of the length: give max_new_tokens")
        self.eos, self.max_length = frozenset(eos), min(lengths)

    @property
    def only_length(self) -> bool:
        """Whether all rows of a batch end together."""
        return not self.eos and not self.others

    def output(self, ids: torch.Tensor, row: int, rows: int) -> Output:
        """An empty output behind ids [T] (padding included), of row `row` of `rows`.

        Every new token is shown to the criteria as `generate` would: with all ids before it, no scores. Where one is
        the user's own, the row stands at its place of the batch, among copies of it.
        """
        single = all(isinstance(criterion, _ROW_BY_ROW) for criterion in self.others)
        place, copies = (0, 1) if single else (row, rows)
        criteria = StoppingCriteriaList(self.others)

        def ends(new_token_ids: Sequence[int]) -> bool:
            whole = torch.cat((ids, ids.new_tensor(new_token_ids)))
            return bool(criteria(whole.repeat(copies, 1), None)[place])

        return Output(max(1, self.max_length - len(ids)), self.eos, ends if self.others else None)
