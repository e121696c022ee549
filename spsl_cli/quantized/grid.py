"""Weights as they are kept: float32, bfloat16, or small whole numbers with a scale for every 32, as in GGUF files.

A weight of 8 bits (Q8_0) is a number from -127 to 127 times the scale; one of 4 bits (Q4_1) a number from 0 to 15 times
the scale, plus the least weight of its group. Weights of such files lie on the grid already, and are not changed.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch

from spsl_cli.native import kernels, matrices
from spsl_cli.quantized.sizes import GROUP

Bits = Literal[8, 4]
_HIGHEST = {8: 127, 4: 15}
_LEAST_NORMAL = torch.finfo(torch.float16).tiny


class Stored(NamedTuple):
    """Weights [N, K]: float32 or bfloat16 [N, K], or bytes [N, K] (int8, 8 bits) or [N, K / 2] (uint8, 4 bits).

    Bytes have scales [N, K / 32], and those of 4 bits least weights likewise. Such a byte holds weight i of its group
    in its lower half and weight i + 16 in its upper one.
    """

    numbers: torch.Tensor
    scale: torch.Tensor | None = None
    least: torch.Tensor | None = None

    @property
    def bits(self) -> int:
        """How many a weight takes, its share of the scale aside."""
        return matrices.BITS[self.numbers.dtype]


def quantize(weight: torch.Tensor, bits: Bits) -> Stored:
    """The grid's nearest weights to `weight` [N, K], K a multiple of 32."""
    if kernels.available():
        return Stored(*matrices.quantize(weight.float(), bits)[:3])
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
    numbers, scale, least = stored
    if scale is None:
        return numbers.float()
    if kernels.available():
        return matrices.dequantize(numbers, scale, least)
    if least is None:
        return (numbers.view(len(numbers), -1, GROUP) * scale[..., None]).flatten(1)
    halves = numbers.view(len(numbers), -1, GROUP // 2)
    steps = torch.cat((halves & 15, halves >> 4), 2).double()  # rounded once, as a fused operation does
    return torch.addcmul(least[..., None].double(), steps, scale[..., None].double()).float().flatten(1)


def as_it_is(weight: torch.Tensor) -> Stored:
    """The same float32 weights [N, K], K a multiple of 32, in the least memory: on a grid that has them exactly, as
    bfloat16 if they all are, else themselves.

    By the compiled kernels alone.
    """
    for bits in (4, 8):
        for part in (weight[:1], weight):  # nearly always the first row tells
            numbers, scale, least, exact = matrices.quantize(part, bits)
            if not exact:
                break
        else:
            return Stored(numbers, scale, least)
    if all(torch.equal(part.bfloat16().float(), part) for part in (weight[:1], weight)):
        return Stored(weight.bfloat16())
    return Stored(weight.contiguous())


def _steps(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return torch.where(scale == 0, 0.0, x / scale).round()


def _as_in_files(x: torch.Tensor) -> torch.Tensor:
    """In float16, as files keep them, unless that is too coarse."""
    return torch.where(x.abs() < _LEAST_NORMAL, x, x.half().float())
