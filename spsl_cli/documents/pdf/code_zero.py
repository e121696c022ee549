"""What code 0 means in a font program of the kind CFF, which the library that reads them passes over.

TeX's symbol font has its minus sign there, and the programs that convert its output keep it there.
"""

from __future__ import annotations

import io
from typing import Any

from spsl_cli.documents.pdf.objects import entry

_LARGEST = 1 << 20  # bytes of a font program that is looked into for one character
_FIRST_OWN_ENCODING = 2  # smaller offsets are the two predefined encodings, and neither has code 0
_SUPPLEMENT = 0x80
_MOST_GLYPHS = 1024


def name_of_code_zero(font: Any) -> str | None:
    """The name of the glyph of code 0 in the embedded program of this font dictionary; None if there is none."""
    program = entry(entry(font, "/FontDescriptor"), "/FontFile3")
    try:
        data = program.get_data()
        return _zero(data) if len(data) <= _LARGEST else None
    except Exception:  # noqa: BLE001 a damaged program raises whatever it likes; the character stays unknown, and is told
        return None


def _zero(data: bytes) -> str | None:
    from fontTools.cffLib import CFFFontSet  # noqa: PLC0415 few files need it

    fonts = CFFFontSet()
    fonts.decompile(io.BytesIO(data), None)
    top = fonts[0]
    at = top.rawDict.get("Encoding", 0)
    if at < _FIRST_OWN_ENCODING or len(top.charset) > _MOST_GLYPHS:
        return None
    count, codes = data[at + 1], data[at + 2 :]
    if data[at] & ~_SUPPLEMENT == 0:  # one code for each glyph
        glyphs = [glyph for glyph in range(1, count + 1) if codes[glyph - 1] == 0]
    else:  # ranges: the first code, and how many follow it
        glyphs, glyph = [], 1
        for first, left in zip(codes[0 : 2 * count : 2], codes[1 : 2 * count : 2], strict=True):
            glyphs += [glyph] if first == 0 else []
            glyph += left + 1
    return str(top.charset[glyphs[0]]) if glyphs else None
