"""Triton kernels for NVIDIA GPUs, each the twin of a function in torch; importing this package does not import Triton.

`suits` and `takes` tell whether the kernels take some tensors; the others are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spsl_cli.decoding.kernels.launch import suits, takes, unsuitable

if TYPE_CHECKING:
    from spsl_cli.decoding.kernels.draft import attend_at
    from spsl_cli.decoding.kernels.gathering import gather
    from spsl_cli.decoding.kernels.mass import attention_mass
    from spsl_cli.decoding.kernels.topk import largest
    from spsl_cli.decoding.kernels.verify import attend_few

__all__ = ["attend_at", "attend_few", "attention_mass", "gather", "largest", "suits", "takes", "unsuitable"]

_HOMES = {
    "attend_at": "draft",
    "attend_few": "verify",
    "attention_mass": "mass",
    "gather": "gathering",
    "largest": "topk",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 only when a name is asked for

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
