# mypy: disallow-untyped-decorators=False
"""Attention of a draft that reads the rows of its index in place: no copy of them is made.

Knows positions in the dense keys and values, and the rows that the draft itself wrote, which stand behind them.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from spsl_cli.decoding.kernels.launch import OPTIONS, blocks, on, splits, tile
from spsl_cli.decoding.kernels.online import Splits, fold, leave, load_queries, load_rows, scored, sees


@triton.jit(do_not_specialize=["rows", "groups", "per_store", "count", "own_count"])
def indexed_kernel(
    query: tl.tensor, keys: tl.tensor, values: tl.tensor, positions: tl.tensor, own_keys: tl.tensor,
    own_values: tl.tensor, tops: tl.tensor, totals: tl.tensor, partials: tl.tensor, query_head: tl.tensor,
    query_row: tl.tensor, key_head: tl.tensor, key_row: tl.tensor, value_head: tl.tensor, value_row: tl.tensor,
    positions_head: tl.tensor, own_key_head: tl.tensor, own_key_row: tl.tensor, own_value_head: tl.tensor,
    own_value_row: tl.tensor, rows: tl.tensor, groups: tl.tensor, per_store: tl.tensor, count: tl.tensor,
    own_count: tl.tensor, size: tl.tensor, scale: tl.tensor, softcap: tl.tensor,
    on_device: tl.constexpr, own_on_device: tl.constexpr, has_cap: tl.constexpr, block_rows: tl.constexpr,
    block_keys: tl.constexpr, block_size: tl.constexpr,
) -> None:  # fmt: skip
    """A program for some packed rows, a share of the positions and a head of the index; the last has the own rows."""
    split, head, parts = tl.program_id(1), tl.program_id(2), tl.num_programs(1)
    packed = tl.program_id(0) * block_rows + tl.arange(0, block_rows)
    lanes, dims = tl.arange(0, block_keys), tl.arange(0, block_size)
    packed_rows = rows * groups
    indexed = tl.load(count) if on_device else count
    written = tl.load(own_count) if own_on_device else own_count
    share = tl.cdiv(tl.cdiv(indexed, block_keys), parts) * block_keys
    low = split * share
    high = tl.minimum(indexed, low + share)

    store = (head // per_store).to(tl.int64)
    keys += store * key_head
    values += store * value_head
    positions += head.to(tl.int64) * positions_head
    queries = load_queries(query, query_head, query_row, head, packed, dims, rows, groups, size)
    top = tl.full([block_rows], float("-inf"), tl.float32)
    total = tl.zeros([block_rows], tl.float32)
    weighted = tl.zeros([block_rows, block_size], tl.float32)
    for start in range(low, high, block_keys):
        columns = start + lanes
        inside = columns < indexed
        position = tl.load(positions + columns, mask=inside, other=0).to(tl.int64)
        scores = scored(queries, load_rows(keys + position * key_row, dims, inside, size), scale, softcap, has_cap)
        scores = tl.where(inside[None, :], scores, float("-inf"))
        tile_values = load_rows(values + position * value_row, dims, inside, size)
        top, total, weighted = fold(scores, tile_values, top, total, weighted)

    own_keys += store * own_key_head
    own_values += store * own_value_head
    at = written - rows + packed % rows
    for start in range(0, tl.where(split == parts - 1, written, 0), block_keys):
        columns = start + lanes
        inside, wide = columns < written, columns.to(tl.int64)
        scores = scored(queries, load_rows(own_keys + wide * own_key_row, dims, inside, size), scale, softcap, has_cap)
        scores = tl.where(sees(at, columns, 0, False), scores, float("-inf"))
        tile_values = load_rows(own_values + wide * own_value_row, dims, inside, size)
        top, total, weighted = fold(scores, tile_values, top, total, weighted)
    leave(
        tops, totals, partials, top, total, weighted, head, split, parts, packed, dims, packed_rows, size
    )  # fmt: skip


def attend_at(
    query: torch.Tensor,
    dense: tuple[torch.Tensor, torch.Tensor],
    positions: torch.Tensor,
    own: tuple[torch.Tensor, torch.Tensor],
    scale: float,
    *,
    length: torch.Tensor | None = None,
    own_length: torch.Tensor | None = None,
    softcap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A few query rows over the dense rows at some positions, and behind them the draft's own, theirs being the last.

    query [Hq, q, D]; dense keys and values [Hkv, capacity, D]; positions [H, n] int32 or int64, H being Hkv, or Hq
    where every query head has an index; own keys and values [Hkv, m, D]. Of the positions the first `length` count and
    of the own rows the first `own_length` (int32 on the device) if given, so that a captured launch can be replayed.
    Returns output [q, Hq, D] and float32 log-sum-exp [H, Hq / H, q].
    """
    (keys, values), (own_keys, own_values) = dense, own
    (all_heads, rows, size), (heads, count) = query.shape, positions.shape
    groups = all_heads // heads
    positions = positions if positions.stride(1) == 1 else positions.contiguous()
    cut = tile(groups * rows, size, query.element_size())
    tiles = blocks(groups * rows, cut.rows)
    parts = Splits(query, heads, splits(count, tiles * heads, cut.keys, query.device))
    how_many: Any = count if length is None else length
    how_many_own: Any = own_keys.shape[1] if own_length is None else own_length
    with on(query.device):
        indexed_kernel[(tiles, parts.splits, heads)](
            query, keys, values, positions, own_keys, own_values, parts.tops, parts.totals, parts.partials,
            query.stride(0), query.stride(1), keys.stride(0), keys.stride(1), values.stride(0), values.stride(1),
            positions.stride(0), own_keys.stride(0), own_keys.stride(1), own_values.stride(0), own_values.stride(1),
            rows, groups, heads // keys.shape[0], how_many, how_many_own, size, scale, softcap or 0.0,
            length is not None, own_length is not None, softcap is not None,
            cut.rows, cut.keys, cut.size, num_warps=cut.warps, num_stages=cut.stages, **OPTIONS,
        )  # fmt: skip
        return parts.merged()
