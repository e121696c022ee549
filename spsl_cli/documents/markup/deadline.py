"""How long one document may take to be read. Knows nothing of what is read."""

from __future__ import annotations

import time

from spsl_cli.documents.limits import Limits
from spsl_cli.documents.source import UnreadableError

# Bytes that are parsed between two looks at the clock.
CHUNK = 1 << 16


class Deadline:
    """Begins to run when it is made."""

    def __init__(self, limits: Limits) -> None:
        self._seconds = limits.document_seconds
        self._end = time.monotonic() + self._seconds

    def check(self) -> None:
        """Raises UnreadableError when the time is over."""
        if time.monotonic() > self._end:
            raise UnreadableError(f"takes longer to read than the limit of {self._seconds:,.0f} seconds")
