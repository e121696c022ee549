"""Characters of symbol fonts -> what they look like. Knows the fonts that Word itself inserts symbols from."""

# ruff: noqa: RUF001 - signs that look like others are what these tables are about
from __future__ import annotations

UNKNOWN = "\ufffd"
# Symbol fonts put their characters into the private area, at this offset, or leave it out.
_OFFSET = 0xF000

_GREEK = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
_SYMBOL = {
    **{0x41 + at: sign for at, sign in enumerate(_GREEK[0])},
    **{0x61 + at: sign for at, sign in enumerate(_GREEK[1])},
    0x22: "∀", 0x24: "∃", 0x27: "∋", 0x2D: "−", 0x40: "≅", 0x5C: "∴", 0x5E: "⊥", 0xA3: "≤", 0xA5: "∞", 0xA6: "ƒ",
    0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓", 0xB0: "°", 0xB1: "±", 0xB2: "″", 0xB3: "≥", 0xB4: "×",
    0xB5: "∝", 0xB6: "∂", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBA: "≡", 0xBB: "≈", 0xBC: "…", 0xC0: "ℵ", 0xC4: "⊗",
    0xC5: "⊕", 0xC6: "∅", 0xC7: "∩", 0xC8: "∪", 0xC9: "⊃", 0xCA: "⊇", 0xCB: "⊄", 0xCC: "⊂", 0xCD: "⊆", 0xCE: "∈",
    0xCF: "∉", 0xD0: "∠", 0xD1: "∇", 0xD2: "®", 0xD3: "©", 0xD4: "™", 0xD5: "∏", 0xD6: "√", 0xD7: "⋅", 0xD8: "¬",
    0xD9: "∧", 0xDA: "∨", 0xDB: "⇔", 0xDC: "⇐", 0xDD: "⇑", 0xDE: "⇒", 0xDF: "⇓", 0xE5: "∑", 0xF2: "∫",
}  # fmt: skip
_WINGDINGS = {
    0x28: "☎", 0x2A: "✉", 0x4A: "☺", 0x4C: "☹", 0x6C: "●", 0x6D: "❍", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x72: "❒",
    0x76: "❖", 0x77: "◆", 0x78: "⌧", 0x9F: "•", 0xA7: "▪", 0xA8: "◻", 0xAB: "★", 0xD8: "➢", 0xDF: "←", 0xE0: "→",
    0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip
_WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "□"}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2}


def symbol(font: str, code: str) -> str:
    """The character for a hexadecimal `code` in a font; U+FFFD where it is not known."""
    try:
        number = int(code, 16)
    except ValueError:
        return UNKNOWN
    table = _FONTS.get(font.lower())
    if table is not None:
        return table.get(number - _OFFSET if number >= _OFFSET else number, UNKNOWN)
    # Other fonts hold ordinary characters, but for those in the private area, which are anybody's guess.
    ordinary = 0x20 <= number < 0xD800 or _OFFSET + 0x900 <= number <= 0xFFFD  # noqa: PLR2004
    return chr(number) if ordinary else UNKNOWN
