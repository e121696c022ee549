"""What a PDF says its glyphs mean -> characters that a model and a person read the same way. Knows no pages."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spsl_cli.documents.encoding import REPLACEMENT, whole_signs
from spsl_cli.documents.pdf.hyphens import SOFT_HYPHEN

_LIGATURES = str.maketrans(
    {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st"}
)
_LINE_ENDS = re.compile(r"\r\n?|[\f\v\u2028\u2029]")
# Some fonts give their hyphen as a sign without a meaning: only at a line's end is it clear that a hyphen is meant.
_NAMELESS_HYPHEN = re.compile(r"(?<=[^\W\d_])[\u0002\ufffe](?=[ \t]*\n)")
_SOFT_HYPHEN_WITHIN = re.compile(r"\u00ad(?![ \t]*\n)")
_MEANINGLESS = re.compile("[\u0000-\u0008\u000e-\u001f\u007f-\u009f\ufdd0-\ufdef\ufffe\uffff]")
_BLANKS_AT_LINE_END = re.compile(r"[ \t\u00a0]+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Readable:
    """Text, and how many of its characters have no meaning and stand as U+FFFD."""

    text: str
    unknown: int


def readable(text: str) -> Readable:
    """Halves of surrogate pairs are put together, ligatures taken apart, and signs without a meaning replaced.

    A soft hyphen is left only at a line's end, where it says that the word goes on.
    """
    text = _LINE_ENDS.sub("\n", whole_signs(text).translate(_LIGATURES))
    text = _NAMELESS_HYPHEN.sub(SOFT_HYPHEN, text)
    text = _SOFT_HYPHEN_WITHIN.sub("", text)
    text = _MEANINGLESS.sub(REPLACEMENT, text)
    return Readable(_BLANKS_AT_LINE_END.sub("", text).strip("\n"), text.count(REPLACEMENT))
