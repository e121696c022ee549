"""Which device and number format to use. torch is imported inside functions only."""

from __future__ import annotations

import re

from spsl_cli.errors import UsageError

_DTYPES = {
    "float32": "float32",
    "fp32": "float32",
    "float16": "float16",
    "fp16": "float16",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
}


def pick_device(device: str = "auto") -> str:
    """`cpu` or `cuda:N` for `auto`, `cpu`, `cuda` or `cuda:N`. Raises `UsageError` if there is no such device."""
    # Apple's mps is left out: the decoder's attention kernels exist for the CPU and for CUDA, and its promise of
    # identical output has been shown only there.
    if device == "cpu":
        return device
    number = re.fullmatch(r"auto|cuda(?::(\d+))?", device)
    if number is None:
        raise UsageError(f"unknown device {device!r}", hint="use auto, cpu, cuda or cuda:N")
    import torch  # noqa: PLC0415 - seconds to import

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "auto":
        return "cuda:0" if count else "cpu"
    index = int(number[1] or 0)
    if index >= count:
        raise UsageError(
            f"device {device!r} was asked for, but torch sees {count or 'no'} CUDA device{'s' if count != 1 else ''}",
            hint="use --device auto or --device cpu",
        )
    return f"cuda:{index}"


def pick_dtype(dtype: str, device: str) -> str:
    """`float32`, `float16` or `bfloat16` for a name or `auto`: float32 on the CPU, 16 bit on CUDA."""
    if dtype != "auto":
        if dtype not in _DTYPES:
            raise UsageError(f"unknown dtype {dtype!r}", hint="use auto, float32, bfloat16 or float16")
        return _DTYPES[dtype]
    if device == "cpu":
        return "float32"
    import torch  # noqa: PLC0415

    with torch.cuda.device(device):
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"


def total_cuda_memory(device: str) -> int:
    """Bytes of memory of a CUDA device, free or not."""
    import torch  # noqa: PLC0415

    return int(torch.cuda.get_device_properties(device).total_memory)
