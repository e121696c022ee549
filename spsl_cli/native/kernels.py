"""The native kernels on tensors: twins of `attend_few` and `attention_mass`, same shapes and results up to rounding.

One thing they have beyond their twins: what comes out for a row does not depend on how many rows there are.
"""

from __future__ import annotations

import torch

from spsl_cli.native.library import native_library, required_library


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
    mass: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A few query rows over all keys, the last of them but for `beyond`, each at most over `window` of them.

    query [Hq, q, D]; keys, values [Hkv, n, D]. Returns output [q, Hq, D] and log-sum-exp [Hkv, G, q]. The attention
    mass of all rows is written to `mass` [q, Hkv, n], or [q, Hq, n], if given.
    """
    (heads, rows, size), (kv_heads, count, _) = query.shape, keys.shape
    output, lse = query.new_empty(rows, heads, size), query.new_empty(kv_heads, heads // kv_heads, rows)
    status = required_library().spsl_attend(
        *_rows(query), *_rows(keys), *_rows(values), output.data_ptr(), lse.data_ptr(),
        None if mass is None else mass.data_ptr(), kv_heads, heads // kv_heads, rows, count, beyond, window or 0, size,
        scale, int(mass is not None and mass.shape[1] > kv_heads), torch.get_num_threads(),
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
    status = required_library().spsl_mass(
        *_rows(query), lse.data_ptr(), *_rows(keys), mass.data_ptr(),
        kv_heads, heads // kv_heads, rows, count, size, scale, int(per_query_head), torch.get_num_threads(),
    )  # fmt: skip
    if status:
        raise MemoryError(f"no memory for the attention mass of {rows} rows over {count} positions")
    return mass


def available() -> bool:
    """Whether the kernels are there."""
    return native_library().functions is not None


def _rows(tensor: torch.Tensor) -> tuple[int, int, int]:
    return tensor.data_ptr(), tensor.stride(0), tensor.stride(1)
