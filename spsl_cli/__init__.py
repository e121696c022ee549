"""spsl: questions about long documents, answered on your own machine by SparseSpec-L decoding.

The names below are the public Python API. They are loaded when first used, so that importing the package stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spsl_cli.decoding.config import DecodeConfig, SamplingConfig
    from spsl_cli.decoding.decoder import DecodeResult, SparseSpecDecoder
    from spsl_cli.decoding.hf.generate import hf_generate
    from spsl_cli.decoding.run import DecodingRun
    from spsl_cli.errors import UnsupportedModelError
    from spsl_cli.events import Done, Draft, Event, Prefill, SpeculationStats, TokenKind, Tokens, Verify
    from spsl_cli.prompting.stopping import StopStrings

__version__ = "0.1.0"
__all__ = [
    "DecodeConfig",
    "DecodeResult",
    "DecodingRun",
    "Done",
    "Draft",
    "Event",
    "Prefill",
    "SamplingConfig",
    "SparseSpecDecoder",
    "SpeculationStats",
    "StopStrings",
    "TokenKind",
    "Tokens",
    "UnsupportedModelError",
    "Verify",
    "__version__",
    "hf_generate",
]

_HOMES = {
    "DecodeConfig": "spsl_cli.decoding.config",
    "SamplingConfig": "spsl_cli.decoding.config",
    "DecodeResult": "spsl_cli.decoding.decoder",
    "DecodingRun": "spsl_cli.decoding.run",
    "SparseSpecDecoder": "spsl_cli.decoding.decoder",
    "hf_generate": "spsl_cli.decoding.hf.generate",
    "StopStrings": "spsl_cli.prompting.stopping",
    "UnsupportedModelError": "spsl_cli.errors",
    **dict.fromkeys(
        ("Done", "Draft", "Event", "Prefill", "SpeculationStats", "TokenKind", "Tokens", "Verify"), "spsl_cli.events"
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 only when a name is asked for

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
