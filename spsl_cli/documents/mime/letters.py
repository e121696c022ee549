"""Bytes of a message -> characters: charsets by name, encoded words in headers (RFC 2047), flowed text (RFC 3676)."""

from __future__ import annotations

import binascii
import codecs
import re
from itertools import groupby

from spsl_cli.documents.charset import codec_named
from spsl_cli.documents.encoding import REPLACEMENT, Decoded, decode, sound
from spsl_cli.documents.invisible import without_invisible
from spsl_cli.documents.wording import one_line

_ENCODED_WORD = re.compile(r"=\?([^?*\s]{1,60})(?:\*[^?\s]{0,60})?\?([bq])\?([^?]*)\?=", re.IGNORECASE)
# Python decodes these too, but they are no charsets of messages.
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
_CHARSET_SHOWN = 40


def letters(data: bytes, charset: str | None) -> Decoded:
    """The characters of `data`, by its charset where that can be so, without control characters. Never fails."""
    codec = _codec(charset)
    if data.isascii() and codec in (None, "ascii", "utf-8", "iso8859-1", "cp1252"):
        return _clean(data.decode("ascii"), codec or "ascii", ())
    if codec not in (None, "ascii", "utf-8") and not _is_rather_utf8(data, codec):
        # Senders name the narrow standard and write its wider successor.
        wider = codec_named(codec) or codec
        return _clean(data.decode(wider, "replace"), wider, ())
    decoded = decode(data)
    told = tuple(warning for warning in decoded.warnings if "U+FFFD" not in warning)
    if charset and codec not in ("ascii", "utf-8"):
        told = (f"text of charset {one_line(charset, _CHARSET_SHOWN)} taken for {decoded.encoding}",)
    return _clean(decoded.text, decoded.encoding, told)


def header(value: bytes) -> str:
    """A header's value on one line, its encoded words decoded, without control characters. Never fails."""
    text = letters(value, None).text
    shown, at, words = "", 0, list(_ENCODED_WORD.finditer(text))
    runs: list[list[re.Match[str]]] = []
    for word in words:
        if runs and not text[runs[-1][-1].end() : word.start()].strip():
            runs[-1].append(word)
        else:
            runs.append([word])
    for run in runs:
        shown += text[at : run[0].start()] + _words(run)
        at = run[-1].end()
    return " ".join((shown + text[at:]).split())


def unflowed(text: str, *, without_blanks: bool) -> str:
    """Format "flowed": lines that end in a blank go on in the next one of the same quotation depth.

    `without_blanks` is the parameter DelSp: the blank was put in and is taken out again.
    """
    lines: list[tuple[int, list[str]]] = []
    goes_on = False
    for line in text.split("\n"):
        rest = line.lstrip(">")
        depth = len(line) - len(rest)
        rest = rest.removeprefix(" ")
        if rest == "-- " or not goes_on or lines[-1][0] != depth:
            lines.append((depth, []))
        goes_on = rest.endswith(" ") and rest != "-- "
        lines[-1][1].append(rest[:-1] if goes_on and without_blanks else rest)
    return "\n".join(">" * depth + " " * (depth > 0) + "".join(parts) for depth, parts in lines)


def _words(run: list[re.Match[str]]) -> str:
    """Encoded words with nothing but blanks between them: a character may be cut in two by their bounds."""
    told = ((word[1], _bytes(word[2], word[3])) for word in run)
    return "".join(
        letters(b"".join(part for _, part in same), charset).text
        for charset, same in groupby(told, key=lambda pair: pair[0].lower())
    )


def _bytes(way: str, coded: str) -> bytes:
    raw = coded.encode("utf-8", "replace")
    if way in "qQ":
        return binascii.a2b_qp(raw, header=True)
    try:
        return binascii.a2b_base64(raw.rstrip(b"=") + b"==")
    except binascii.Error:
        return raw


def _codec(charset: str | None) -> str | None:
    """Python's name for a charset; None for one that is not known or that stands for no letters."""
    name = (charset or "").strip().lower()
    try:
        codec = codecs.lookup(name)
        b"text".decode(codec.name, "replace")  # fails for what turns bytes into bytes
    except (LookupError, ValueError):
        return codec_named(name)
    return None if codec.name in _NO_CHARSETS else codec.name


def _is_rather_utf8(data: bytes, codec: str) -> bool:
    """Whether bytes are sound as UTF-8 and not in `codec`, or but by chance: in Latin-1 all bytes are."""
    return _fits(data, "utf-8") and (codec in ("iso8859-1", "cp1252") or not _fits(data, codec))


def _fits(data: bytes, codec: str) -> bool:
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _clean(text: str, encoding: str, warnings: tuple[str, ...]) -> Decoded:
    """With plain line ends and without half characters and control characters; damage is counted here only."""
    return sound(without_invisible(text.replace("\0", REPLACEMENT)), encoding, warnings)
