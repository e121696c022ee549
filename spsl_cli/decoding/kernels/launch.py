"""Whether the Triton kernels take given tensors, and how a launch is cut: tiles, splits, the device it goes to.

Knows shapes, types and devices; imports no Triton, and reads nothing that is on a device.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

import torch

OFF = ("0", "off", "no", "none", "false", "disabled")
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
LARGEST_HEAD = 256
OLDEST = (8, 0)
"""Compute capability of Ampere: older GPUs have no bfloat16 products and no asynchronous copies."""

TILE_BYTES = 16 * 1024
"""Keys of one tile; with the values and a second stage 64 KB, which with the queries fits into any Ampere's 99 KB."""
MOST_SPLITS = 128
FEWEST_BLOCKS = 4
"""Tiles of keys below which a split is not worth merging."""
INTERPRETED_PROCESSORS = 8
OPTIONS = {"enable_fp_fusion": True}
"""Of every launch: said aloud because Triton's default changes with 3.10, and 3.9 warns of it."""


@dataclass(frozen=True)
class Tile:
    """Sizes of one product, powers of two: packed query rows, keys, head size; and what a program runs with."""

    rows: int
    keys: int
    size: int
    warps: int
    stages: int


def suits(*tensors: torch.Tensor) -> bool:
    """Whether the attention kernels take these: the first is a query, the others keys and values."""
    return unsuitable(*tensors) is None


def unsuitable(*tensors: torch.Tensor) -> str | None:
    """Why the attention kernels do not take these tensors, in words; None if they do."""
    first, size = tensors[0], tensors[0].shape[-1]
    if (reason := no_kernels(first.device)) is not None:
        return reason
    if first.dtype not in DTYPES or any(tensor.dtype is not first.dtype for tensor in tensors):
        return "they take float32, float16 or bfloat16, all tensors of one type"
    if any(tensor.device != first.device for tensor in tensors):
        return "the tensors are on different devices"
    if size % 8 or size > LARGEST_HEAD or any(tensor.shape[-1] != size for tensor in tensors):
        return f"they take one head size, a multiple of 8 up to {LARGEST_HEAD}"
    if any(tensor.stride(-1) != 1 for tensor in tensors):
        return "a row has gaps in memory"
    return None


def takes(*tensors: torch.Tensor) -> bool:
    """Whether the kernels that compare or copy rows take these, of whatever size and type of number."""
    return no_kernels(tensors[0].device) is None and all(
        tensor.is_floating_point() and tensor.stride(-1) == 1 for tensor in tensors
    )


@cache
def _no_kernels_on_gpu(index: int) -> str | None:
    """Why the GPU of this number cannot run them, or None."""
    if torch.version.hip is not None:
        return "they are written for NVIDIA's GPUs"
    capability = torch.cuda.get_device_capability(index)
    if capability < OLDEST:
        version = ".".join(map(str, capability))
        return f"they need compute capability 8.0 (Ampere) or newer, this GPU has {version}"
    return _no_triton()


@cache
def _no_triton() -> str | None:
    return "Triton is not installed" if find_spec("triton") is None else None


def no_kernels(device: torch.device) -> str | None:
    """Why no Triton kernel runs on this device, whatever the tensors; None if they do.

    On a CPU they run under Triton's interpreter, which is for tests: it computes what a GPU would, very slowly.
    """
    if os.environ.get("SPSL_TRITON", "on").strip().lower() in OFF:
        return "turned off by SPSL_TRITON"
    if device.type == "cuda":
        if not torch.cuda.is_available():
            return "there is no CUDA device"
        return _no_kernels_on_gpu(torch.cuda.current_device() if device.index is None else device.index)
    if device.type == "cpu" and interpreted():
        return _no_triton()
    return f"they run on a CUDA device, not on {device.type}"


def interpreted() -> bool:
    """Whether Triton was told to interpret kernels instead of compiling them."""
    return os.environ.get("TRITON_INTERPRET", "0").strip().lower() in ("1", "true", "on", "yes", "y")


def on(device: torch.device) -> AbstractContextManager[None]:
    """Launch on this device, which need not be the current one where a model spans several."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


@cache
def processors(device: torch.device) -> int:
    """Streaming multiprocessors of the device."""
    if device.type != "cuda":
        return INTERPRETED_PROCESSORS
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


@cache
def tile(packed_rows: int, size: int, item_bytes: int) -> Tile:
    """How products of so many packed query rows [G*q] with keys of this head size and type are cut.

    float32 runs without tensor cores, whose lower precision it must not have; then registers are what is short.
    """
    padded = max(16, power_of_two(size))
    most = 64 if padded * item_bytes <= LARGEST_HEAD else 32
    rows = min(max(16, power_of_two(packed_rows)), most)
    keys = min(128, max(16, TILE_BYTES // (padded * item_bytes)))
    short = item_bytes == 2  # noqa: PLR2004
    return Tile(
        rows, keys, padded, warps=4 if rows * padded <= (4096 if short else 1024) else 8, stages=2 if short else 1
    )


def splits(span: int, programs: int, block: int, device: torch.device) -> int:
    """Into how many parts `span` keys are cut, where `programs` run for each: about two for every multiprocessor.

    Depends on shapes alone, so that a captured launch stays right for every length up to `span`.
    """
    wanted = -(-2 * processors(device) // programs)
    return max(1, min(wanted, -(-span // (FEWEST_BLOCKS * block)), MOST_SPLITS))


def power_of_two(number: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << max(0, number - 1).bit_length()


def blocks(number: int, block: int) -> int:
    """How many blocks hold so many."""
    return -(-number // block)
