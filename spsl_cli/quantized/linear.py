"""A linear layer whose weights are kept in 32, 16, 8 or 4 bits, and are float32 in arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from spsl_cli.native import kernels, matrices
from spsl_cli.quantized.grid import Bits, Stored, dequantize, quantize
from spsl_cli.quantized.sizes import GROUP

MOST_ROWS = 48
"""Up to this many rows the compiled product is faster; beyond, the weights are made float32 once for all rows."""


class QuantizedLinear(nn.Module):
    """Takes the place of an `nn.Linear`; its weights are what `dequantize` gives, and gradients do not pass."""

    numbers: torch.Tensor
    scale: torch.Tensor | None
    least: torch.Tensor | None
    bias: torch.Tensor | None
    in_features: int
    out_features: int

    def __init__(self, linear: nn.Linear | QuantizedLinear, stored: Stored) -> None:
        super().__init__()
        self.in_features, self.out_features, self.bits = linear.in_features, linear.out_features, stored.bits
        for name, tensor in stored._asdict().items():
            self.register_buffer(name, tensor)
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach().float())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply x [..., K] -> [..., N], in float32."""
        return multiply([self], x)

    @property
    def stored(self) -> Stored:
        """The weights as they lie in memory."""
        return Stored(self.numbers, self.scale, self.least)

    @property
    def weight(self) -> torch.Tensor:
        """The float32 weights [N, K]; of fewer bits, made anew at each call."""
        return dequantize(self.stored)

    def matrix(self) -> matrices.Matrix:
        """The layer as compiled kernels take it, for as long as its tensors are these."""
        return matrices.matrix(*self.stored, self.bias)

    def extra_repr(self) -> str:
        """As `nn.Linear` has it, and the bits."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bits={self.bits}"


def multiply(linears: Sequence[QuantizedLinear], x: torch.Tensor) -> torch.Tensor:
    """Multiply x [..., K] -> [..., N], N the outputs of all layers, one behind the other."""
    rows = x.reshape(-1, x.shape[-1]).contiguous()
    if len(rows) > MOST_ROWS or not kernels.available():
        outputs = [nn.functional.linear(rows, linear.weight, linear.bias) for linear in linears]
        return torch.cat(outputs, 1).view(*x.shape[:-1], -1)
    out = rows.new_empty(len(rows), sum(linear.out_features for linear in linears))
    matrices.products(rows, [linear.matrix() for linear in linears], out)
    return out.view(*x.shape[:-1], -1)


def quantize_linears(model: nn.Module, bits: Bits) -> list[str]:
    """Replace every linear layer of `model` in place, one after the other; embeddings stay as they are.

    An output layer tied to the embedding gets weights of its own. Returns the names of the linear layers that had to
    stay, because their inputs are no multiple of 32.
    """
    left = []
    for name, module in list(model.named_modules()):
        if type(module) is not nn.Linear:
            continue
        if module.in_features % GROUP:
            left.append(name)
            continue
        parent, _, own = name.rpartition(".")
        stored = quantize(module.weight.detach(), bits)
        setattr(model.get_submodule(parent), own, QuantizedLinear(module, stored))
    return left


def bytes_of(module: nn.Module) -> int:
    """Bytes of its parameters and buffers, each tensor once."""
    tensors = {tensor.data_ptr(): tensor for tensor in (*module.parameters(), *module.buffers())}
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
