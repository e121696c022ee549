"""What our prefill computed, as Hugging Face's decoding takes it: token ids, mask, and a cache with the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from transformers import DynamicCache

if TYPE_CHECKING:
    from spsl_cli.decoding.run import DecodingRun


class SharedPrefill:
    """The prompts of a prefilled run, each with its first token behind it; shorter ones are padded on the left.

    ids [B, T+1] int64; mask [B, T+1] int64, 0 at padding. RuntimeError before the prefill is complete.
    """

    def __init__(self, run: DecodingRun) -> None:
        self._run = run
        self.lengths = [len(request.prompt_ids) for request in run.requests]
        self.width = max(self.lengths)
        self.first_tokens = _first_tokens(run)
        rows, masks = [], []
        for request, first in zip(run.requests, self.first_tokens, strict=True):
            padding = self.width - len(request.prompt_ids)
            rows.append([0] * padding + [*request.prompt_ids, first])
            masks.append([0] * padding + [1] * (len(request.prompt_ids) + 1))
        device = run.target.device
        self.ids = torch.tensor(rows, device=device)
        self.mask = torch.tensor(masks, device=device)

    def cache(self) -> DynamicCache:
        """A new cache with copies of the prompts' rows [B, Hkv, T, D] of every layer; nothing of ours is shared."""
        cache = DynamicCache(config=self._run.target.model.config)
        for number, layer in enumerate(self._run.cache.layers):
            cache.update(self._copied(layer.dense.keys), self._copied(layer.dense.values), number)
        return cache

    def _copied(self, store: torch.Tensor) -> torch.Tensor:
        """The prompts' rows of store [B, Hkv, capacity, D], moved to the right where a prompt is shorter."""
        copy = store.new_zeros(store.shape[0], store.shape[1], self.width, store.shape[3])
        for row, length in enumerate(self.lengths):
            copy[row, :, self.width - length :] = store[row, :, :length]
        return copy


def _first_tokens(run: DecodingRun) -> list[int]:
    """What the prefill gives each row; afterwards the run is where it was."""
    run.rewind()
    decoding = run.decode(speculation=False)
    next(decoding)
    first = [output.token_ids[0] for output in run.outputs]
    decoding.close()  # type: ignore[attr-defined]
    run.rewind()
    return first
