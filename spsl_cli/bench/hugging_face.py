"""Hugging Face's own decoding as a baseline: its cache, its eager attention, one token a step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class EagerLoop:
    """Greedy decoding with a `DynamicCache` and eager attention: what `generate` does without a fused kernel.

    The prompt is prefilled once, through the model's present attention (eager would hold scores of the whole prompt at
    once); each decoding starts from it again.
    """

    def __init__(self, model: PreTrainedModel, prompt_ids: Sequence[int]) -> None:
        import torch  # noqa: PLC0415
        from transformers import DynamicCache  # noqa: PLC0415

        self._model, self._length = model, len(prompt_ids)
        self._cache = DynamicCache(config=model.config)
        with torch.inference_mode():
            ids = torch.tensor([list(prompt_ids)], device=model.device)
            logits = model(input_ids=ids, cache=self._cache, use_cache=True, logits_to_keep=1).logits
        self._first = int(logits[0, -1].argmax())

    def decode(self, new_tokens: int) -> tuple[list[int], float]:
        """The tokens, and the seconds from the first to the last of them (the prefill is not counted)."""
        import torch  # noqa: PLC0415

        surplus = self._cache.get_seq_length() - self._length
        if surplus:
            self._cache.crop(-surplus)
        tokens = [self._first]
        before = self._model.config._attn_implementation  # noqa: SLF001 there is no public way to read it
        self._model.set_attn_implementation("eager")
        try:
            with torch.inference_mode():
                begun = time.perf_counter()
                while len(tokens) < new_tokens:
                    step = torch.tensor([[tokens[-1]]], device=self._model.device)
                    logits = self._model(input_ids=step, cache=self._cache, use_cache=True, logits_to_keep=1).logits
                    tokens.append(int(logits[0, -1].argmax()))
                return tokens, time.perf_counter() - begun
        finally:
            self._model.set_attn_implementation(before)
