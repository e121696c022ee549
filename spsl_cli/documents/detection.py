"""Which of the old encodings a text is in that is not UTF-8, judged by all of its letters. Decodes nothing itself.

Windows-1252 is the answer unless another one is clearly better. Languages in Latin letters are told by their alphabets:
the share of the bytes beyond ASCII that are letters of one language, in its encoding. For other scripts
charset-normalizer is asked, on samples from everywhere in the text. A short text says too little for either.
"""

from __future__ import annotations

import re
from collections import Counter

WESTERN = "cp1252"
_LONG = 600  # bytes beyond ASCII; with 200, one text in ten of some languages is taken for another
_PLAUSIBLE = 0.9
_CLEAR = 0.97
_BETTER = 0.03
_MOST_COUNTED = 1 << 20

# The letters beyond ASCII of one language each, and of those that use some of them.
_WESTERN_ALPHABETS = (
    "äöüß",
    "àâæçéèêëîïôœùûüÿ",
    "áéíñóúüºª¿¡",
    "àáâãçéêíóôõúüºª",
    "àèéìîíòóùú",
    "åäöéü",
    "æøåéèêóòâôüöä",
    "áðéíóúýþæö",
    "àçèéíïòóúü·ñ",
    "ëéèïöüóáêçà",
    "äöõüšž",
    "çëéè",
)
_OTHER_ALPHABETS = (
    ("ąćęłńóśźż", ("iso8859_2", "cp1250")),
    ("áčďéěíňóřšťúůýž", ("iso8859_2", "cp1250")),
    ("áäčďéíĺľňóôŕšťúýž", ("iso8859_2", "cp1250")),
    ("áéíóöőúüű", ("iso8859_2", "cp1250")),
    ("čćđšž", ("iso8859_2", "cp1250")),
    ("ăâîşţ", ("iso8859_2", "cp1250")),
    ("çğıİöşüâîû", ("cp1254",)),
    ("ąčęėįšųūž", ("cp1257",)),
    ("āčēģīķļņšūž", ("cp1257",)),
)
# No-break space, quotation marks, dashes, ellipsis, bullet, section, degree, euro, copyright, registered, trade mark.
_IN_ANY_LANGUAGE = frozenset(
    "\u00a0\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a\u2013\u2014\u2026\u2022\u00a7\u00b0\u20ac\u00a9\u00ae\u2122"
)
_OTHER_SCRIPTS = (
    *("cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5"),
    *("cp1253", "iso8859_7", "cp1255", "cp1256", "cp874"),
    *("cp932", "euc_jp", "cp949", "gb18030", "big5"),
)
_MOST_MESS = 0.2
_LEAST_FOREIGN = 0.5

_ASCII = bytes(range(0x80))
_FOREIGN_WORD = re.compile(rb"[A-Za-z\x80-\xff]*[\x80-\xff][A-Za-z\x80-\xff]*")
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
# Below this no encoding has a second byte of a character, so there a text may be cut.
_LEAST_TRAIL = 0x30
_CUTS = bytes(0x0A if byte < _LEAST_TRAIL else byte for byte in range(0x100))
_SAMPLES = 64
_SAMPLE_BYTES = 512


def likeliest(data: bytes) -> str:
    """The encoding of a text that is not UTF-8, as Python calls it."""
    beyond = data.translate(None, _ASCII)
    if len(beyond) < _LONG:
        return WESTERN
    counted = Counter(beyond[:: 1 + len(beyond) // _MOST_COUNTED])
    western = max(_share(counted, WESTERN, alphabet) for alphabet in _WESTERN_ALPHABETS)
    share, encoding = max(
        (_share(counted, encoding, alphabet), encoding)
        for alphabet, encodings in _OTHER_ALPHABETS
        for encoding in encodings
    )
    if share >= max(_CLEAR, western + _BETTER):
        return encoding
    return WESTERN if western >= _PLAUSIBLE else _by_script(data) or WESTERN


def _share(counted: Counter[int], encoding: str, alphabet: str) -> float:
    """How much of what is counted, signs of any language left aside, are letters of the alphabet."""
    letters = set(alphabet + alphabet.upper())
    fit = total = 0
    for byte, number in counted.items():
        sign = bytes([byte]).decode(encoding, "replace")
        if sign not in _IN_ANY_LANGUAGE:
            total += number
            fit += number if sign in letters else 0
    return fit / total if total else 0.0


def _by_script(data: bytes) -> str | None:
    """What charset-normalizer takes the samples for, if it is nearly sure.

    None for words that are mostly ASCII letters: they are of a language in Latin letters, whatever its encoding.
    """
    samples = _samples(data)
    words = b"".join(_FOREIGN_WORD.findall(samples))
    if len(words.translate(None, _ASCII)) < _LEAST_FOREIGN * len(words):
        return None
    from charset_normalizer import from_bytes  # noqa: PLC0415 not needed for most texts

    found = from_bytes(
        samples,
        steps=8,
        chunk_size=1024,
        cp_isolation=list(_OTHER_SCRIPTS),
        preemptive_behaviour=False,
        enable_fallback=False,
    ).best()
    return found.encoding if found and found.chaos <= _MOST_MESS else None


def _samples(data: bytes) -> bytes:
    """Pieces from everywhere that hold bytes beyond ASCII, cut where no character can be torn."""
    marked = data.translate(_CUTS)
    pieces = []
    end = 0
    for number in range(_SAMPLES):
        found = _BEYOND_ASCII.search(data, max(end, number * len(data) // _SAMPLES))
        if not found:
            break
        start = marked.rfind(b"\n", end, found.start()) + 1 or end
        whole = found.start()  # where a character begins
        if whole - start > _SAMPLE_BYTES:  # in a long run, perhaps of characters of two bytes
            first = _BEYOND_ASCII.search(data, start)
            start = whole = whole - ((whole - first.start()) & 1 if first else 0)
        end = marked.find(b"\n", start + _SAMPLE_BYTES, start + 2 * _SAMPLE_BYTES)
        if end < 0:
            end = min(start + 2 * _SAMPLE_BYTES, len(data))
            end -= (end - whole) & 1
        pieces.append(data[start:end])
    return b"\n".join(pieces)
