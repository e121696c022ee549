"""Documents: bytes in, text that knows its places out. Knows nothing of models, prompts or terminals.

What reads them is loaded when first used: the process that parses PDFs does without most of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spsl_cli.documents.document import Collection, Document, LeftOut, Page, Place, Skip
from spsl_cli.documents.limits import Limits

if TYPE_CHECKING:
    from spsl_cli.documents.collect import Reading, read_paths
    from spsl_cli.documents.discovery import Selection

__all__ = ["Collection", "Document", "LeftOut", "Limits", "Page", "Place", "Reading", "Selection", "Skip", "read_paths"]

_HOMES = {
    "Reading": "spsl_cli.documents.collect",
    "Selection": "spsl_cli.documents.discovery",
    "read_paths": "spsl_cli.documents.collect",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 only when a name is asked for

    return getattr(import_module(_HOMES[name]), name)
