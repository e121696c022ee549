# mypy: disallow-untyped-decorators=False
"""Attention mass of queries whose attention is over, from their log-sum-exp: keys are read once more (Eq. 3)."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from spsl_cli.decoding.kernels.launch import OPTIONS, blocks, on, tile
from spsl_cli.decoding.kernels.online import finite, load_rows, scored, sees

ROWS = 16


@triton.jit(do_not_specialize=["rows", "groups", "length", "capacity"])
def mass_from_keys_kernel(
    query: tl.tensor, lse: tl.tensor, keys: tl.tensor, mass: tl.tensor, query_head: tl.tensor, query_row: tl.tensor,
    lse_head: tl.tensor, lse_group: tl.tensor, lse_row: tl.tensor, key_head: tl.tensor, key_row: tl.tensor,
    mass_row: tl.tensor, mass_head: tl.tensor, rows: tl.tensor, groups: tl.tensor, length: tl.tensor,
    capacity: tl.tensor, size: tl.tensor, scale: tl.tensor, softcap: tl.tensor,
    on_device: tl.constexpr, has_cap: tl.constexpr, per_query_head: tl.constexpr, block_rows: tl.constexpr,
    block_keys: tl.constexpr, block_size: tl.constexpr,
) -> None:  # fmt: skip
    """A program for some keys, a KV head and some query positions; names with _head, _group and _row are strides."""
    columns = tl.program_id(0) * block_keys + tl.arange(0, block_keys)
    kv_head = tl.program_id(1).to(tl.int64)
    row = tl.program_id(2) * block_rows + tl.arange(0, block_rows)
    dims = tl.arange(0, block_size)
    end = tl.load(length) if on_device else length
    visible = sees(end - rows + row, columns, 0, False)
    there = row < rows
    place = mass + row.to(tl.int64)[:, None] * mass_row + columns[None, :]
    inside = there[:, None] & (columns < capacity)[None, :]
    starts = keys + kv_head * key_head + columns.to(tl.int64) * key_row
    tile_keys = load_rows(starts, dims, columns < end, size)
    total = tl.zeros([block_rows, block_keys], tl.float32)
    for group in range(groups):
        head = kv_head * groups + group
        queries = load_rows(query + head * query_head + row * query_row, dims, there, size)
        shift = tl.load(lse + kv_head * lse_head + group * lse_group + row * lse_row, mask=there, other=0.0)
        above = scored(queries, tile_keys, scale, softcap, has_cap) - finite(shift)[:, None]
        weights = tl.exp(tl.where(visible, above, float("-inf")))
        if per_query_head:
            tl.store(place + head * mass_head, weights, mask=inside)
        else:
            total += weights
    if not per_query_head:
        tl.store(place + kv_head * mass_head, total, mask=inside)


def attention_mass(
    query: torch.Tensor,
    lse: torch.Tensor,
    keys: torch.Tensor,
    scale: float,
    *,
    length: torch.Tensor | None = None,
    softcap: float | None = None,
    per_query_head: bool = False,
) -> torch.Tensor:
    """Attention mass of the last w positions on all n: [w, Hkv, n], or [w, Hq, n], as `attention.attention_mass`.

    query [Hq, w, D]; lse [Hkv, G, w] float32, with the sinks in it where there are some; keys [Hkv, n, D], of which
    the first `length` count (int32 on their device) if it is given; float32, 0 on the others.
    """
    (heads, rows, size), (kv_heads, count, _) = query.shape, keys.shape
    cut = tile(ROWS, size, query.element_size())
    mass = torch.empty(rows, heads if per_query_head else kv_heads, count, dtype=torch.float32, device=query.device)
    how_long: Any = count if length is None else length
    with on(query.device):
        mass_from_keys_kernel[(blocks(count, cut.keys), kv_heads, blocks(rows, ROWS))](
            query, lse, keys, mass, query.stride(0), query.stride(1), *lse.stride(), keys.stride(0), keys.stride(1),
            mass.stride(0), mass.stride(1), rows, heads // kv_heads, how_long, count, size, scale, softcap or 0.0,
            length is not None, softcap is not None, per_query_head,
            ROWS, cut.keys, cut.size, num_warps=cut.warps, num_stages=1, **OPTIONS,
        )  # fmt: skip
    return mass
