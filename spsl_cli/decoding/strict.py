"""Does strict mode hold for this model on this machine? The same tokens, run at every place in a block, must agree.

Strict mode rests on kernels that round a row the same way whatever its index and its neighbours. Those of the CPU do;
that cannot be known of every device and every kind of layer, so it is tried. Wider types are not held to it: in float32
the output is the same without.
"""

from __future__ import annotations

import torch

from spsl_cli.decoding.config import STRICT_BLOCK, STRICT_ROWS
from spsl_cli.decoding.kv_cache import LayerSizes
from spsl_cli.decoding.positions import exact_positions
from spsl_cli.decoding.target import TargetModel
from spsl_cli.errors import UnsupportedModelError

STEPS = 8
"""Forwards compared, each one position further; half of them end in one block of keys, half in the next."""


def check_strict(target: TargetModel) -> None:
    """Compare the logits of tokens that several strict forwards run, bit for bit; once for a model of a 16-bit type.

    Raises UnsupportedModelError if any of them differ.
    """
    if target.strict_checked or target.dtype.itemsize > 2:  # noqa: PLR2004 bytes
        return
    prompt = STRICT_BLOCK - STRICT_ROWS - STEPS // 2
    total = STRICT_BLOCK * 2
    token_ids = (torch.arange(total, device=target.device) * 7919 + 11)[None] % target.vocabulary
    end = min(total, exact_positions(target.model.config) or total)  # positions behind it are run as the last one
    cache = target.allocate(LayerSizes(1, total, zeroed=True), [end])
    target.dense_forward(cache, token_ids[:, :prompt], (0,))
    cache.commit(0, prompt, 1)
    seen: dict[int, torch.Tensor] = {}
    for step in range(STEPS):
        begin, rows = prompt + step, STRICT_ROWS - step  # fewer rows as well, as shorter drafts have
        logits = target.dense_forward(cache, token_ids[:, begin : begin + rows], (0,), strict=True)[0]
        for i, row in enumerate(logits):
            if not torch.equal(seen.setdefault(begin + i, row.clone()), row):
                raise UnsupportedModelError(
                    f"strict mode does not hold for {type(target.model).__name__} on {target.device.type}: the same "
                    "token is rounded otherwise at another place of a forward",
                    hint="leave strict out, or load the model in float32",
                )
        cache.commit(0, 1, 1)
    target.strict_checked = True
