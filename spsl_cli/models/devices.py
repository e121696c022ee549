"""Which device and number format to use. torch is imported inside functions only."""

from __future__ import annotations

import os
import re

from spsl_cli.errors import UsageError

EVERY_GPU = "cuda:all"
"""The layers of one model shared out over all CUDA devices, one device after the other."""

ROOM = 1.25
"""A model stays on one GPU if that has room for its weights and a quarter of them for keys and values."""

_DTYPES = {
    "float32": "float32",
    "fp32": "float32",
    "float16": "float16",
    "fp16": "float16",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
}


def pick_device(device: str = "auto") -> str:
    """`cpu`, `cuda:N` or `cuda:all` for `auto`, `cpu`, `cuda`, `cuda:N` or `cuda:all`.

    `auto` and `cuda` are the first GPU; whether a model needs more of them, `with_room` tells. `cuda:all` is the first
    one too where there is one. Raises `UsageError` if there is no such device.
    """
    # Apple's mps is left out: the decoder's attention kernels exist for the CPU and for CUDA, and its promise of
    # identical output has been shown only there.
    if device == "cpu":
        return device
    number = re.fullmatch(r"auto|cuda(?::(\d+|all))?", device)
    if number is None:
        raise UsageError(f"unknown device {device!r}", hint="use auto, cpu, cuda, cuda:N or cuda:all")
    count = cuda_count()
    if device == "auto":
        return "cuda:0" if count else "cpu"
    if number[1] == "all" and count > 1:
        return EVERY_GPU
    index = 0 if number[1] in (None, "all") else int(number[1])
    if index >= count:
        raise UsageError(
            f"device {device!r} was asked for, but torch sees {count or 'no'} CUDA device{'s' if count != 1 else ''}",
            hint="use --device auto or --device cpu",
        )
    return f"cuda:{index}"


def with_room(asked: str, picked: str, weights: int) -> str:
    """`picked`, or all GPUs where the user left the choice to us and weights of so many bytes leave no room on it."""
    if asked != "auto" or picked == "cpu" or cuda_count() < 2:  # noqa: PLR2004
        return picked
    import torch  # noqa: PLC0415 seconds

    return EVERY_GPU if weights * ROOM > torch.cuda.mem_get_info(picked)[0] else picked


def cuda_count() -> int:
    """How many CUDA devices torch sees."""
    import torch  # noqa: PLC0415 - seconds to import

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def cuda_devices(device: str) -> list[str]:
    """The devices that `cuda:N` or `cuda:all` stands for."""
    return [f"cuda:{index}" for index in range(cuda_count())] if device == EVERY_GPU else [device]


def pick_dtype(dtype: str, device: str) -> str:
    """`float32`, `float16` or `bfloat16` for a name or `auto`: float32 on the CPU, 16 bit on CUDA."""
    if dtype != "auto":
        if dtype not in _DTYPES:
            raise UsageError(f"unknown dtype {dtype!r}", hint="use auto, float32, bfloat16 or float16")
        return _DTYPES[dtype]
    if device == "cpu":
        return "float32"
    return "bfloat16" if all(map(_has_bfloat16, cuda_devices(device))) else "float16"


def _has_bfloat16(device: str) -> bool:
    import torch  # noqa: PLC0415

    with torch.cuda.device(device):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))


def total_cuda_memory(device: str) -> int:
    """Bytes of memory of a CUDA device, free or not; of all for `cuda:all`."""
    import torch  # noqa: PLC0415

    return sum(int(torch.cuda.get_device_properties(each).total_memory) for each in cuda_devices(device))


def processes_of_torchrun() -> int:
    """How many processes run this program together, if torchrun started it; else 1."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "TORCHELASTIC_RUN_ID" in os.environ else 1
