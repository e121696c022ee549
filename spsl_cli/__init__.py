"""spsl: questions about long documents, answered on your own machine by SparseSpec-L decoding."""

from __future__ import annotations

__version__ = "0.1.0"
