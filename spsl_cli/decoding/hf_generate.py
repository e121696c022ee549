"""The decoder inside Hugging Face's own `generate`: `model.generate(**inputs, custom_generate=spsl_cli.hf_generate)`.

`generate` prepares ids, logits processors and stopping criteria; this decodes with SparseSpec-L and gives back what
`generate` would. What it takes and refuses stands in `docs/hf-generate.md`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from contextlib import ExitStack
from copy import copy
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel, StoppingCriteriaList
from transformers.generation import GenerateDecoderOnlyOutput
from transformers.generation.streamers import BaseStreamer

from spsl_cli.decoding.chooser import Chooser
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.hf_checks import check_inputs, check_options, padding_lengths
from spsl_cli.decoding.hf_chooser import ProcessedGreedyChooser, ProcessedSamplingChooser, ProcessedScores
from spsl_cli.decoding.hf_processors import Processor, RowProcessors, check_processors
from spsl_cli.decoding.hf_stopping import Endings
from spsl_cli.decoding.hf_stream import TokenFeed, arguments_of_generate
from spsl_cli.decoding.row import RowRequest
from spsl_cli.decoding.sampling import SeededDice

_KEPT: WeakKeyDictionary[PreTrainedModel, SparseSpecDecoder] = WeakKeyDictionary()
"""Decoders whose probe has passed, each without its model: an entry that held it would keep it alive."""


def hf_generate(
    model: PreTrainedModel,
    input_ids: torch.Tensor,
    logits_processor: LogitsProcessorList,
    stopping_criteria: StoppingCriteriaList,
    generation_config: GenerationConfig,
    *,
    decode_config: DecodeConfig | None = None,
    streamer: BaseStreamer | None = None,
    **model_kwargs: Any,
) -> torch.Tensor | GenerateDecoderOnlyOutput:
    """What `generate` calls when it is given this function as `custom_generate`; not to be called directly.

    decode_config: how to draft; give it to `generate`. The decoder's default if not given.
    streamer: taken from `generate`, which does not hand it on. Where a function of your own stands between the two, give
    it here (`functools.partial`); the prompt is then put into it as well.

    Returns LongTensor [B, T + longest new], padded on the right; with `return_dict_in_generate` a
    GenerateDecoderOnlyOutput of `sequences` alone. Greedy tokens are those of `generate`, drawn ones have its
    distribution; torch's global generator seeds the dice.

    Raises ValueError for options, inputs and logits processors that it would have to ignore and for a model in training
    mode, and UnsupportedModelError for a model that cannot be followed exactly.
    """
    frame = inspect.currentframe()
    arguments = arguments_of_generate(frame.f_back if frame else None)
    del frame  # a function that holds its own frame is a cycle
    own = arguments.get("streamer")
    streamers: list[BaseStreamer] = [] if own is None else [own]
    with ExitStack() as ending:
        for told in streamers:
            ending.callback(told.end)
        if streamer is not None and streamer is not own:
            ending.callback(streamer.end)
            streamer.put(input_ids.cpu())
            streamers.append(streamer)
        check_options(generation_config, arguments)
        check_inputs(model, model_kwargs)
        check_processors(logits_processor)
        padding = padding_lengths(input_ids, model_kwargs.get("attention_mask"), model_kwargs.get("position_ids"))
        endings = Endings(stopping_criteria)
        fill = _padding_token(generation_config, len(input_ids), endings)
        requests = _requests(input_ids, padding, logits_processor, endings, bool(generation_config.do_sample))
        run = _decoder_for(model).prepare_requests(requests, decode_config)
        feed = TokenFeed(streamers, len(requests), fill)
        for _ in run.prefill():
            pass
        for event in run.decode():
            feed.tell(event)
        sequences = _joined(input_ids, [output.token_ids for output in run.outputs], fill)
    if generation_config.return_dict_in_generate:
        return GenerateDecoderOnlyOutput(sequences=sequences)
    return sequences


def _requests(
    input_ids: torch.Tensor, padding: list[int], processors: Iterable[Processor], endings: Endings, sample: bool
) -> list[RowRequest]:
    """A request for each row. Drawing the seeds moves torch's global generator on, as drawing tokens would."""
    rows, processors = len(input_ids), list(processors)
    seeds = torch.randint(2**62, (rows,)).tolist() if sample else [None] * rows

    def chooser(row: int) -> Chooser:
        padding_ids = input_ids[row, : padding[row]]
        scores = ProcessedScores(padding_ids, RowProcessors(processors, row, rows), endings.eos, endings.max_length)
        seed = seeds[row]
        return ProcessedGreedyChooser(scores) if seed is None else ProcessedSamplingChooser(scores, SeededDice(seed))

    return [
        RowRequest(
            input_ids[row, padding[row] :].tolist(),
            partial(chooser, row),
            partial(endings.output, input_ids[row], row, rows),
            greedy=not sample,
        )
        for row in range(rows)
    ]


def _decoder_for(model: PreTrainedModel) -> SparseSpecDecoder:
    """The decoder of this model; made once, as its probe takes several forwards, and anew when the model has moved."""
    kept = _KEPT.get(model)
    weight = model.get_input_embeddings().weight
    now = (weight.device, weight.shape[0], model.dtype)
    if kept is None or now != (kept.target.device, kept.target.vocabulary, kept.target.dtype):
        kept = SparseSpecDecoder(model)
        kept.target = copy(kept.target)
        del kept.target.model
        _KEPT[model] = kept
    decoder = copy(kept)
    decoder.target = copy(kept.target)
    decoder.target.model = model
    return decoder


def _padding_token(generation_config: GenerationConfig, rows: int, endings: Endings) -> int:
    """What stands behind rows that ended before the longest. ValueError where there may be such rows and no token."""
    token = getattr(generation_config, "_pad_token_tensor", None)
    if token is not None:
        return int(token)
    if rows > 1 and not endings.only_length:
        raise ValueError("the rows of this batch may end at different lengths: give a pad_token_id")
    return 0  # stands nowhere: all rows end together


def _joined(input_ids: torch.Tensor, outputs: list[list[int]], fill: int) -> torch.Tensor:
    longest = max(map(len, outputs))
    new = [token_ids + [fill] * (longest - len(token_ids)) for token_ids in outputs]
    return torch.cat((input_ids, input_ids.new_tensor(new)), dim=1)
