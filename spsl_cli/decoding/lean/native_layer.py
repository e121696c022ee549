"""A merged layer whose few rows are computed by compiled kernels, but for the attention between its two halves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from spsl_cli.decoding.lean.merged_layer import MergedLayer, SignedSine
from spsl_cli.decoding.lean.products import SharedProduct
from spsl_cli.native.layer import FewRows, Norm
from spsl_cli.quantized.linear import MOST_ROWS, QuantizedLinear


class NativeLayer(MergedLayer):
    """Up to `MOST_ROWS` rows natively, more as any merged layer."""

    def __init__(self, layer: Any, sine: SignedSine, linears: Sequence[QuantizedLinear]) -> None:
        super().__init__(layer, sine, SharedProduct, linears)
        self._few = FewRows(
            [linear.matrix() for linear in linears],
            [_norm(norm) for norm in self._norms],
            [_norm(norm) for norm in self._head_norms],
            self._size,
            rotates=self._rotates,
        )

    def _before(self, hidden: torch.Tensor, position_embeddings: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        if hidden.shape[0] * hidden.shape[1] > MOST_ROWS:
            return super()._before(hidden, position_embeddings)
        return self._few.before_attention(hidden, position_embeddings)

    def _after(self, hidden: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        if hidden.shape[0] * hidden.shape[1] > MOST_ROWS:
            return super()._after(hidden, attended)
        return self._few.after_attention(hidden, attended)


def can_be_native(layer: Any) -> bool:
    """Whether a mergeable layer has shapes and a place that the kernels take."""
    tensors = (*layer.parameters(), *layer.buffers())
    return layer.self_attn.head_dim % 16 == 0 and all(
        tensor.device.type == "cpu" and tensor.is_contiguous() for tensor in tensors
    )


def _norm(norm: Any) -> Norm:
    return Norm(norm.weight.detach(), norm.variance_epsilon)
