"""A cache that looks prefilled: random rows at every position, and only the last tokens really run.

A prefill of 128K tokens takes longer than the whole check; a step takes as long over random rows as over true ones.
"""

from __future__ import annotations

import torch

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.kv_cache import DecoderCache, LayerSizes
from spsl_cli.decoding.policies import make_policy
from spsl_cli.decoding.refresh import count_mass, refresh_view
from spsl_cli.decoding.sizes import capacity, draft_sizes
from spsl_cli.decoding.sparse_view import Rows
from spsl_cli.decoding.target import TargetModel
from spsl_cli.model_shape import layer_shapes

ROOM = 64
"""Positions behind the prompt: for the longest draft, and what graphs run to warm up."""


def filled_cache(target: TargetModel, length: int, batch: int, config: DecodeConfig) -> DecoderCache:
    """A cache of `batch` sequences with `length` committed positions each, whose views hold what drafts read."""
    positions = capacity(length + ROOM)
    cache = target.allocate(LayerSizes(batch, positions), [length + ROOM] * batch)
    window = config.window
    for layer, shape in zip(cache.layers, layer_shapes(target.model.config), strict=True):
        for sequence in range(batch):
            rows = (
                torch.randn(shape.kv_heads, length - window, size, dtype=target.dtype, device=target.device)
                for size in (shape.key_size, shape.value_size)
            )
            layer.write_committed(sequence, Rows(*rows))
    cache.lengths[:] = [length - window] * batch
    for sequence in range(batch):  # this tells the layers how they are called, and leaves the queries that count first
        target.dense_forward(cache, some_tokens(target, 1, window), (sequence,), keep=window, logits=1)
        cache.commit(sequence, window, window)
    drafting = cache.drafting_layers
    for layer in drafting:
        layer.prepare_drafting(draft_sizes(config, positions, len(drafting)))
    policy = make_policy(config, len(drafting))
    for sequence in range(batch):
        count_mass(cache, sequence, policy)
        refresh_view(cache, sequence, policy)
    return cache


def some_tokens(target: TargetModel, batch: int, count: int) -> torch.Tensor:
    """Token ids [B, q]."""
    ids = torch.arange(batch * count, device=target.device).view(batch, count)
    return (7919 * ids + 11) % target.vocabulary
