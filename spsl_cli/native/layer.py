"""A decoder layer of the Llama kind before and after its attention, for a few rows, in one call each."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import torch

from spsl_cli.native.library import required_library
from spsl_cli.native.matrices import Matrix


class Layer(ctypes.Structure):
    """As the C source has it."""

    _fields_ = (
        ("query_key_value", Matrix * 3),
        ("out", Matrix),
        ("gate_up", Matrix * 2),
        ("down", Matrix),
        *((name, ctypes.c_void_p) for name in ("norm", "norm_after", "query_norm", "key_norm")),
        *((name, ctypes.c_float) for name in ("epsilon", "epsilon_after", "query_epsilon", "key_epsilon")),
        *((name, ctypes.c_int) for name in ("width", "middle", "size", "query_heads", "key_heads", "rotates")),
    )


@dataclass(frozen=True)
class Norm:
    """Weight [n] and epsilon of an RMS norm."""

    weight: torch.Tensor
    epsilon: float


class FewRows:
    """The layer's two halves. Matrices: those for query, key, value, output, gate, up and down.

    head_norms: those of queries and of keys, or none. Whoever makes one keeps the matrices' tensors.
    """

    def __init__(
        self, matrices: list[Matrix], norms: list[Norm], head_norms: list[Norm], size: int, *, rotates: bool
    ) -> None:
        query, key, value, out, gate, up, down = matrices
        self._norms = [*norms, *head_norms]  # kept, for their addresses are
        weights = [norm.weight.data_ptr() for norm in self._norms] + [None] * (4 - len(self._norms))
        epsilons = [norm.epsilon for norm in self._norms] + [0.0] * (4 - len(self._norms))
        self._heads = (query.outputs + key.outputs + value.outputs) // size
        self._size, self._scratch = size, out.outputs + 2 * down.inputs
        self._layer = Layer(
            (Matrix * 3)(query, key, value), out, (Matrix * 2)(gate, up), down, *weights, *epsilons,
            out.outputs, down.inputs, size, query.outputs // size, key.outputs // size, rotates,
        )  # fmt: skip
        self._address = ctypes.byref(self._layer)

    def before_attention(
        self, hidden: torch.Tensor, position_embeddings: tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        """Hidden states [R, q, C] -> queries, keys and values [R, q, Hq + 2 Hkv, D], those two at their positions."""
        (sequences, rows, _), (cosine, sine) = hidden.shape, position_embeddings
        hidden, cosine, sine = hidden.contiguous(), cosine.contiguous(), sine.contiguous()
        heads = hidden.new_empty(sequences, rows, self._heads, self._size)
        scratch = torch.empty_like(hidden)
        required_library().spsl_before_attention(
            self._address, hidden.data_ptr(), cosine.data_ptr(), sine.data_ptr(), heads.data_ptr(),
            scratch.data_ptr(), sequences * rows, torch.get_num_threads(),
        )  # fmt: skip
        return heads

    def after_attention(self, hidden: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        """Hidden states [R, q, C] and what the attention gave [R, q, Hq, D] -> hidden states [R, q, C]."""
        sequences, rows, _ = hidden.shape
        hidden, attended = hidden.contiguous(), attended.contiguous()
        out, scratch = torch.empty_like(hidden), hidden.new_empty(sequences * rows * self._scratch)
        required_library().spsl_after_attention(
            self._address, hidden.data_ptr(), attended.data_ptr(), out.data_ptr(),
            scratch.data_ptr(), sequences * rows, torch.get_num_threads(),
        )  # fmt: skip
        return out
