"""What of Hugging Face's `generate` is taken, and what is refused by name: options, model inputs, attention masks.

Refused means ValueError, or UnsupportedModelError where it is the model, before anything is decoded. Nothing that would
change the result is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from transformers import DynamicCache, GenerationConfig, PreTrainedModel
from transformers.generation.configuration_utils import GenerationMode

from spsl_cli.errors import UnsupportedModelError

_WHAT_TO_DO = "leave it out, or drop custom_generate"

_ALLOWED: dict[str, tuple[Any, ...]] = {
    "output_scores": (None, False),
    "output_logits": (None, False),
    "output_attentions": (None, False),
    "output_hidden_states": (None, False),
    "cache_implementation": (None, "dynamic"),
    "use_cache": (None, True),
    "compile_config": (None,),
    "guidance_scale": (None, 1),
    "prefill_chunk_size": (None,),
}
"""Options that the decoder serves with these values only."""

_INSTEAD = {"prefill_chunk_size": "give decode_config=DecodeConfig(prefill_chunk=...) instead"}

_MODE_OPTIONS = (
    "num_beams", "num_beam_groups", "constraints", "force_words_ids", "penalty_alpha", "dola_layers", "use_mtp",
    "prompt_lookup_num_tokens", "assistant_early_exit",
)  # fmt: skip
"""What asks for another way of decoding than greedy search or sampling."""

_NOT_FORWARDED = ("assistant_model", "synced_gpus")
"""Arguments of `generate` that no `custom_generate` function receives."""

_HARMLESS = frozenset({"attention_mask", "position_ids", "cache", "use_cache", "logits_to_keep"})
"""Model inputs that are looked at elsewhere, or only say how `generate` would have called the model."""


def check_options(generation_config: GenerationConfig, arguments: Mapping[str, Any]) -> None:
    """Refuse what another way of decoding, or another output, would be needed for.

    arguments: those of `generate`, as far as they are known.
    """
    mode = generation_config.get_generation_mode()
    if mode not in (GenerationMode.GREEDY_SEARCH, GenerationMode.SAMPLE):
        values = {name: getattr(generation_config, name, None) for name in _MODE_OPTIONS}
        asked = ", ".join(f"{name}={value!r}" for name, value in values.items() if _asks(value))
        raise _refusal(f"{mode.value.replace('_', ' ')} ({asked})")
    for name in _NOT_FORWARDED:
        if arguments.get(name):
            raise _refusal(f"{name}=")
    for name, allowed in _ALLOWED.items():
        value = getattr(generation_config, name, None)
        if value not in allowed:
            raise _refusal(f"{name}={value!r}", _INSTEAD.get(name, _WHAT_TO_DO))


def _asks(value: Any) -> bool:
    """Whether a value of `_MODE_OPTIONS` asks for something; a 1 does not, as the number of beams."""
    return value is True or value not in (None, 1, False)


def check_inputs(model: PreTrainedModel, model_kwargs: Mapping[str, Any]) -> None:
    """Refuse models and model inputs that the decoder does not know how to follow."""
    if model.config.is_encoder_decoder:
        raise UnsupportedModelError(
            f"{type(model).__name__} is an encoder-decoder model: spsl_cli.hf_generate decodes causal language models",
            hint="drop custom_generate",
        )
    for name, value in model_kwargs.items():
        if name not in _HARMLESS and value is not None:
            raise _refusal(f"{name}=")
    cache = model_kwargs.get("cache")
    made_by_generate = type(cache) is DynamicCache and not getattr(cache, "_is_user_defined", False)
    if cache is not None and (not made_by_generate or cache.get_seq_length()):
        raise _refusal("a cache of its own (cache= or past_key_values=)")


def padding_lengths(input_ids: torch.Tensor, mask: torch.Tensor | None, positions: torch.Tensor | None) -> list[int]:
    """How many tokens of each row of input_ids [B, T] are padding to the left of its prompt.

    Raises ValueError for masked tokens anywhere else, a row without a prompt, and positions that do not follow.
    """
    if input_ids.dim() != 2 or (mask is not None and mask.shape != input_ids.shape):  # noqa: PLR2004
        shapes = f"{tuple(input_ids.shape)}, {None if mask is None else tuple(mask.shape)}"
        raise ValueError(
            f"spsl_cli.hf_generate needs input_ids [B, T] and an attention_mask of that shape, got {shapes}"
        )
    used = torch.ones_like(input_ids, dtype=torch.bool) if mask is None else mask != 0
    for row, tokens in enumerate(used):
        if not tokens.any():
            raise ValueError(f"the attention_mask leaves no prompt in row {row}")
        if (tokens[1:] < tokens[:-1]).any():
            raise ValueError(
                f"the attention_mask of row {row} has zeros behind ones, but spsl_cli.hf_generate takes padding on the "
                "left only: set padding_side='left' in the tokenizer; where none was given, `generate` took padding "
                "tokens in the prompt for padding: give one"
            )
    _check_positions(used, positions)
    lengths: list[int] = (~used).sum(1).tolist()
    return lengths


def _check_positions(used: torch.Tensor, positions: torch.Tensor | None) -> None:
    if positions is None:
        return
    expected = (used.long().cumsum(-1) - 1)[used]
    if positions.dim() != 2 or positions.shape[-1] != used.shape[-1]:  # noqa: PLR2004
        raise _refusal(f"position_ids of shape {tuple(positions.shape)}")
    if not torch.equal(positions.to(used.device).expand_as(used)[used], expected):
        raise _refusal("position_ids other than 0, 1, 2 ... from the first token of the prompt")


def _refusal(what: str, instead: str = _WHAT_TO_DO) -> ValueError:
    return ValueError(f"spsl_cli.hf_generate does not take {what}: {instead}")
