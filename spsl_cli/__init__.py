"""spsl: questions about long documents, answered on your own machine by SparseSpec-L decoding.

The names below are the public Python API. They are loaded when first used, so that importing the package stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spsl_cli.decoding.config import DecodeConfig, SamplingConfig
    from spsl_cli.decoding.decoder import DecodeResult, SparseSpecDecoder

__version__ = "0.1.0"
__all__ = ["DecodeConfig", "DecodeResult", "SamplingConfig", "SparseSpecDecoder", "__version__"]

_HOMES = {
    "DecodeConfig": "spsl_cli.decoding.config",
    "SamplingConfig": "spsl_cli.decoding.config",
    "DecodeResult": "spsl_cli.decoding.decoder",
    "SparseSpecDecoder": "spsl_cli.decoding.decoder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 only when a name is asked for

    return getattr(import_module(_HOMES[name]), name)
