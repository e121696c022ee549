# mypy: disallow-untyped-decorators=False
"""Gathering of a sparse view on the device: what it holds stays in its slot, only the rest is copied (Eq. 5)."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from spsl_cli.decoding.kernels.launch import OPTIONS, blocks, on, power_of_two

BLOCK = 2048
SLOTS = 32
WANTED, STAYS = tl.constexpr(1), tl.constexpr(2)
"""Marks of a position: in the new index; and in a slot already."""


@triton.jit(do_not_specialize=["count", "before", "capacity"])
def assign_kernel(
    positions: tl.tensor, held: tl.tensor, marks: tl.tensor, vacant: tl.tensor, fresh: tl.tensor,
    positions_head: tl.tensor, held_head: tl.tensor, count: tl.tensor, before: tl.tensor, capacity: tl.tensor,
    block: tl.constexpr,
) -> None:  # fmt: skip
    """One program for each head: a slot for every position, and which slots have another one than before.

    Threads read marks that others of their program wrote; the barriers between the passes make that sound.
    """
    head = tl.program_id(0).to(tl.int64)
    positions += head * positions_head
    held += head * held_head
    marks += head * capacity
    vacant += head * count
    fresh += head * count
    lanes = tl.arange(0, block)
    for start in range(0, count, block):
        inside = start + lanes < count
        position = tl.load(positions + start + lanes, mask=inside, other=0)
        tl.store(marks + position, tl.full([block], WANTED, tl.int8), mask=inside)
    tl.debug_barrier()
    free = tl.zeros([], tl.int32)
    for start in range(0, count, block):
        slot = start + lanes
        inside = slot < count
        known = inside & (slot < before)
        position = tl.load(held + slot, mask=known, other=0)
        stays = known & (tl.load(marks + position, mask=known, other=0) == WANTED)
        tl.store(marks + position, tl.full([block], STAYS, tl.int8), mask=stays)
        leaves = (inside & (stays == 0)).to(tl.int32)
        tl.store(vacant + free + tl.cumsum(leaves, 0) - 1, slot, mask=leaves != 0)
        tl.store(fresh + slot, leaves.to(tl.int8), mask=inside)
        free += tl.sum(leaves, 0)
    tl.debug_barrier()
    taken = tl.zeros([], tl.int32)
    for start in range(0, count, block):
        inside = start + lanes < count
        position = tl.load(positions + start + lanes, mask=inside, other=0)
        arrives = (inside & (tl.load(marks + position, mask=inside, other=0) == WANTED)).to(tl.int32)
        slot = tl.load(vacant + taken + tl.cumsum(arrives, 0) - 1, mask=arrives != 0, other=0)
        tl.store(held + slot, position.to(held.dtype.element_ty), mask=arrives != 0)
        taken += tl.sum(arrives, 0)


@triton.jit(do_not_specialize=["count", "per_store"])
def copy_kernel(
    keys: tl.tensor, values: tl.tensor, view_keys: tl.tensor, view_values: tl.tensor, held: tl.tensor,
    fresh: tl.tensor, key_head: tl.tensor, key_row: tl.tensor, value_head: tl.tensor, value_row: tl.tensor,
    view_key_slot: tl.tensor, view_key_head: tl.tensor, view_value_slot: tl.tensor, view_value_head: tl.tensor,
    held_head: tl.tensor, count: tl.tensor, per_store: tl.tensor, key_size: tl.tensor, value_size: tl.tensor,
    slots: tl.constexpr, block_key: tl.constexpr, block_value: tl.constexpr,
) -> None:  # fmt: skip
    """A program for some slots of a head: copy the rows that are not there yet."""
    slot, head = tl.program_id(0) * slots + tl.arange(0, slots), tl.program_id(1).to(tl.int64)
    store = head // per_store
    inside = slot < count
    moved = inside & (tl.load(fresh + head * count + slot, mask=inside, other=0) != 0)
    position = tl.load(held + head * held_head + slot, mask=moved, other=0).to(tl.int64)
    wide = slot.to(tl.int64)
    dims = tl.arange(0, block_key)
    mask = moved[:, None] & (dims < key_size)[None, :]
    row = tl.load(keys + store * key_head + position[:, None] * key_row + dims[None, :], mask=mask)
    tl.store(view_keys + head * view_key_head + wide[:, None] * view_key_slot + dims[None, :], row, mask=mask)
    dims = tl.arange(0, block_value)
    mask = moved[:, None] & (dims < value_size)[None, :]
    row = tl.load(values + store * value_head + position[:, None] * value_row + dims[None, :], mask=mask)
    tl.store(view_values + head * view_value_head + wide[:, None] * view_value_slot + dims[None, :], row, mask=mask)


def gather(
    dense: tuple[torch.Tensor, torch.Tensor],
    view: tuple[torch.Tensor, torch.Tensor],
    positions: torch.Tensor,
    held: torch.Tensor,
    before: int,
) -> None:
    """Make the view [slots, H, D] hold the rows at positions [H, n] of the dense keys and values [Hkv, capacity, D].

    held [H, room]: the positions that the first `before` slots hold and then those that the first n hold; int32 or
    int64. The positions of a head are distinct. A row that is there stays where it is, so slots are in no order.
    """
    (keys, values), (view_keys, view_values) = dense, view
    (kv_heads, capacity, size), (heads, count) = keys.shape, positions.shape
    positions = positions.contiguous()
    marks = torch.zeros(heads, capacity, dtype=torch.int8, device=keys.device)
    vacant = torch.empty(heads, count, dtype=torch.int32, device=keys.device)
    fresh = torch.empty(heads, count, dtype=torch.int8, device=keys.device)
    if not count:
        return
    with on(keys.device):
        assign_kernel[(heads,)](
            positions, held, marks, vacant, fresh, positions.stride(0), held.stride(0), count, before, capacity,
            BLOCK, num_warps=8, **OPTIONS,
        )  # fmt: skip
        copy_kernel[(blocks(count, SLOTS), heads)](
            keys, values, view_keys, view_values, held, fresh, keys.stride(0), keys.stride(1),
            values.stride(0), values.stride(1), view_keys.stride(0), view_keys.stride(1),
            view_values.stride(0), view_values.stride(1), held.stride(0), count, heads // kv_heads,
            size, values.shape[-1], SLOTS, power_of_two(size), power_of_two(values.shape[-1]), **OPTIONS,
        )  # fmt: skip
