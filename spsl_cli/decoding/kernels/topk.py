# mypy: disallow-untyped-decorators=False
"""The positions of the K largest scores of every row, on the device and exactly: a search for the K-th, then a sweep.

The bits of a float, turned over where it is negative, order as unsigned numbers do. Two of them are settled by every
pass over the row, until exactly K scores lie at or above the threshold: the usual end, long before the last bit, since
only equal scores cannot be told apart. One program runs a row; all rows of all layers fit into one launch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from spsl_cli.decoding.kernels.launch import OPTIONS, on

BLOCK = 4096
PASSES = tl.constexpr(16)
"""Two of 32 bits each."""


@triton.jit
def ordered(scores: tl.tensor, at: tl.tensor, inside: tl.tensor) -> tl.tensor:
    """Scores as unsigned numbers of the same order, at least 1 (but for NaN); 0 where there is none."""
    bits = tl.load(scores + at, mask=inside, other=0.0).to(tl.float32).to(tl.uint32, bitcast=True)
    turned = tl.where(bits >> 31 != 0, ~bits, bits | 0x80000000)
    return tl.where(inside, turned, 0)


@triton.jit(do_not_specialize=["length", "count", "offset"])
def largest_kernel(
    scores: tl.tensor, out: tl.tensor, scores_row: tl.tensor, out_row: tl.tensor, length: tl.tensor, count: tl.tensor,
    offset: tl.tensor,
    on_device: tl.constexpr, block: tl.constexpr,
) -> None:  # fmt: skip
    """One program for each row of scores."""
    row = tl.program_id(0).to(tl.int64)
    scores += row * scores_row
    out += row * out_row
    end = tl.load(length) if on_device else length
    lanes = tl.arange(0, block)
    low = tl.zeros([], tl.uint32)
    reached = tl.zeros([], tl.int32) + end  # so many scores lie at or above `low`
    passes = tl.zeros([], tl.int32)
    while (passes < PASSES) & (reached > count):
        step = tl.full([], 1, tl.uint32) << (30 - 2 * passes).to(tl.uint32)
        above1 = tl.zeros([block], tl.int32)
        above2 = tl.zeros([block], tl.int32)
        above3 = tl.zeros([block], tl.int32)
        for start in range(0, end, block):
            number = ordered(scores, start + lanes, start + lanes < end)
            above1 += (number >= low + step).to(tl.int32)
            above2 += (number >= low + 2 * step).to(tl.int32)
            above3 += (number >= low + 3 * step).to(tl.int32)
        reached1, reached2, reached3 = tl.sum(above1, 0), tl.sum(above2, 0), tl.sum(above3, 0)
        digit = (
            (reached1 >= count).to(tl.uint32) + (reached2 >= count).to(tl.uint32) + (reached3 >= count).to(tl.uint32)
        )
        low += digit * step
        reached = tl.where(reached1 >= count, reached1, reached)
        reached = tl.where(reached2 >= count, reached2, reached)
        reached = tl.where(reached3 >= count, reached3, reached)
        passes += 1
    surplus = reached - count  # only of equal scores; the first ones of them are left out
    equals = tl.zeros([], tl.int32)
    taken = tl.zeros([], tl.int32)
    for start in range(0, end, block):
        at = start + lanes
        inside = at < end
        number = ordered(scores, at, inside)
        equal = (inside & (number == low)).to(tl.int32)
        late = equals + tl.cumsum(equal, 0) > surplus
        chosen = (inside & ((number > low) | ((equal != 0) & late))).to(tl.int32)
        place = taken + tl.cumsum(chosen, 0) - 1
        tl.store(out + place, (at + offset).to(out.dtype.element_ty), mask=chosen != 0)
        equals += tl.sum(equal, 0)
        taken += tl.sum(chosen, 0)


def largest(
    scores: torch.Tensor,
    count: int,
    out: torch.Tensor | None = None,
    offset: int = 0,
    *,
    length: torch.Tensor | None = None,
) -> torch.Tensor:
    """Where in each row of scores [H, n] the `count` largest are: [H, count] int64, or of `out`'s type, ascending.

    Of equal ones the last. Scores are numbers or infinite, not NaN. Of each row the first `length` scores count (int32
    on the device, not less than `count`) if it is given. `offset` is added to each position.
    """
    heads, size = scores.shape
    if out is None:
        out = torch.empty(heads, count, dtype=torch.int64, device=scores.device)
    if count:
        with on(scores.device):
            largest_kernel[(heads,)](
                scores, out, scores.stride(0), out.stride(0), size if length is None else length, count, offset,
                length is not None, BLOCK, num_warps=8, **OPTIONS,
            )  # fmt: skip
    return out
