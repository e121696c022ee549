"""A font of a PDF as text needs it: which characters its codes mean, and how far each moves on.

All that is taken from pypdf's own reading of fonts is taken here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from pypdf import PdfReader
from pypdf._codecs.adobe_glyphs import adobe_glyphs
from pypdf.generic import DictionaryObject, IndirectObject
from pypdf.generic._font import Font

from spsl_cli.documents.encoding import REPLACEMENT
from spsl_cli.documents.pdf import cmaps
from spsl_cli.documents.pdf.code_zero import name_of_code_zero
from spsl_cli.documents.pdf.objects import entry, raw, resolved

_PRINTABLE = range(0x20, 0x7F)
_NARROWEST_SPACE, _WIDEST_SPACE = 0.11, 0.17
_HALF, _FULL = 0.5, 1.0
_MATRIX_PARTS = 4
# Parts of the font's size between which the height of drawn glyphs can be believed.
_LOWEST, _TALLEST = 0.05, 50


class Face(ABC):
    """A font. Lengths are in parts of the font's size.

    `space` is the gap from which on two glyphs are two words; `guessed` tells that some meanings are not stated by
    the file, so that another reading of it may know better.
    """

    def __init__(self, space: float, *, guessed: bool = False, vertical: bool = False, height: float = 1.0) -> None:
        self.space = space
        self.guessed = guessed
        self.vertical = vertical
        self.height = height

    @abstractmethod
    def glyphs(self, data: bytes) -> tuple[Sequence[str], float, int]:
        """What each glyph means, how far all of them move on, and how many blanks there are to be widened."""


class _SimpleFace(Face):
    """One byte a glyph."""

    def __init__(self, texts: list[str], widths: list[float], space: float, **more: Any) -> None:
        super().__init__(space, **more)
        self._texts = texts
        self._widths = widths

    def glyphs(self, data: bytes) -> tuple[Sequence[str], float, int]:
        width = sum(map(self._widths.__getitem__, data))
        return list(map(self._texts.__getitem__, data)), width, data.count(b" ")


class _WideFace(Face):
    """Two bytes a glyph, each a number that the file itself gives a meaning to."""

    def __init__(self, font: Font, space: float, *, unicode: bool, **more: Any) -> None:
        super().__init__(space, **more)
        self._meanings = font.character_map
        self._widths = font.character_widths
        self._default = _number(font.character_widths.get("default"), 1000)
        self._unicode = unicode
        self._known: dict[int, tuple[str, float]] = {}

    def glyphs(self, data: bytes) -> tuple[Sequence[str], float, int]:
        found = [
            self._known.get(code) or self._look_up(code)
            for code in (data[at] << 8 | data[at + 1] for at in range(0, len(data) - 1, 2))
        ]
        return [text for text, _ in found], sum(width for _, width in found), 0

    def _look_up(self, code: int) -> tuple[str, float]:
        sign = chr(code)
        meaning = self._meanings.get(sign)
        if meaning is None:
            meaning = sign if self._unicode else REPLACEMENT
        width = _FULL if self.vertical else _number(self._widths.get(sign), self._default) / 1000
        self._known[code] = meaning, width
        return meaning, width


class _CodecFace(Face):
    """Codes of a national character set, of one byte or two."""

    def __init__(self, font: Font, name: str, space: float, **more: Any) -> None:
        super().__init__(space, **more)
        self._name = name
        self._widths = font.character_widths
        self._default = _number(font.character_widths.get("default"), 1000) / 1000

    def glyphs(self, data: bytes) -> tuple[Sequence[str], float, int]:
        text = cmaps.decode(self._name, data) or REPLACEMENT * (len(data) // 2)
        narrow = 0 if self.vertical else sum(map(str.isascii, text))
        return text, (len(text) - narrow) * (self._default or _FULL) + narrow * _HALF, data.count(b" ")


class Faces:
    """The fonts of one file, each read once."""

    def __init__(self, reader: PdfReader) -> None:
        self._reader = reader
        self._faces: dict[object, Face] = {}

    def get(self, font: Any) -> Face:
        """The face of a font dictionary or a reference to one. What is no font gives glyphs without a meaning."""
        key = (font.idnum, font.generation) if isinstance(font, IndirectObject) else id(font)
        face = self._faces.get(key)
        if face is None:
            resource = resolved(font)
            face = _face(resource) if isinstance(resource, DictionaryObject) else nameless()
            self._faces[key] = face
        return face


def nameless() -> Face:
    """The face where a page names no font, or one that it does not hold: letters of ASCII stand for themselves."""
    return _SimpleFace([_itself(code) for code in range(256)], [_HALF] * 256, _NARROWEST_SPACE, guessed=True)


def _face(resource: DictionaryObject) -> Face:
    font = Font.from_font_resource(resource)
    name = entry(resource, "/Encoding")
    encoding = name.removeprefix("/") if isinstance(name, str) else ""
    if entry(resource, "/Subtype") != "/Type0":
        return _simple(resource, font)
    # pypdf knows few of the predefined encodings; without the width of a blank it cannot say how wide one is.
    space = min(max(_number(font.space_width, 250) / 2000, _NARROWEST_SPACE), _WIDEST_SPACE)
    vertical = cmaps.is_vertical(encoding)
    if cmaps.codec(encoding) == "utf-16-be":
        return _WideFace(font, space, unicode=True, vertical=vertical)
    if not font.character_map and cmaps.decode(encoding, b"") is not None:
        return _CodecFace(font, encoding, space, vertical=vertical)
    return _WideFace(font, space, unicode=False, guessed=not font.character_map, vertical=vertical)


def _simple(resource: DictionaryObject, font: Font) -> Face:
    encoding = font.encoding if isinstance(font.encoding, dict) else {}
    default = _number(font.character_widths.get("default"), 500)
    unit, height = _type3_units(resource, font) if font.sub_type == "Type3" else (0.001, 1.0)
    widths = [_number(font.character_widths.get(chr(code)), default) * unit for code in range(256)]
    texts, guessed = [], False
    for code in range(256):
        text = font.character_map.get(chr(code))
        if text is None:
            text = encoding.get(code, chr(code))
            if text.startswith("/") and len(text) > 1:
                text = _named(text[1:])
                guessed = guessed or text is None
                text = text or _itself(code)
        texts.append(text)
    if texts[0] in ("\0", REPLACEMENT) and _has_own_encoding(resource) and (zero := name_of_code_zero(resource)):
        texts[0] = _named(zero) or REPLACEMENT
    guessed = guessed or (not font.character_map and _has_own_encoding(resource))
    space = _number(font.space_width, 250) * unit / 2
    space = min(max(space, _NARROWEST_SPACE * height), _WIDEST_SPACE * height)
    return _SimpleFace(texts, widths, space, guessed=guessed, height=height)


def _type3_units(resource: DictionaryObject, font: Font) -> tuple[float, float]:
    """How wide one unit of its glyphs is, and how tall its glyphs are."""
    matrix = entry(resource, "/FontMatrix")
    numbers = [_number(value, 0.0) for value in matrix] if isinstance(matrix, list) else []
    if len(numbers) < _MATRIX_PARTS:
        return 0.001, 1.0
    unit = abs(numbers[0]) or abs(numbers[1]) or 0.001
    box = font.font_descriptor.bbox
    height = abs(box[3] - box[1]) * (abs(numbers[3]) or abs(numbers[2]) or unit)
    return unit, height if _LOWEST < height < _TALLEST else 1.0


def _has_own_encoding(resource: DictionaryObject) -> bool:
    """Whether only the embedded font program says what the codes mean, and pypdf did not find it out."""
    descriptor = entry(resource, "/FontDescriptor")
    embedded = any(raw(descriptor, key) is not None for key in ("/FontFile", "/FontFile2", "/FontFile3"))
    return embedded and "/Encoding" not in resource


def _named(name: str) -> str | None:
    """What a glyph's name says by the rules for them: `f_i`, `one.oldstyle`, `uni00E9`, `u1F600`. None if nothing."""
    parts = name.partition(".")[0].split("_")
    letters = [_letter(part) for part in parts]
    return "".join(letter for letter in letters if letter) if all(letters) else None


def _letter(name: str) -> str | None:
    if found := adobe_glyphs.get("/" + name):
        return str(found)
    digits = name.removeprefix("uni") if name.startswith("uni") else name.removeprefix("u")
    if digits == name or len(digits) not in (4, 5, 6):
        return None
    try:
        return chr(int(digits, 16))
    except ValueError:
        return None


def _itself(code: int) -> str:
    return chr(code) if code in _PRINTABLE else REPLACEMENT


def _number(value: Any, default: float) -> float:
    value = resolved(value)
    number = float(value) if isinstance(value, int | float) else default
    return number if math.isfinite(number) else default
