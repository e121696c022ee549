"""Documents: bytes in, text that knows its places out. Knows nothing of models, prompts or terminals."""

from __future__ import annotations

from spsl_cli.documents.collect import Reading, read_paths
from spsl_cli.documents.discovery import Selection
from spsl_cli.documents.document import Collection, Document, LeftOut, Page, Place, Skip
from spsl_cli.documents.limits import Limits

__all__ = ["Collection", "Document", "LeftOut", "Limits", "Page", "Place", "Reading", "Selection", "Skip", "read_paths"]
