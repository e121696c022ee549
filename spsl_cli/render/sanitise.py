"""Foreign text made safe for a terminal: the only way there for documents, model output, file names and error texts.

It knows characters and escape sequences, not where the text goes. What a terminal would have swallowed (a complete
escape sequence) is taken out whole; of an incomplete one only the introducer goes, so that no text is lost behind it.
The result holds no control character but newline and tab, and cleaning it again changes nothing.
"""

from __future__ import annotations

import re

# ECMA-48: string sequences (OSC, DCS, SOS, PM, APC) up to their terminator, CSI, then two- and three-byte escapes and
# a lone ESC. A string sequence ends at the first control character, so that the scan stays linear and an unterminated
# one cannot hide the lines after it.
_SEQUENCE = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_BREAK = re.compile(r"\r\n?|[\x0b\x0c\x85]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SEPARATOR = re.compile(r"[\u2028\u2029]")
# Marks, embeddings, overrides and isolates of the bidirectional algorithm, deprecated format characters, the byte
# order mark, interlinear annotations and the invisible tag letters. Joiners (U+200C, U+200D) shape letters and emoji
# and stay.
_FORMAT = re.compile(
    r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\U000e0001\U000e0020-\U000e007f]"
)
_UNSAFE = re.compile("|".join(part.pattern for part in (_CONTROL, _SURROGATE, _SEPARATOR, _FORMAT)))


def strip_controls(text: str) -> str:
    """`text` without escape sequences and controls (newline and tab stay), for files and pipes.

    Carriage returns, form feeds and the like become newlines, lone surrogates U+FFFD; all else is left as it is.
    """
    if text.isprintable():
        return text
    text = _SEQUENCE.sub("", text)
    text = _BREAK.sub("\n", text)
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", text))


def clean(text: str, *, keep_newlines: bool = True) -> str:
    """`text` as a terminal may have it: `strip_controls`, and no bidirectional or other hidden format character.

    With `keep_newlines=False`, newlines and tabs become spaces.
    """
    if text.isprintable():
        return text
    text = _FORMAT.sub("", _SEPARATOR.sub("\n", strip_controls(text)))
    return text if keep_newlines else text.replace("\n", " ").replace("\t", " ")


def one_line(text: str) -> str:
    """`text` cleaned and on one line, for names, titles and messages; spaces inside a line are kept."""
    parts = (part.strip() for part in clean(text).replace("\t", "\n").split("\n"))
    return " ".join(part for part in parts if part)


def escape_unsafe(json_text: str) -> str:
    r"""JSON text with every character that `clean` would take out written as `\uXXXX`, lone surrogates as U+FFFD.

    In valid JSON such characters stand in strings only, so the value stays the same for a parser.
    """
    return _UNSAFE.sub(lambda match: _escape(match[0]), json_text)


def _escape(character: str) -> str:
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:  # noqa: PLR2004 - the surrogates
        return "\ufffd"
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
