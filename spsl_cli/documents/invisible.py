r"""Text without the characters that a reader never sees. Knows nothing of markup.

Every kind passes through here, so that a document's text is what is shown of it and what the model is given. Nothing
is taken out that ends a line, so that lines keep their numbers. Joiners stay, for they change how letters and emoji
look.
"""

from __future__ import annotations

import re

from spsl_cli.documents.wording import count

# What a terminal takes as a command: strings up to their end on the same line, colours and moves, and short ones.
ESCAPES = (
    r"\x1b[\]PX^_][^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_TYPOGRAPHIC = "\xad\u061c\u200e\u200f"  # soft hyphens and direction marks, as any word processor writes them
_DIRECTIONS = "\u202a-\u202e\u2066-\u2069"
_TAGS = "\U000e0001\U000e0020-\U000e007f"
_ZERO_WIDTH = "\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb"
_CONTROLS = "\x00-\x08\x0e-\x1f\x7f"
_TOLD = (
    (re.compile(ESCAPES), "terminal sequence"),
    (re.compile(f"[{_CONTROLS}]"), "control character"),
    (re.compile(f"[{_TAGS}]"), "tag character"),
    (re.compile(f"[{_DIRECTIONS}]"), "direction override"),
    (re.compile(f"[{_ZERO_WIDTH}]"), "zero-width character"),
)
_UNTOLD = re.compile(f"[{_TYPOGRAPHIC}]")
_LIKE_BLANKS = "\x0b\u2028\u2029"
_C1 = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
_REPLACED = re.compile(f"[\x80-\x9f{_LIKE_BLANKS}]")
_REPLACEMENTS = {**_C1, **dict.fromkeys(map(ord, _LIKE_BLANKS), " ")}
_ANY = re.compile(f"[\x80-\x9f{_LIKE_BLANKS}{_CONTROLS}{_TYPOGRAPHIC}{_DIRECTIONS}{_TAGS}{_ZERO_WIDTH}]")
_CONTROL_BYTES = bytes({*range(0x09), 0x0B, *range(0x0E, 0x20), 0x7F})


def without_invisible(text: str) -> str:
    """`text` without what is not seen; C1 control characters become what Windows-1252 has in their place."""
    return text if text.isprintable() else visible(text)[0]


def visible(text: str) -> tuple[str, tuple[str, ...]]:
    """The same, with a warning that counts what was taken out, but for what typography needs."""
    if _is_clean(text):
        return text, ()
    told = []
    for signs, name in _TOLD:
        text, number = signs.subn("", text)
        if number:
            told.append(count(number, name))
    text = _UNTOLD.sub("", text)
    if _REPLACED.search(text):  # pages write `&#150;` for a dash, and browsers show one
        text = text.translate(_REPLACEMENTS)
    return text, (f"invisible characters left out: {', '.join(told)}",) if told else ()


def _is_clean(text: str) -> bool:
    if not text.isascii():
        return _ANY.search(text) is None
    data = text.encode()
    return len(data.translate(None, _CONTROL_BYTES)) == len(data)
