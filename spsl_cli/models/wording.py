"""How foreign errors are told: one line, however long the library's own message is."""

from __future__ import annotations


def first_line(error: Exception) -> str:
    """The first line of the message that says anything, at most 300 characters; else the kind of error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__
