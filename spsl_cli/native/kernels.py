"""The native kernels on tensors: twins of `attend_few` and `attention_mass`, same shapes and results up to rounding.

One thing they have beyond their twins: what comes out for a row does not depend on how many rows there are.
"""

from __future__ import annotations

import ctypes

import torch

from spsl_cli.native.library import native_library


def suits(query: torch.Tensor, *stores: torch.Tensor, softcap: float | None = None) -> bool:
    """Whether the kernels are there and take these: float32 in main memory, rows without gaps, heads of 8n, no cap."""
    sizes = {tensor.shape[-1] for tensor in (query, *stores)}
    return (
        query.dtype is torch.float32
        and query.device.type == "cpu"
        and softcap is None
        and len(sizes) == 1
        and query.shape[-1] % 8 == 0
        and all(tensor.stride(-1) == 1 for tensor in (query, *stores))
        and available()
    )


def attend_few(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scale: float,
    *,
    beyond: int = 0,
    window: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A few query rows over all keys, the last of them but for `beyond`, each at most over `window` of them.

    query [Hq, q, D]; keys, values [Hkv, n, D]. Returns output [q, Hq, D] and log-sum-exp [Hkv, G, q].
    """
    (heads, rows, size), (kv_heads, count, _) = query.shape, keys.shape
    output, lse = query.new_empty(rows, heads, size), query.new_empty(kv_heads, heads // kv_heads, rows)
    status = _functions().spsl_attend(
        *_rows(query), *_rows(keys), *_rows(values), output.data_ptr(), lse.data_ptr(),
        kv_heads, heads // kv_heads, rows, count, beyond, window or 0, size, scale, torch.get_num_threads(),
    )  # fmt: skip
    if status:
        raise MemoryError(f"no memory for the attention of {rows} rows over {count} positions")
    return output, lse


def attention_mass(
    query: torch.Tensor, lse: torch.Tensor, keys: torch.Tensor, scale: float, *, per_query_head: bool = False
) -> torch.Tensor:
    """Attention mass of the last w positions on all n: [w, Hkv, n], or [w, Hq, n], as `attention.attention_mass`."""
    (heads, rows, size), (kv_heads, count, _) = query.shape, keys.shape
    lse = lse.contiguous()
    mass = query.new_empty(rows, heads if per_query_head else kv_heads, count)
    status = _functions().spsl_mass(
        *_rows(query), lse.data_ptr(), *_rows(keys), mass.data_ptr(),
        kv_heads, heads // kv_heads, rows, count, size, scale, int(per_query_head), torch.get_num_threads(),
    )  # fmt: skip
    if status:
        raise MemoryError(f"no memory for the attention mass of {rows} rows over {count} positions")
    return mass


def product(
    x: torch.Tensor,
    numbers: torch.Tensor,
    scale: torch.Tensor,
    least: torch.Tensor | None,
    bias: torch.Tensor | None,
    out: torch.Tensor,
) -> None:
    """Write x [n, K] times weights of 8 bits, or of 4 where `least` is given, plus bias [N], to `out` [n, N].

    The weights as in `quantized.grid.Stored`. Rows have no gaps.
    """
    (rows, inputs), outputs = x.shape, out.shape[1]
    _functions().spsl_product(
        *_weights(numbers, scale, least), None if bias is None else bias.data_ptr(), x.data_ptr(), x.stride(0),
        out.data_ptr(), out.stride(0), outputs, inputs, rows, 8 if least is None else 4, torch.get_num_threads(),
    )  # fmt: skip


def quantize(weight: torch.Tensor, bits: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, bool]:
    """Weights [N, K] in 8 or 4 bits as in `quantized.grid.Stored`, and whether these stand for them exactly."""
    weight = weight.contiguous()
    (outputs, inputs), eight = weight.shape, bits == 8  # noqa: PLR2004
    numbers = torch.empty(outputs, inputs if eight else inputs // 2, dtype=torch.int8 if eight else torch.uint8)
    scale = weight.new_empty(outputs, inputs // 32)
    least = None if eight else torch.empty_like(scale)
    exact = _functions().spsl_quantize(
        weight.data_ptr(), *_weights(numbers, scale, least), scale.numel(), bits, torch.get_num_threads()
    )
    return numbers, scale, least, bool(exact)


def dequantize(numbers: torch.Tensor, scale: torch.Tensor, least: torch.Tensor | None) -> torch.Tensor:
    """The float32 weights [N, K] that they stand for."""
    bits, count = 8 if least is None else 4, numbers.shape[1]
    weights = scale.new_empty(len(numbers), count if bits == 8 else 2 * count)  # noqa: PLR2004
    _functions().spsl_dequantize(
        *_weights(numbers, scale, least), weights.data_ptr(), scale.numel(), bits, torch.get_num_threads()
    )
    return weights


def available() -> bool:
    """Whether the kernels are there."""
    return native_library().functions is not None


def _weights(numbers: torch.Tensor, scale: torch.Tensor, least: torch.Tensor | None) -> tuple[int, int, int]:
    return numbers.data_ptr(), scale.data_ptr(), (scale if least is None else least).data_ptr()


def _rows(tensor: torch.Tensor) -> tuple[int, int, int]:
    return tensor.data_ptr(), tensor.stride(0), tensor.stride(1)


def _functions() -> ctypes.CDLL:
    functions = native_library().functions
    if functions is None:
        raise RuntimeError("the native kernels are not there: ask `suits` first")
    return functions
