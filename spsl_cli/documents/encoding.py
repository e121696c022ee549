"""Bytes -> characters, decided on the whole of them. Knows nothing of what the text is about.

A byte order mark says the encoding; else it is UTF-8 if every byte fits; else UTF-8 with damage if nearly every sign
beyond ASCII fits; else Windows-1252, in which any bytes have a meaning, so that this is an assumption to be told.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from spsl_cli.documents.wording import count

REPLACEMENT = "\ufffd"

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SOUND_PER_DAMAGED = 3
_NEWLINES = re.compile(r"\r\n?")
# A form feed separates pages in `Document.text`, so a text may not hold one; beside a line's end it adds nothing.
_FORM_FEEDS = re.compile(r"(?<=\n)\f+|\f+(?=\n)|^\f+|\f+$")


@dataclass(frozen=True, slots=True)
class Decoded:
    r"""Text with `\n` line ends and without form feeds, NUL or surrogates; its encoding; what had to be assumed."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def mark(data: bytes) -> tuple[bytes, str] | None:
    """The byte order mark at the start and the encoding that it stands for."""
    return next(((sign, encoding) for sign, encoding in _MARKS if data.startswith(sign)), None)


def decode(data: bytes) -> Decoded:
    """Never fails: what has no meaning becomes U+FFFD, and a warning says how often."""
    if found := mark(data):
        sign, encoding = found
        text = data[len(sign) :].decode(encoding, "replace")
        return _decoded(text, encoding, ())
    try:
        return _decoded(data.decode("utf-8"), "utf-8", ())
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    damaged = text.count(REPLACEMENT)
    if _beyond_ascii(text) - damaged >= _SOUND_PER_DAMAGED * damaged:
        return _decoded(text, "utf-8", ())
    return _decoded(
        data.decode("cp1252", "replace"),
        "cp1252",
        ("not UTF-8: read as Windows-1252 (cp1252), so letters beyond ASCII may be wrong",),
    )


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _decoded(text: str, encoding: str, warnings: tuple[str, ...]) -> Decoded:
    text = text.replace("\0", REPLACEMENT)
    if damaged := text.count(REPLACEMENT):
        warnings += (f"{count(damaged, 'character')} unreadable, shown as U+FFFD",)
    return Decoded(_plain_lines(text), encoding, warnings)


def _plain_lines(text: str) -> str:
    text = _NEWLINES.sub("\n", text)
    return _FORM_FEEDS.sub("", text).replace("\f", "\n") if "\f" in text else text
