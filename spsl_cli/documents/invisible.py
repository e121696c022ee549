"""Text without the characters that a reader never sees. Knows nothing of markup."""

from __future__ import annotations

import re

# Soft hyphens, zero-width blanks, byte order marks, direction signs, tag characters, and control characters other than
# white space. Joiners stay, for they change how letters and emoji look.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    "\U000e0001\U000e0020-\U000e007f]"
)
_LAST_CONTROL = "\x9f"


def without_invisible(text: str) -> str:
    """`text` without what is not seen; C1 control characters become what Windows-1252 has in their place."""
    return _INVISIBLE.sub(_seen, text)


def _seen(match: re.Match[str]) -> str:
    character = match[0]
    if "\x80" <= character <= _LAST_CONTROL:
        # Pages write `&#150;` for a dash, and browsers show one.
        return character.encode("latin-1").decode("cp1252", "ignore")
    return ""
