"""Float weights <-> whole numbers with a scale for every 32 of them, as GGUF's Q8_0 and Q4_0 have it.

The scale of a group is set by its weight of the largest magnitude, which is met exactly. Weights that lie on the grid
already, such as those of a Q8_0 file, are not changed.
"""

from __future__ import annotations

from typing import Literal

import torch

Bits = Literal[8, 4]
GROUP = 32


def quantize(weight: torch.Tensor, bits: Bits) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights [N, K], K a multiple of 32 -> bytes [N, K] (8 bits) or [N, K / 2] (4 bits), and scales [N, K / 32].

    A byte of 4-bit weights holds weight i of its group in its lower half and weight i + 16 in its upper one, 8 added to
    each.
    """
    groups = weight.float().view(len(weight), -1, GROUP)
    largest = groups.gather(2, groups.abs().argmax(2, keepdim=True))  # with its sign
    scale = largest.abs() / 127 if bits == 8 else largest / -8  # noqa: PLR2004 the ends of the two ranges
    numbers = torch.where(scale == 0, 0.0, groups / scale).round()
    if bits == 8:  # noqa: PLR2004
        return numbers.to(torch.int8).flatten(1), scale.squeeze(2)
    shifted = (numbers.clamp(-8, 7) + 8).to(torch.uint8)
    low, high = shifted.chunk(2, 2)
    return (low | high << 4).flatten(1), scale.squeeze(2)


def dequantize(stored: torch.Tensor, scale: torch.Tensor, bits: Bits) -> torch.Tensor:
    """The float32 weights [N, K] that they stand for."""
    if bits == 8:  # noqa: PLR2004
        numbers = stored.view(len(stored), -1, GROUP)
    else:
        halves = stored.view(len(stored), -1, GROUP // 2)
        numbers = torch.cat((halves & 15, halves >> 4), 2).to(torch.int8) - 8
    return (numbers * scale[..., None]).flatten(1)
