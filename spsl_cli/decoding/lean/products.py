"""Products with the weights of linear layers, and their layout.

A step of decoding multiplies every weight with one row, a verify with a few. On a CPU the stock product costs twice as
much with two rows as with one; with weights in oneDNN's blocked layout five rows cost little more than one, which is
what makes a verify cheap (docs/log.md has the figures).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard

import torch
from torch import nn

from spsl_cli.decoding.lean.modules import untouched
from spsl_cli.native import kernels
from spsl_cli.quantized.grid import as_it_is
from spsl_cli.quantized.linear import QuantizedLinear, bytes_of, multiply
from spsl_cli.quantized.sizes import GROUP

Linear = nn.Linear | QuantizedLinear
"""What a merged layer is made of, all of one of the two kinds."""

ROWS_PACKED_FOR = 32
"""The number of rows told to oneDNN: any from 2 on gives a layout that is fast from 1 row to hundreds."""


class Product(Protocol):
    """x [..., K] -> [..., N], N the outputs of one linear layer or of several, one behind the other."""

    nbytes: int
    """Bytes of the weights that it reads."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply, and add the biases."""
        ...


class SharedProduct:
    """The layers' own weights and products, results put together."""

    def __init__(self, linears: Sequence[Linear]) -> None:
        self._linears = linears
        self.nbytes = sum(map(bytes_of, linears))
        self._quantized = [linear for linear in linears if isinstance(linear, QuantizedLinear)]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply, and add the biases."""
        if self._quantized:
            return multiply(self._quantized, x)
        outputs = [nn.functional.linear(x, linear.weight, linear.bias) for linear in self._linears]
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, -1)


class PackedProduct:
    """A copy of the weights in oneDNN's layout, as one product."""

    def __init__(self, linears: Sequence[Linear]) -> None:
        biases: list[torch.Tensor] = [linear.bias for linear in linears if linear.bias is not None]
        if biases and len(biases) < len(linears):
            raise ValueError("either all of the layers have a bias, or none")
        with torch.inference_mode():
            self._bias = torch.cat(biases) if biases else None
            weight = torch.cat([linear.weight for linear in linears])
            self.nbytes = weight.nbytes
            self._weight = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS_PACKED_FOR)  # noqa: SLF001 no public one

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply, and add the biases."""
        result: torch.Tensor = torch.ops.mkldnn._linear_pointwise(  # noqa: SLF001 no public one
            x, self._weight, self._bias, "none", [], ""
        )
        return result


def kept(linears: Sequence[Linear]) -> list[QuantizedLinear] | None:
    """The same layers with their weights kept as the compiled kernels take them; None where they take them not.

    Weights out of a file of few bits (GGUF's Q4_0, Q4_1, Q8_0) lie on its grid, and most others are bfloat16 made
    float32: what takes less memory takes less time, and is the same.
    """
    if not kernels.available() or any(linear.in_features % GROUP for linear in linears):
        return None
    return [
        linear if isinstance(linear, QuantizedLinear) else QuantizedLinear(linear, as_it_is(linear.weight.detach()))
        for linear in linears
    ]


def packed(linears: Sequence[Linear]) -> Product:
    """A product of these layers' weights laid out anew: as the compiled kernels take them, else by oneDNN."""
    same = kept(linears)
    return PackedProduct(linears) if same is None else SharedProduct(same)


def can_be_packed(module: nn.Module) -> TypeGuard[nn.Linear]:
    """Whether the module is a plain linear layer of float32 weights in this machine's memory, and oneDNN is there."""
    return (
        type(module) is nn.Linear
        and untouched(module)
        and module.weight.device.type == "cpu"
        and module.weight.dtype is torch.float32
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    )
