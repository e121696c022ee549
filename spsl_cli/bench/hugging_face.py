"""Hugging Face's own decoding as a baseline: its cache, its eager attention, one token a step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

PADDED_CHUNK = 512


class EagerLoop:
    """Greedy decoding with a `DynamicCache` and eager attention: what `generate` does without a fused kernel.

    The prompts are prefilled once, left-padded to one length, through the model's present attention (eager would hold
    scores of whole prompts at once); padded ones in chunks, since a mask makes other kernels hold them as well. Each
    decoding starts from there again.
    """

    def __init__(self, model: PreTrainedModel, prompts: Sequence[Sequence[int]]) -> None:
        import torch  # noqa: PLC0415
        from transformers import DynamicCache  # noqa: PLC0415

        self._model, self._length = model, max(map(len, prompts))
        self._cache = DynamicCache(config=model.config)
        padding = torch.tensor([[self._length - len(prompt)] for prompt in prompts], device=model.device)
        ids = [[0] * (self._length - len(prompt)) + list(prompt) for prompt in prompts]
        self._padding = padding if bool(padding.any()) else None
        whole = torch.tensor(ids, device=model.device)
        chunk = self._length if self._padding is None else PADDED_CHUNK
        with torch.inference_mode():
            for begin in range(0, self._length, chunk):
                part = whole[:, begin : begin + chunk]
                self._first = self._step(part, begin + part.shape[1])

    def _step(self, token_ids: torch.Tensor, end: int) -> list[int]:
        """Run token_ids [B, q] up to column `end`; the likeliest next token of every row."""
        import torch  # noqa: PLC0415

        mask = positions = None
        if self._padding is not None:
            columns = torch.arange(end, device=token_ids.device)
            mask = (columns >= self._padding).long()
            positions = (columns[-token_ids.shape[1] :] - self._padding).clamp_min(0)
        logits = self._model(
            input_ids=token_ids,
            attention_mask=mask,
            position_ids=positions,
            cache=self._cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits
        best: list[int] = logits[:, -1].argmax(-1).tolist()
        return best

    def decode(self, new_tokens: int) -> tuple[list[list[int]], float]:
        """The tokens of every row, and the seconds from the first to the last of them (the prefill is not counted)."""
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
                    step = torch.tensor(tokens[-1], device=self._model.device)[:, None]
                    tokens.append(self._step(step, self._length + len(tokens)))
                seconds = time.perf_counter() - begun
        finally:
            self._model.set_attn_implementation(before)
        return [list(row) for row in zip(*tokens, strict=True)], seconds
