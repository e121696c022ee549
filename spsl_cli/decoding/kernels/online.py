# mypy: disallow-untyped-decorators=False
"""What the attention kernels have in common: packed queries, who sees what, the online softmax, and its merging.

Packed row g*q + i of a KV head is query head g of its group at query position i, as `attention.pack` has it. A split
leaves the largest score, the sum of the exponentials and the weighted sum of values of its keys, all in float32.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from spsl_cli.decoding.kernels.launch import OPTIONS, interpreted, power_of_two

WIDENED = tl.constexpr(interpreted())
"""Triton's interpreter holds bfloat16 as bits and would multiply those; widened, the products are the same."""


@triton.jit
def product(left: tl.tensor, right: tl.tensor, onto: tl.tensor) -> tl.tensor:
    """[M, K] times [K, N] added to [M, N], in float32; float32 is never multiplied in a shorter type."""
    if WIDENED:
        left, right = left.to(tl.float32), right.to(tl.float32)
    return tl.dot(left, right, onto, input_precision="ieee")


@triton.jit
def load_queries(
    query: tl.tensor, head_stride: tl.tensor, row_stride: tl.tensor, kv_head: tl.tensor, packed: tl.tensor,
    dims: tl.tensor, rows: tl.tensor, groups: tl.tensor, size: tl.tensor,
) -> tl.tensor:  # fmt: skip
    """The packed rows [M, D] of a KV head; 0 behind the last, and behind the head size."""
    head = (kv_head * groups + packed // rows).to(tl.int64)
    offsets = head * head_stride + (packed % rows) * row_stride
    inside = (packed < groups * rows)[:, None] & (dims < size)[None, :]
    return tl.load(query + offsets[:, None] + dims[None, :], mask=inside, other=0.0)


@triton.jit
def load_rows(starts: tl.tensor, dims: tl.tensor, inside: tl.tensor, size: tl.tensor) -> tl.tensor:
    """Rows [N, D] of a store by the pointers to their beginnings; 0 where not `inside`, and behind the head size."""
    return tl.load(starts[:, None] + dims[None, :], mask=inside[:, None] & (dims < size)[None, :], other=0.0)


@triton.jit
def sees(at: tl.tensor, columns: tl.tensor, window: tl.tensor, windowed: tl.constexpr) -> tl.tensor:
    """[M, N]: whether a query at position `at` [M] sees the key at `columns` [N]."""
    behind = at[:, None] - columns[None, :]
    visible = behind >= 0
    if windowed:
        visible = visible & (behind < window)
    return visible


@triton.jit
def scored(query: tl.tensor, keys: tl.tensor, scale: tl.tensor, softcap: tl.tensor, has_cap: tl.constexpr) -> tl.tensor:
    """Scores [M, N] of queries [M, D] with keys [N, D] in float32, capped as `attention.capped` does."""
    scores = product(query, tl.trans(keys), tl.zeros([query.shape[0], keys.shape[0]], tl.float32)) * scale
    if has_cap:
        bent = tl.abs(scores) / softcap
        vanishing = tl.exp(-2.0 * bent)  # tanh by it cannot overflow
        capped = softcap * (1.0 - vanishing) / (1.0 + vanishing)
        scores = tl.where(scores < 0, -capped, capped)
    return scores


@triton.jit
def finite(number: tl.tensor) -> tl.tensor:
    """0 instead of -inf: what nothing was seen of has no largest score to subtract."""
    return tl.where(number == float("-inf"), 0.0, number)


@triton.jit
def fold(scores: tl.tensor, values: tl.tensor, top: tl.tensor, total: tl.tensor, weighted: tl.tensor) -> tl.tensor:
    """Take scores [M, N], -inf where hidden, and values [N, D] into the running (top, total [M], weighted [M, D])."""
    new_top = tl.maximum(top, tl.max(scores, 1))
    shift = finite(new_top)
    shrink = tl.exp(top - shift)
    weights = tl.exp(scores - shift[:, None])
    total = total * shrink + tl.sum(weights, 1)
    weighted = product(weights.to(values.dtype), values, weighted * shrink[:, None])
    return new_top, total, weighted


@triton.jit
def leave(
    tops: tl.tensor, totals: tl.tensor, partials: tl.tensor, top: tl.tensor, total: tl.tensor, weighted: tl.tensor,
    kv_head: tl.tensor, split: tl.tensor, splits: tl.tensor, packed: tl.tensor, dims: tl.tensor,
    packed_rows: tl.tensor, size: tl.tensor,
) -> None:  # fmt: skip
    """Store what a split has seen: tops, totals [Hkv, splits, G*q], partials [Hkv, splits, G*q, D]."""
    row = (kv_head * splits + split).to(tl.int64) * packed_rows + packed
    inside = packed < packed_rows
    tl.store(tops + row, top, mask=inside)
    tl.store(totals + row, total, mask=inside)
    tl.store(partials + row[:, None] * size + dims[None, :], weighted, mask=inside[:, None] & (dims < size)[None, :])


@triton.jit(do_not_specialize=["rows", "groups", "splits"])
def merge_kernel(
    tops: tl.tensor, totals: tl.tensor, partials: tl.tensor, output: tl.tensor, lse: tl.tensor, rows: tl.tensor,
    groups: tl.tensor, splits: tl.tensor, size: tl.tensor,
    block_splits: tl.constexpr, block_size: tl.constexpr,
) -> None:  # fmt: skip
    """A program for every packed row and KV head: its output row [D] and log-sum-exp out of all splits."""
    packed, kv_head = tl.program_id(0), tl.program_id(1)
    packed_rows = rows * groups
    split, dims = tl.arange(0, block_splits), tl.arange(0, block_size)
    inside = split < splits
    row = (kv_head * splits + split).to(tl.int64) * packed_rows + packed
    top = tl.load(tops + row, mask=inside, other=float("-inf"))
    shift = finite(tl.max(top, 0))
    share = tl.exp(top - shift)
    total = tl.sum(tl.load(totals + row, mask=inside, other=0.0) * share, 0)
    seen = tl.where(total > 0, total, 1.0)
    tl.store(lse + kv_head * packed_rows + packed, tl.where(total > 0, shift + tl.log(seen), float("-inf")))
    partial = tl.load(
        partials + row[:, None] * size + dims[None, :], mask=inside[:, None] & (dims < size)[None, :], other=0.0
    )
    merged = tl.sum(partial * (share / seen)[:, None], 0)
    head = kv_head * groups + packed // rows
    place = ((packed % rows) * (tl.num_programs(1) * groups) + head).to(tl.int64) * size  # output is [q, Hq, D]
    tl.store(output + place + dims, merged.to(output.dtype.element_ty), mask=dims < size)


class Splits:
    """Room for what the splits of one launch leave, and the merging of it."""

    def __init__(self, query: torch.Tensor, kv_heads: int, splits: int) -> None:
        heads, self.rows, self.size = query.shape
        self.kv_heads, self.groups, self.splits = kv_heads, heads // kv_heads, splits
        shape = (kv_heads, splits, self.groups * self.rows)
        self.tops = torch.empty(shape, dtype=torch.float32, device=query.device)
        self.totals = torch.empty_like(self.tops)
        self.partials = torch.empty((*shape, self.size), dtype=torch.float32, device=query.device)
        self.output = query.new_empty(self.rows, heads, self.size)
        self.lse = torch.empty(kv_heads, self.groups, self.rows, dtype=torch.float32, device=query.device)

    def merged(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Output [q, Hq, D] and log-sum-exp [Hkv, G, q]; 0 and -inf for a row that saw nothing."""
        block_splits, block_size = power_of_two(self.splits), power_of_two(self.size)
        merge_kernel[(self.groups * self.rows, self.kv_heads)](
            self.tops, self.totals, self.partials, self.output, self.lse,
            self.rows, self.groups, self.splits, self.size,
            block_splits, block_size, num_warps=8 if block_splits * block_size > 8192 else 4, **OPTIONS,  # noqa: PLR2004
        )  # fmt: skip
        return self.output, self.lse
