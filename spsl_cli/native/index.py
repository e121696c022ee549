"""Importance, selection and gathering of a sparse view in main memory, by compiled kernels."""

from __future__ import annotations

import torch

from spsl_cli.native.library import native_library, required_library


def takes(*tensors: torch.Tensor) -> bool:
    """Whether the kernels are there and take these: float32 in main memory, without gaps in the last dimension."""
    return native_library().functions is not None and all(
        tensor.dtype is torch.float32 and tensor.device.type == "cpu" and tensor.stride(-1) == 1 for tensor in tensors
    )


def decayed_sum(total: torch.Tensor, mass: torch.Tensor, decay: float) -> None:
    """Let total [H, n] take in rows of mass [w, H, n], oldest first, each making less by `decay` what was there."""
    rows, heads, keys = mass.shape
    required_library().spsl_decayed_sum(
        total.data_ptr(), total.stride(0), mass.data_ptr(), mass.stride(0), mass.stride(1), rows, heads, keys, decay,
        torch.get_num_threads(),
    )  # fmt: skip


def largest(scores: torch.Tensor, count: int, out: torch.Tensor, offset: int = 0) -> None:
    """Write to `out` [H, count] int64 where in each row of scores [H, n] the largest are, in ascending order.

    Of equal ones the first. `offset` is added to each.
    """
    heads, size = scores.shape
    status = required_library().spsl_largest(
        scores.data_ptr(), scores.stride(0), heads, size, count, out.data_ptr(), out.stride(0), offset,
        torch.get_num_threads(),
    )  # fmt: skip
    if status:
        raise MemoryError(f"no memory for the selection of {heads} times {size} positions")


def gather(
    dense: tuple[torch.Tensor, torch.Tensor],
    view: tuple[torch.Tensor, torch.Tensor],
    positions: torch.Tensor,
    held: torch.Tensor,
    before: int,
) -> None:
    """Make the view [slots, H, D] hold the rows at positions [H, n] of the dense keys and values [Hkv, capacity, D].

    held [H, room]: the positions that the first `before` slots hold and then those that the first n hold. A row that
    is there already stays where it is, so slots are in no order.
    """
    (keys, values), (view_keys, view_values) = dense, view
    (kv_heads, length, size), (heads, count) = keys.shape, positions.shape
    positions = positions.contiguous()
    status = required_library().spsl_gather(
        keys.data_ptr(), values.data_ptr(), keys.stride(0), keys.stride(1), view_keys.data_ptr(),
        view_values.data_ptr(), heads, heads // kv_heads, size, positions.data_ptr(), count, held.data_ptr(),
        held.stride(0), before, length, torch.get_num_threads(),
    )  # fmt: skip
    if status:
        raise MemoryError(f"no memory for the marks of {heads} times {length} positions")
