# mypy: disallow-untyped-decorators=False
"""Attention of a few query rows over all keys, split over the keys, with the attention mass as a by-product (Eq. 3).

Knows the keys and values of one sequence as strided tensors, so the dense cache and the sparse view alike; not which.
The scores are kept relative to the largest of their tile, which is kept too: so they can stand in 16 bits beside keys
of 16 bits, and nothing is read twice to get the mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from spsl_cli.decoding.kernels.launch import OPTIONS, Tile, blocks, on, splits, tile
from spsl_cli.decoding.kernels.online import Splits, finite, fold, leave, load_queries, load_rows, scored, sees

MASS_BLOCK = 1024


@dataclass(frozen=True)
class _Scores:
    """Room for scores [Hkv, G*q, n], n in whole tiles, and the largest of each tile [Hkv, G*q, tiles] in float32."""

    relative: torch.Tensor
    tops: torch.Tensor

    @classmethod
    def allocate(cls, query: torch.Tensor, keys: torch.Tensor, cut: Tile) -> _Scores:
        packed = (keys.shape[0], query.shape[0] // keys.shape[0] * query.shape[1])
        dtype, tiles = torch.float32 if query.dtype is torch.float32 else torch.float16, blocks(keys.shape[1], cut.keys)
        return cls(
            torch.empty(*packed, tiles * cut.keys, dtype=dtype, device=query.device),
            torch.empty(*packed, tiles, dtype=torch.float32, device=query.device),
        )


@triton.jit(do_not_specialize=["rows", "groups", "length", "beyond", "window"])
def split_kernel(
    query: tl.tensor, keys: tl.tensor, values: tl.tensor, tops: tl.tensor, totals: tl.tensor, partials: tl.tensor,
    scores: tl.tensor, score_tops: tl.tensor, query_head: tl.tensor, query_row: tl.tensor, key_head: tl.tensor,
    key_row: tl.tensor, value_head: tl.tensor, value_row: tl.tensor, rows: tl.tensor, groups: tl.tensor,
    length: tl.tensor, beyond: tl.tensor, window: tl.tensor, size: tl.tensor, tiles: tl.tensor, scale: tl.tensor,
    softcap: tl.tensor,
    on_device: tl.constexpr, windowed: tl.constexpr, has_cap: tl.constexpr, with_scores: tl.constexpr,
    block_rows: tl.constexpr, block_keys: tl.constexpr, block_size: tl.constexpr,
) -> None:  # fmt: skip
    """A program for some packed rows, a share of the keys and a KV head; names with _head and _row are strides."""
    split, kv_head, parts = tl.program_id(1), tl.program_id(2), tl.num_programs(1)
    packed = tl.program_id(0) * block_rows + tl.arange(0, block_rows)
    lanes, dims = tl.arange(0, block_keys), tl.arange(0, block_size)
    packed_rows = rows * groups
    end = tl.load(length) - beyond if on_device else length - beyond
    at = end - rows + packed % rows
    low = 0
    if windowed:  # from the tile in which the first query's window begins
        low = tl.maximum(0, end - rows - window + 1) // block_keys * block_keys
    share = tl.cdiv(tl.cdiv(tl.maximum(end - low, 0), block_keys), parts) * block_keys
    low += split * share
    high = tl.minimum(end, low + share)

    this_head = kv_head.to(tl.int64)
    keys += this_head * key_head
    values += this_head * value_head
    queries = load_queries(query, query_head, query_row, kv_head, packed, dims, rows, groups, size)
    score_row = this_head * packed_rows + packed
    top = tl.full([block_rows], float("-inf"), tl.float32)
    total = tl.zeros([block_rows], tl.float32)
    weighted = tl.zeros([block_rows, block_size], tl.float32)
    for start in range(low, high, block_keys):
        columns = start + lanes
        inside = columns < end
        wide = columns.to(tl.int64)
        tile_scores = scored(queries, load_rows(keys + wide * key_row, dims, inside, size), scale, softcap, has_cap)
        tile_scores = tl.where(sees(at, columns, window, windowed), tile_scores, float("-inf"))
        if with_scores:
            tile_top = tl.max(tile_scores, 1)
            relative = (tile_scores - finite(tile_top)[:, None]).to(scores.dtype.element_ty)
            room = scores + score_row[:, None] * (tiles * block_keys) + columns[None, :]
            tl.store(room, relative, mask=(packed < packed_rows)[:, None])
            tl.store(score_tops + score_row * tiles + start // block_keys, tile_top, mask=packed < packed_rows)
        tile_values = load_rows(values + wide * value_row, dims, inside, size)
        top, total, weighted = fold(tile_scores, tile_values, top, total, weighted)
    leave(
        tops, totals, partials, top, total, weighted, kv_head, split, parts, packed, dims, packed_rows, size
    )  # fmt: skip


@triton.jit(do_not_specialize=["rows", "groups", "length", "capacity", "beyond", "window"])
def mass_kernel(
    scores: tl.tensor, score_tops: tl.tensor, lse: tl.tensor, mass: tl.tensor, mass_row: tl.tensor,
    mass_head: tl.tensor, rows: tl.tensor, groups: tl.tensor, length: tl.tensor, capacity: tl.tensor,
    beyond: tl.tensor, window: tl.tensor, tiles: tl.tensor,
    on_device: tl.constexpr, windowed: tl.constexpr, per_query_head: tl.constexpr, block: tl.constexpr,
    block_keys: tl.constexpr,
) -> None:  # fmt: skip
    """A program for some keys, a KV head and a query position: the mass out of the scores that were kept."""
    columns = tl.program_id(0) * block + tl.arange(0, block)
    kv_head, row = tl.program_id(1), tl.program_id(2)
    end = tl.load(length) - beyond if on_device else length - beyond
    at = end - rows + row
    inside, tile = columns < capacity, columns // block_keys
    whole = tile * block_keys <= at  # the whole tile was, and what this row does not see in it is -inf
    if windowed:
        whole = whole & (at - tile * block_keys - block_keys < window - 1)
    mass += row.to(tl.int64) * mass_row + columns
    total = tl.zeros([block], tl.float32)
    for group in range(groups):
        packed = (kv_head * groups + group).to(tl.int64) * rows + row
        relative = tl.load(
            scores + packed * (tiles * block_keys) + columns, mask=whole, other=float("-inf")
        ).to(tl.float32)  # fmt: skip
        tile_top = tl.load(score_tops + packed * tiles + tile, mask=whole, other=0.0)
        weights = tl.exp(relative + (tile_top - finite(tl.load(lse + packed))))
        if per_query_head:
            tl.store(mass + (kv_head * groups + group).to(tl.int64) * mass_head, weights, mask=inside)
        else:
            total += weights
    if not per_query_head:
        tl.store(mass + kv_head.to(tl.int64) * mass_head, total, mask=inside)


def attend_few(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scale: float,
    *,
    length: torch.Tensor | None = None,
    beyond: int = 0,
    window: int | None = None,
    softcap: float | None = None,
    mass: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A few query rows over all keys, the last of them but for `beyond`, each at most over `window` of them.

    query [Hq, q, D]; keys, values [Hkv, n, D], of which the first `length` count (int32 on their device, one number)
    if it is given: the launch depends on n alone, so it can be captured and replayed while `length` changes. Returns
    output [q, Hq, D] and float32 log-sum-exp [Hkv, G, q]; a row that sees no key gives 0 and -inf. The attention mass
    of all rows is written to `mass`, float32 [q, Hkv, n] or [q, Hq, n], if given; it knows no sinks.
    """
    (heads, rows, size), (kv_heads, count, _) = query.shape, keys.shape
    groups = heads // kv_heads
    cut = tile(groups * rows, size, query.element_size())
    tiles = blocks(groups * rows, cut.rows)
    span = count if window is None else min(count, window + rows)
    parts = Splits(query, kv_heads, splits(span, tiles * kv_heads, cut.keys, query.device))
    kept = None if mass is None else _Scores.allocate(query, keys, cut)
    how_long: Any = count if length is None else length
    with on(query.device):
        split_kernel[(tiles, parts.splits, kv_heads)](
            query, keys, values, parts.tops, parts.totals, parts.partials,
            parts.tops if kept is None else kept.relative, parts.tops if kept is None else kept.tops,
            query.stride(0), query.stride(1), keys.stride(0), keys.stride(1), values.stride(0), values.stride(1),
            rows, groups, how_long, beyond, window or 0, size, blocks(count, cut.keys), scale, softcap or 0.0,
            length is not None, window is not None, softcap is not None, kept is not None,
            cut.rows, cut.keys, cut.size, num_warps=cut.warps, num_stages=cut.stages, **OPTIONS,
        )  # fmt: skip
        output, lse = parts.merged()
        if mass is not None and kept is not None:
            mass_kernel[(blocks(count, MASS_BLOCK), kv_heads, rows)](
                kept.relative, kept.tops, lse, mass, mass.stride(0), mass.stride(1),
                rows, groups, how_long, count, beyond, window or 0, blocks(count, cut.keys),
                length is not None, window is not None, mass.shape[1] > kv_heads, MASS_BLOCK, cut.keys, **OPTIONS,
            )  # fmt: skip
    return output, lse
