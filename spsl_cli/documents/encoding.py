"""Bytes -> characters, decided on the whole of them. Knows nothing of what the text is about.

A byte order mark says the encoding; else zero bytes may show UTF-16; else it is UTF-8 if every byte fits, or UTF-8 with
damage if nearly every sign beyond ASCII fits; else an old encoding, which is an assumption to be told. UTF-7 and
ISO-2022 look like ASCII and are never assumed: a text could hide something in them.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

from spsl_cli.documents.detection import WESTERN, likeliest
from spsl_cli.documents.wording import count

REPLACEMENT = "\ufffd"

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_NOT_TEXT = frozenset({"Cc", "Cn", "Co", "Cs"})
_CONTROLS_OF_TEXT = frozenset("\t\n\f\r\x1b")
_MOST_NOT_TEXT = 0.01
_FEWEST = 8  # characters; fewer may be anything
_FEW = 200  # characters; so few must have many zero bytes to be UTF-16
_ZEROS_OF_FEW, _ZEROS_OF_MANY = 0.25, 0.005
_ZEROS_OF_ASCII = 0.8  # of bytes that could be UTF-8 too, as names with a zero byte between them
_SAMPLES, _SAMPLE_BYTES = 64, 1024
_ISO_2022 = re.compile(rb"\x1b\$(?:[@AB]|[()][A-D])")
_SOUND_PER_DAMAGED = 3
_MOST_DAMAGED = 0.01
_ADVICE = "; if they are, convert it to UTF-8 first"
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


def wide(data: bytes) -> str | None:
    """The kind of UTF-16 that a text without a mark is in, if its zero bytes lie as they do in one and it is a text."""
    pairs = len(data) // 2
    if pairs < _FEWEST:
        return None
    share = _ZEROS_OF_FEW if pairs < _FEW else _ZEROS_OF_MANY
    if _is_text(_spread(data).replace(b"\0", b""), "utf-8"):
        share = _ZEROS_OF_ASCII
    least = share * pairs
    zeros = {"utf-16-le": data[1::2].count(0), "utf-16-be": data[::2].count(0)}
    for encoding in sorted(zeros, key=lambda encoding: -zeros[encoding]):
        if 0 < least <= zeros[encoding] and all(_is_text(part, encoding) for part in (_spread(data), data)):
            return encoding
    return None


def _spread(data: bytes) -> bytes:
    """Pieces from everywhere, so that a binary file is not decoded as a whole only to be refused."""
    if len(data) <= _SAMPLES * _SAMPLE_BYTES:
        return data
    starts = (number * len(data) // _SAMPLES & ~1 for number in range(_SAMPLES))
    return b"".join(data[start : start + _SAMPLE_BYTES] for start in starts)


def _is_text(data: bytes, encoding: str) -> bool:
    signs = Counter(data[: len(data) & ~1].decode(encoding, "replace"))
    wrong = sum(
        number
        for sign, number in signs.items()
        if sign == REPLACEMENT or (unicodedata.category(sign) in _NOT_TEXT and sign not in _CONTROLS_OF_TEXT)
    )
    return wrong <= _MOST_NOT_TEXT * signs.total()


def decode(data: bytes) -> Decoded:
    """Never fails: what has no meaning becomes U+FFFD, and a warning says how often."""
    if found := mark(data):
        sign, encoding = found
        return _decoded(data[len(sign) :].decode(encoding, "replace"), encoding, ())
    if b"\0" in data and (wide_encoding := wide(data)):
        return _decoded(data.decode(wide_encoding, "replace"), wide_encoding, ())
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        torn = error.end == len(data) and error.reason == "unexpected end of data"
        return _damaged_utf8(data, torn=torn) or _old(data)
    return _decoded(text, "utf-8", _hidden(data))


def whole_signs(text: str) -> str:
    """Halves of a surrogate pair that stand side by side become the character that they mean, others U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def sound(text: str, encoding: str, warnings: tuple[str, ...] = ()) -> Decoded:
    """The same as `decode` for text that was spelled out in a format, as in JSON, which can spell what no text has."""
    return _decoded(whole_signs(text), encoding, warnings)


def _hidden(data: bytes) -> tuple[str, ...]:
    if _ISO_2022.search(data):
        return ("looks like ISO-2022 (as in old Japanese mail), which is not decoded: convert it to UTF-8 first",)
    return ()


def _damaged_utf8(data: bytes, *, torn: bool) -> Decoded | None:
    """As UTF-8, if there is little damage beside what is sound; `torn`: it is only the end that is missing."""
    text = data.decode("utf-8", "replace")
    damaged = text.count(REPLACEMENT)
    sound = _beyond_ascii(text) - damaged
    if sound >= _SOUND_PER_DAMAGED * damaged or (torn and sound > 0):
        return _decoded(text, "utf-8", ())
    return None


def _old(data: bytes) -> Decoded:
    """In an encoding from before UTF-8, which none of the bytes says."""
    encoding = likeliest(data)
    if encoding != WESTERN:
        text = data.decode(encoding, "replace")
        if text.count(REPLACEMENT) <= _MOST_DAMAGED * _beyond_ascii(text):
            warning = f"not UTF-8: read as {encoding}, judged by its letters, so those beyond ASCII may be wrong"
            return _decoded(text, encoding, (warning + _ADVICE,))
    return _decoded(
        data.decode(WESTERN, "replace"),
        WESTERN,
        (f"not UTF-8: read as Windows-1252 (cp1252), so letters beyond ASCII may be wrong{_ADVICE}",),
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
