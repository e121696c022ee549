"""Does this model, run on our cache and attention, compute what it computes by itself? A short forward tells.

A configuration alone does not settle it: a model may have layers that keep state elsewhere, or attention that scales,
caps or masks in its own way.
"""

from __future__ import annotations

import torch

from spsl_cli.decoding.kv_cache import LayerSizes
from spsl_cli.decoding.target import FEW_ROWS, TargetModel
from spsl_cli.errors import UnsupportedModelError

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3}
LOOSE_TOLERANCE = 0.1
"""Largest difference of logits, as a share of their largest magnitude; the loose one is for 16 bit."""


def check_exact(target: TargetModel) -> None:
    """Compare logits over a prefill chunk, a verify and a plain step with the model's own forward.

    Raises UnsupportedModelError, with what differed.
    """
    name = type(target.model).__name__
    parts = (FEW_ROWS + 3, 5, 1)
    total = sum(parts)
    token_ids = (torch.arange(total, device=target.device) * 7919 + 11)[None] % target.vocabulary
    with torch.inference_mode():
        expected = target.model(input_ids=token_ids, use_cache=False).logits[0].float()
    cache = target.allocate(LayerSizes(1, total))
    logits, begin = [], 0
    for size in parts:
        part = token_ids[:, begin : begin + size]
        logits.append(target.dense_forward(cache, part, (0,))[0].float())
        cache.commit(0, size, 1)
        begin += size
    unused = [i for i, layer in enumerate(cache.layers) if not layer.is_initialized]
    if unused:
        raise UnsupportedModelError(f"{name}: layers {unused[:8]} do not attend through the cache")
    difference = (torch.cat(logits) - expected).abs().max() / expected.abs().max().clamp_min(1e-6)
    tolerance = TOLERANCE.get(target.dtype, LOOSE_TOLERANCE)
    if not difference <= tolerance:
        raise UnsupportedModelError(
            f"{name}: logits on the decoder's attention differ from the model's own by {float(difference):.1e} "
            f"of their magnitude (at most {tolerance:g} is rounding)"
        )
