"""Hugging Face's logits processors as one row of a generation meets them: several rows of scores, each its own prefix.

`generate` calls a processor once a token, with every row of the batch. Here a row is judged alone, and at several
prefixes at once: behind the committed tokens and behind each draft. That is the same for a processor that is a function
of its arguments; the others are refused. Knows nothing of drafting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy

import torch
from transformers.generation import logits_process as hf

Processor = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""ids [R, n] and scores [R, V] -> scores [R, V], as `generate` calls it."""

_SCORES_ONLY = frozenset(
    {
        hf.EpsilonLogitsWarper, hf.EtaLogitsWarper, hf.InfNanRemoveLogitsProcessor, hf.LogitNormalization,
        hf.MinPLogitsWarper, hf.SuppressTokensLogitsProcessor, hf.TemperatureLogitsWarper, hf.TopHLogitsWarper,
        hf.TopKLogitsWarper, hf.TopPLogitsWarper, hf.TypicalLogitsWarper,
    }
)  # fmt: skip
"""They look at scores alone, row by row: all rows go through in one call."""

_ROW_BY_ROW = frozenset(
    {
        hf.ExponentialDecayLengthPenalty, hf.ForcedBOSTokenLogitsProcessor, hf.ForcedEOSTokenLogitsProcessor,
        hf.MinLengthLogitsProcessor, hf.MinNewTokensLengthLogitsProcessor, hf.NoBadWordsLogitsProcessor,
        hf.NoRepeatNGramLogitsProcessor, hf.PrefixConstrainedLogitsProcessor, hf.RepetitionPenaltyLogitsProcessor,
        hf.SequenceBiasLogitsProcessor, hf.SuppressTokensAtBeginLogitsProcessor, hf.WatermarkLogitsProcessor,
    }
)  # fmt: skip
"""They treat each row of a batch alone, whichever place it has, once `_for_row` has told it."""

_NOT_A_FUNCTION = (
    hf.ClassifierFreeGuidanceLogitsProcessor, hf.DiaClassifierFreeGuidanceLogitsProcessor,
    hf.DiaEOSChannelFilterLogitsProcessor, hf.DiaEOSDelayPatternLogitsProcessor,
    hf.SynthIDTextWatermarkLogitsProcessor, hf.UnbatchedClassifierFreeGuidanceLogitsProcessor,
    hf.WhisperNoSpeechDetection,
)  # fmt: skip
"""They keep state from call to call, or mix the rows of a batch."""


def check_processors(processors: Iterable[Processor]) -> None:
    """Raise ValueError for a processor that is known not to be a function of its arguments."""
    for processor in processors:
        if isinstance(processor, _NOT_A_FUNCTION):
            raise ValueError(  # noqa: TRY004 the option that asks for it is refused
                f"spsl_cli.hf_generate cannot apply {type(processor).__name__}, which keeps state between calls or "
                "mixes the rows of a batch: leave out the option that asks for it, or drop custom_generate"
            )


class RowProcessors:
    """The processors of a generation for row `row` of its `rows`."""

    def __init__(self, processors: Iterable[Processor], row: int, rows: int) -> None:
        self._steps = [
            (type(processor) in _SCORES_ONLY, _for_row(processor, row, rows)) for processor in processors
        ]  # fmt: skip

    def __bool__(self) -> bool:
        return bool(self._steps)

    def __call__(self, scores: torch.Tensor, prefix: Callable[[int], torch.Tensor]) -> torch.Tensor:
        """Processed scores of `scores` [n, V], which may be written to; `prefix(i)` gives the ids [1, m] of row i."""
        for scores_only, apply in self._steps:
            if scores_only:
                scores = apply(torch.empty(len(scores), 0, dtype=torch.long, device=scores.device), scores)
            else:
                scores = torch.cat([apply(prefix(i), scores[i : i + 1]) for i in range(len(scores))])
        return scores


def _for_row(processor: Processor, row: int, rows: int) -> Processor:
    """`processor` for ids and scores of this row alone, [1, n] and [1, V]."""
    kind = type(processor)
    if kind not in _SCORES_ONLY | _ROW_BY_ROW:
        return _Unknown(processor, row, rows)
    if isinstance(processor, hf.PrefixConstrainedLogitsProcessor):
        function, batch_id = processor._prefix_allowed_tokens_fn, row // processor._num_beams  # noqa: SLF001 not public
        return hf.PrefixConstrainedLogitsProcessor(lambda _, ids: function(batch_id, ids), 1)
    if isinstance(processor, hf.RepetitionPenaltyLogitsProcessor):
        processor = copy(processor)
        if isinstance(processor.prompt_ignore_length, torch.Tensor):  # the padding of each row
            processor.prompt_ignore_length = processor.prompt_ignore_length[row : row + 1]
    return processor


class _Unknown:
    """A processor of the user's own. It sees its row at its place of the batch, among copies: it may know the place."""

    def __init__(self, processor: Processor, row: int, rows: int) -> None:
        self._processor, self._row, self._rows, self._checked = processor, row, rows, False

    def __call__(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        again = None if self._checked else scores.clone()
        processed = self._at_its_place(ids, scores)
        if again is not None:
            self._check(processed, self._at_its_place(ids, again))
        return processed

    def _at_its_place(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        batch = self._processor(ids.repeat(self._rows, 1), scores.repeat(self._rows, 1))
        return batch[self._row : self._row + 1]

    def _check(self, first: torch.Tensor, second: torch.Tensor) -> None:
        """State shows most often in a second call with the same arguments; so one is made, once a row."""
        if not torch.equal(first.nan_to_num(), second.nan_to_num()):
            raise ValueError(
                f"{type(self._processor).__name__} gives other scores when it is called again with the same arguments; "
                "spsl_cli.hf_generate needs logits processors that are functions of their arguments"
            )
        self._checked = True
