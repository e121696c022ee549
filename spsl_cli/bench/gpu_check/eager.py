"""A step of Hugging Face's own decoding: its cache, its eager attention, over the rows of ours."""

from __future__ import annotations

import torch
from transformers import DynamicCache

from spsl_cli.bench.gpu_check.filled import some_tokens
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.target import TargetModel


class EagerStep:
    """One token of every sequence; called again it runs the same step."""

    def __init__(self, target: TargetModel, cache: DecoderCache) -> None:
        self._model, self._length = target.model, cache.lengths[0]
        self._cache = DynamicCache(config=target.model.config)
        for number, layer in enumerate(cache.layers):
            keys, values = (store[:, :, : self._length] for store in layer.dense)
            self._cache.update(keys, values, number)
        batch = len(cache.lengths)
        self._ids = some_tokens(target, batch, 1)
        self._positions = torch.full((batch, 1), self._length, device=target.device)

    def __call__(self) -> None:
        """Run it, and put the cache back."""
        before = self._model.config._attn_implementation  # noqa: SLF001 there is no public way to read it
        self._model.set_attn_implementation("eager")
        try:
            with torch.inference_mode():
                self._model(
                    input_ids=self._ids, position_ids=self._positions, cache=self._cache, use_cache=True,
                    logits_to_keep=1,
                )  # fmt: skip
                self._cache.crop(-1)
        finally:
            self._model.set_attn_implementation(before)
