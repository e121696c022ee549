"""Names of charsets, and the encoding that HTML or XML declares for itself, which is not trusted where it fails.

Names are taken as browsers take them: a page that says ISO 8859-1 or ASCII means Windows-1252, and so on. What is not
for text, or hides markup from what checks it (UTF-7), has no name here.
"""

from __future__ import annotations

import re

from spsl_cli.documents.encoding import Decoded

_SEARCHED = 4096
_DECLARATION = re.compile(
    rb"""<\?xml[^>]{0,200}?\bencoding\s*=\s*["']\s*([\w.:-]+)|<meta\b[^>]{0,400}?\bcharset\s*=\s*["']?\s*([\w.:-]+)""",
    re.IGNORECASE,
)
_NAMES = {
    "cp1252": "ascii us-ascii iso-8859-1 iso8859-1 iso_8859-1 latin1 latin-1 l1 windows-1252 cp1252 x-cp1252 cp819",
    "iso8859-2": "iso-8859-2 iso8859-2 iso_8859-2 latin2 l2",
    "iso8859-3": "iso-8859-3 latin3",
    "iso8859-4": "iso-8859-4 latin4",
    "iso8859-5": "iso-8859-5 cyrillic",
    "iso8859-6": "iso-8859-6 iso-8859-6-i iso-8859-6-e arabic",
    "iso8859-7": "iso-8859-7 greek",
    "iso8859-8": "iso-8859-8 iso-8859-8-i iso-8859-8-e hebrew",
    "cp1254": "iso-8859-9 iso8859-9 latin5 windows-1254 cp1254",
    "iso8859-10": "iso-8859-10 latin6",
    "cp874": "tis-620 iso-8859-11 windows-874 cp874",
    "iso8859-13": "iso-8859-13",
    "iso8859-14": "iso-8859-14",
    "iso8859-15": "iso-8859-15 iso8859-15 latin9 l9",
    "iso8859-16": "iso-8859-16",
    "cp1250": "windows-1250 cp1250 x-cp1250",
    "cp1251": "windows-1251 cp1251 x-cp1251",
    "cp1253": "windows-1253 cp1253",
    "cp1255": "windows-1255 cp1255",
    "cp1256": "windows-1256 cp1256",
    "cp1257": "windows-1257 cp1257",
    "cp1258": "windows-1258 cp1258",
    "cp866": "ibm866 cp866 866",
    "koi8-r": "koi8-r koi8 koi",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "gb18030 gbk gb2312 x-gbk gb_2312-80 chinese",
    "big5hkscs": "big5 big5-hkscs cn-big5 x-x-big5",
    "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j cp932",
    "euc-jp": "euc-jp x-euc-jp",
    "iso2022-jp": "iso-2022-jp",
    "cp949": "euc-kr euc_kr ks_c_5601-1987 ks_c_5601 korean windows-949 cp949",
}
_CODECS = {name: codec for codec, names in _NAMES.items() for name in names.split()}
# Seven-bit encodings: their bytes are sound UTF-8, but only an escape byte makes them more than ASCII.
_SEVEN_BIT = frozenset({"iso2022-jp"})
_ESCAPE = b"\x1b"


def codec_named(name: str) -> str | None:
    """Python's name for the encoding that is meant by a charset's name; None for a name that has no other meaning."""
    return _CODECS.get(name.strip().lower())


def declared_codec(data: bytes) -> str | None:
    """Python's name for the encoding declared near the start, if it is one for text."""
    found = _DECLARATION.search(data[:_SEARCHED])
    return codec_named((found[1] or found[2]).decode("ascii", "ignore")) if found else None


def decode_declared(data: bytes) -> Decoded | None:
    """The characters as declared, if every byte fits and they are not sound UTF-8, which then is what they are."""
    codec = declared_codec(data)
    if codec is None or (_is_utf8(data) and not (codec in _SEVEN_BIT and _ESCAPE in data)):
        return None
    try:
        return Decoded(data.decode(codec), codec)
    except UnicodeDecodeError:
        return None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
