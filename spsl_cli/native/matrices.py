"""Weights of a linear layer as the kernels take them, products of a few rows with them, and their grids of few bits.

What comes out for a row does not depend on how many rows there are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch

from spsl_cli.native.library import required_library

BITS = {torch.float32: 32, torch.bfloat16: 16, torch.int8: 8, torch.uint8: 4}
"""How many bits a weight takes, by the type of its numbers."""


class Matrix(ctypes.Structure):
    """Weights [outputs, inputs] and a bias, by their addresses: whoever makes one keeps the tensors."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("numbers", "scale", "least", "bias")),
        *((name, ctypes.c_int) for name in ("outputs", "inputs", "bits")),
    )


def matrix(
    numbers: torch.Tensor, scale: torch.Tensor | None, least: torch.Tensor | None, bias: torch.Tensor | None
) -> Matrix:
    """The weights of `quantized.grid.Stored` and a bias [N] or None."""
    (outputs, columns), bits = numbers.shape, BITS[numbers.dtype]
    inputs = columns * 2 if numbers.dtype is torch.uint8 else columns
    return Matrix(*_pointers(numbers, scale, least), _pointer(bias), outputs, inputs, bits)


def products(x: torch.Tensor, matrices: Sequence[Matrix], out: torch.Tensor) -> None:
    """Write x [n, K] times each of the matrices, plus its bias, to `out` [n, N], their outputs one behind the other."""
    of = (Matrix * len(matrices))(*matrices)
    required_library().spsl_products(
        of, len(of), x.data_ptr(), x.stride(0), out.data_ptr(), out.stride(0), len(x), torch.get_num_threads()
    )


def quantize(weight: torch.Tensor, bits: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, bool]:
    """Weights [N, K] in 8 or 4 bits as in `quantized.grid.Stored`, and whether these stand for them exactly."""
    weight = weight.contiguous()
    (outputs, inputs), eight = weight.shape, bits == 8  # noqa: PLR2004
    numbers = torch.empty(outputs, inputs if eight else inputs // 2, dtype=torch.int8 if eight else torch.uint8)
    scale = weight.new_empty(outputs, inputs // 32)
    least = None if eight else torch.empty_like(scale)
    exact = required_library().spsl_quantize(
        weight.data_ptr(), *_pointers(numbers, scale, least), scale.numel(), bits, torch.get_num_threads()
    )
    return numbers, scale, least, bool(exact)


def dequantize(numbers: torch.Tensor, scale: torch.Tensor, least: torch.Tensor | None) -> torch.Tensor:
    """The float32 weights [N, K] that numbers of 8 or 4 bits stand for."""
    bits, count = BITS[numbers.dtype], numbers.shape[1]
    weights = scale.new_empty(len(numbers), count if bits == 8 else 2 * count)  # noqa: PLR2004
    required_library().spsl_dequantize(
        *_pointers(numbers, scale, least), weights.data_ptr(), scale.numel(), bits, torch.get_num_threads()
    )
    return weights


def _pointers(
    numbers: torch.Tensor, scale: torch.Tensor | None, least: torch.Tensor | None
) -> tuple[int | None, int | None, int | None]:
    return _pointer(numbers), _pointer(scale), _pointer(least)


def _pointer(tensor: torch.Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()
