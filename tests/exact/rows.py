"""Comparing rows: whose order says nothing, or that come out of several forwards."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from spsl_cli.decoding.kv_cache import LayerSizes
from spsl_cli.decoding.target import TargetModel


def in_order(rows: torch.Tensor) -> list[list[float]]:
    """Rows [n, D] sorted, each as numbers: equal for the same rows in another order."""
    return sorted(rows.tolist())


def logits_in_parts(target: TargetModel, prompt: Sequence[int], sizes: Sequence[int]) -> torch.Tensor:
    """Logits [1, n, V] behind a prefill of 100 tokens, by forwards of so many rows each."""
    ids, cache, parts = torch.tensor([list(prompt)]), target.allocate(LayerSizes(1, 128)), []
    target.dense_forward(cache, ids[:, :100], (0,))
    cache.commit(0, 100, 1)
    for rows in sizes:
        start = cache.lengths[0]
        parts.append(target.dense_forward(cache, ids[:, start : start + rows], (0,)))
        cache.commit(0, rows, 1)
    return torch.cat(parts, 1)
