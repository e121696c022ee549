"""The predefined encodings of Chinese, Japanese and Korean fonts, by name: which codec reads their codes."""

from __future__ import annotations

import re

_CODECS = {
    "GB-EUC": "gb2312",
    "GBpc-EUC": "gbk",
    "GBK-EUC": "gbk",
    "GBKp-EUC": "gbk",
    "GBK2K": "gb18030",
    "B5pc": "cp950",
    "ETen-B5": "cp950",
    "ETenms-B5": "cp950",
    "HKscs-B5": "big5hkscs",
    "83pv-RKSJ": "cp932",
    "90ms-RKSJ": "cp932",
    "90msp-RKSJ": "cp932",
    "90pv-RKSJ": "cp932",
    "Add-RKSJ": "cp932",
    "Ext-RKSJ": "cp932",
    "EUC": "euc_jp",
    "KSC-EUC": "euc_kr",
    "KSCms-UHC": "cp949",
    "KSCms-UHC-HW": "cp949",
    "KSCpc-EUC": "cp949",
}
# Seven-bit rows and cells: the same codes as the codec's, with the high bits left off.
_SHIFTED = {"": "euc_jp", "GB": "gb2312", "KSC": "euc_kr"}
_UNICODE = re.compile(r"Uni\w+-(UTF16|UCS2|UTF8|UTF32)(?:-HW)?$")
_UNICODE_CODECS = {"UTF16": "utf-16-be", "UCS2": "utf-16-be", "UTF8": "utf-8", "UTF32": "utf-32-be"}


def is_vertical(name: str) -> bool:
    """Whether text under this encoding runs from top to bottom."""
    return name == "V" or name.endswith("-V")


def codec(name: str) -> str | None:
    """The codec for an encoding such as `90ms-RKSJ-H`; None for those that name glyphs and not characters."""
    stem = re.sub(r"(?:^|-)[HV]$", "", name)
    unicode = _UNICODE.match(stem)
    return _UNICODE_CODECS[unicode[1]] if unicode else _CODECS.get(stem)


def decode(name: str, data: bytes) -> str | None:
    """The characters that `data` spells; None if the encoding says nothing about characters."""
    if found := codec(name):
        return data.decode(found, "replace")
    stem = re.sub(r"(?:^|-)[HV]$", "", name)
    if stem in _SHIFTED and name != stem:
        return bytes(byte | 0x80 for byte in data).decode(_SHIFTED[stem], "replace")
    return None
