"""Float weights <-> small whole numbers, with a scale for every 32 of them, as GGUF's Q8_0 and Q4_1 have it.

A weight of 8 bits is a number from -127 to 127 times the scale; one of 4 bits a number from 0 to 15 times the scale,
plus the least weight of its group. Weights of such files lie on the grid already, and are not changed.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch

from spsl_cli.native import kernels

Bits = Literal[8, 4]
GROUP = 32
_HIGHEST = {8: 127, 4: 15}
_LEAST_NORMAL = torch.finfo(torch.float16).tiny


class Stored(NamedTuple):
    """Weights [N, K]: bytes [N, K] (8 bits) or [N, K / 2] (4 bits), scales [N, K / 32], least weights likewise or None.

    A byte of 4-bit weights holds weight i of its group in its lower half and weight i + 16 in its upper one.
    """

    numbers: torch.Tensor
    scale: torch.Tensor
    least: torch.Tensor | None

    @property
    def bits(self) -> Bits:
        """How many a weight takes, its share of the scale aside."""
        return 8 if self.least is None else 4


def quantize(weight: torch.Tensor, bits: Bits) -> Stored:
    """The grid's nearest weights to `weight` [N, K], K a multiple of 32."""
    if kernels.available():
        return Stored(*kernels.quantize(weight.float(), bits)[:3])
    groups = weight.float().view(len(weight), -1, GROUP)
    if bits == 8:  # noqa: PLR2004
        scale = groups.abs().amax(2, keepdim=True) / _HIGHEST[8]
        numbers = _steps(groups, scale)
        return Stored(numbers.to(torch.int8).flatten(1), scale.squeeze(2), None)
    least, most = groups.aminmax(dim=2, keepdim=True)
    scale, least = _as_in_files((most - least) / _HIGHEST[4]), _as_in_files(least)
    numbers = _steps(groups - least, scale).clamp(0, _HIGHEST[4]).to(torch.uint8)
    low, high = numbers.chunk(2, 2)
    return Stored((low | high << 4).flatten(1), scale.squeeze(2), least.squeeze(2))


def dequantize(stored: Stored) -> torch.Tensor:
    """The float32 weights [N, K] that they stand for."""
    if kernels.available():
        return kernels.dequantize(*stored)
    if stored.least is None:
        return (stored.numbers.view(len(stored.numbers), -1, GROUP) * stored.scale[..., None]).flatten(1)
    halves = stored.numbers.view(len(stored.numbers), -1, GROUP // 2)
    numbers = torch.cat((halves & 15, halves >> 4), 2).double()  # rounded once, as a fused operation does
    return torch.addcmul(stored.least[..., None].double(), numbers, stored.scale[..., None].double()).float().flatten(1)


def on_grid(weight: torch.Tensor) -> Stored | None:
    """Float32 weights that some grid has exactly, as that grid has them: the same model in less memory. Else None.

    By the compiled kernels alone.
    """
    if weight.shape[1] % GROUP:
        return None
    for bits in (4, 8):
        for part in (weight[:1], weight):  # nearly always the first row tells
            numbers, scale, least, exact = kernels.quantize(part, bits)
            if not exact:
                break
        else:
            return Stored(numbers, scale, least)
    return None


def _steps(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return torch.where(scale == 0, 0.0, x / scale).round()


def _as_in_files(x: torch.Tensor) -> torch.Tensor:
    """In float16, as files keep them, unless that is too coarse."""
    return torch.where(x.abs() < _LEAST_NORMAL, x, x.half().float())
