"""Hugging Face's own decoding as a baseline: its cache, its eager attention, one token a step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def eager_loop(model: PreTrainedModel, prompt_ids: Sequence[int], new_tokens: int) -> tuple[list[int], float]:
    """Decode greedily; the tokens, and the seconds from the first to the last of them (the prefill is not counted).

    The prompt goes through the model's present attention (eager would hold scores of the whole prompt at once), the
    steps through eager attention on a `DynamicCache`: what `generate` does without a fused kernel.
    """
    import torch  # noqa: PLC0415
    from transformers import DynamicCache  # noqa: PLC0415

    cache = DynamicCache(config=model.config)
    ids = torch.tensor([list(prompt_ids)], device=model.device)
    before = model.config._attn_implementation  # noqa: SLF001 there is no public way to read it
    with torch.inference_mode():
        logits = model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=1).logits
        tokens = [int(logits[0, -1].argmax())]
        model.set_attn_implementation("eager")
        try:
            begun = time.perf_counter()
            while len(tokens) < new_tokens:
                step = torch.tensor([[tokens[-1]]], device=model.device)
                logits = model(input_ids=step, cache=cache, use_cache=True, logits_to_keep=1).logits
                tokens.append(int(logits[0, -1].argmax()))
            seconds = time.perf_counter() - begun
        finally:
            model.set_attn_implementation(before)
    return tokens, seconds
