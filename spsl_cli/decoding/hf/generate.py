"""The decoder inside Hugging Face's own `generate`: `model.generate(**inputs, custom_generate=spsl_cli.hf_generate)`.

`generate` prepares ids, logits processors and stopping criteria; this decodes with SparseSpec-L and gives back what
`generate` would. What it takes and refuses stands in `docs/hf-generate.md`.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel, StoppingCriteriaList
from transformers.generation.utils import GenerateDecoderOnlyOutput

from spsl_cli.decoding.chooser import Chooser, GreedyChooser, SamplingChooser
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.hf.checks import check_inputs, check_options, padding_lengths
from spsl_cli.decoding.hf.processors import Processor, RowProcessors, check_processors
from spsl_cli.decoding.hf.scores import ProcessedScores
from spsl_cli.decoding.hf.stopping import Endings
from spsl_cli.decoding.hf.stream import Streamer, TokenFeed, arguments_of_generate, streaming
from spsl_cli.decoding.row import RowRequest
from spsl_cli.decoding.sampling import SeededDice

_KEPT: WeakKeyDictionary[PreTrainedModel, SparseSpecDecoder] = WeakKeyDictionary()
"""Decoders whose probe has passed, each without its model: an entry that held it would keep it alive."""

_MAKING = threading.RLock()


def hf_generate(
    model: PreTrainedModel,
    input_ids: torch.Tensor,
    logits_processor: LogitsProcessorList,
    stopping_criteria: StoppingCriteriaList,
    generation_config: GenerationConfig,
    *,
    decode_config: DecodeConfig | None = None,
    streamer: Streamer | None = None,
    **model_kwargs: Any,
) -> torch.Tensor | GenerateDecoderOnlyOutput:
    """What `generate` calls when it is given this function as `custom_generate`; not to be called directly.

    decode_config: how to draft; give it to `generate`. The decoder's default if not given.
    streamer: taken from `generate`, which does not hand it on. Where a function of your own stands between the two,
    give it here (`functools.partial`); the prompt is then put into it as well.

    Returns LongTensor [B, T + longest new], padded on the right; with `return_dict_in_generate` a
    GenerateDecoderOnlyOutput of `sequences` alone. Greedy tokens are those of `generate`, drawn ones have its
    distribution; torch's global generator seeds the dice.

    Raises ValueError for options, inputs and logits processors that it would have to ignore and for a model in training
    mode, and UnsupportedModelError for a model that cannot be followed exactly.
    """
    frame = inspect.currentframe()
    arguments = arguments_of_generate(frame.f_back if frame else None)
    del frame  # a function that holds its own frame is a cycle
    with streaming(arguments.get("streamer"), streamer, input_ids) as streamers:
        check_options(generation_config, arguments)
        check_inputs(model, model_kwargs)
        check_processors(logits_processor)
        padding = padding_lengths(input_ids, model_kwargs.get("attention_mask"), model_kwargs.get("position_ids"))
        endings = Endings(stopping_criteria)
        fill = _fill_token(generation_config, len(input_ids), endings)
        requests = _requests(input_ids, padding, logits_processor, endings, sample=bool(generation_config.do_sample))
        run = _decoder_for(model).prepare_requests(requests, decode_config)
        for _ in run.prefill():
            pass
        feed = TokenFeed(streamers, len(requests), fill)
        for event in run.decode():
            feed.tell(event)
    sequences = _joined(input_ids, [output.token_ids for output in run.outputs], fill)
    if generation_config.return_dict_in_generate:
        return GenerateDecoderOnlyOutput(sequences=sequences)  # type: ignore[arg-type]  # a LongTensor
    return sequences


def _requests(
    input_ids: torch.Tensor, padding: list[int], processors: Sequence[Processor], endings: Endings, *, sample: bool
) -> list[RowRequest]:
    """A request for each row. Drawing the seeds moves torch's global generator on, as drawing tokens would."""
    rows = len(input_ids)
    seeds = torch.randint(2**62, (rows,)).tolist() if sample else []

    def chooser(row: int) -> Chooser:
        own = RowProcessors(processors, row, rows)
        scores = ProcessedScores(input_ids[row, : padding[row]], own, endings.eos, endings.max_length)
        return SamplingChooser(scores, SeededDice(seeds[row])) if sample else GreedyChooser(scores)

    def request(row: int) -> RowRequest:
        output = partial(endings.output, input_ids[row], row, rows)
        return RowRequest(input_ids[row, padding[row] :].tolist(), partial(chooser, row), output, greedy=not sample)

    return [request(row) for row in range(rows)]


def _decoder_for(model: PreTrainedModel) -> SparseSpecDecoder:
    """The decoder of this model; made once, as its probe takes several forwards, and anew if the model has changed."""
    with _MAKING:
        decoder = _with_model(_KEPT[model], model) if model in _KEPT else None
        if decoder is None or not decoder.target.fits():
            decoder = SparseSpecDecoder(model)
            kept = _KEPT[model] = _with_model(decoder, model)
            del kept.target.model
    return decoder


def _with_model(decoder: SparseSpecDecoder, model: PreTrainedModel) -> SparseSpecDecoder:
    other = copy(decoder)
    other.target = copy(decoder.target)
    other.target.model = model
    return other


def _fill_token(generation_config: GenerationConfig, rows: int, endings: Endings) -> int:
    """What stands behind rows that ended before the longest. ValueError where there may be such rows and no token."""
    token: torch.Tensor | None = getattr(generation_config, "_pad_token_tensor", None)
    if token is not None:
        return int(token)
    if rows > 1 and not endings.only_length:
        raise ValueError("the rows of this batch may end at different lengths: give a pad_token_id")
    return 0  # stands nowhere: all rows end together


def _joined(input_ids: torch.Tensor, outputs: list[list[int]], fill: int) -> torch.Tensor:
    """[B, T + longest]: the outputs behind the inputs."""
    longest = max(map(len, outputs))
    new = [token_ids + [fill] * (longest - len(token_ids)) for token_ids in outputs]
    return torch.cat((input_ids, input_ids.new_tensor(new)), dim=1)
