"""A content stream's bytes -> its operators with their operands. Knows syntax only; damage is passed over.

Numbers stay as they are written, for most are never looked at. Strings are bytes, names text with their slash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TOKEN = re.compile(
    rb"[\0\t\n\f\r ]*(?:"
    rb"([^\0\t\n\f\r ()<>\[\]{}/%]+)"  # 1: a number or an operator
    rb"|\(([^()\\\r]*)\)"  # 2: a string without anything to resolve
    rb"|(/[^\0\t\n\f\r ()<>\[\]{}/%]*)"  # 3: a name
    rb"|<([0-9A-Fa-f\0\t\n\f\r ]*)>"  # 4: a string in hexadecimal
    rb"|(<<|>>|[\[\]])"  # 5: an array or a dictionary begins or ends
    rb"|(\()"  # 6: a string with escapes or parentheses in it
    rb"|%[^\r\n]*"
    rb"|[{}<>)])"
)
_PLAIN, _STRING, _NAME, _HEXADECIMAL, _BRACKET, _LONG_STRING = range(1, 7)
_NUMERIC = frozenset(b"0123456789+-.")
_IN_STRING = re.compile(rb"[()\\]")
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|(\r\n?|\n)|(.))|\r\n?", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_HASH = re.compile(rb"#([0-9A-Fa-f]{2})")
_IMAGE_DATA = re.compile(rb"[\0\t\n\f\r ]ID[\0\t\n\f\r ]")
_IMAGE_END = re.compile(rb"[\0\t\n\f\r ]EI(?=\Z|[\0\t\n\f\r ](?:[\0\t\n\f\r -~]{24}|[\0\t\n\f\r -~]{0,23}\Z))")
_ODD_NUMBER = re.compile(rb"([+-]*)(\d*\.?\d*)")
_MOST_OPERANDS = 100_000
_DEEPEST = 50
IMAGE = b"INLINE IMAGE"

_Frame = tuple[bytes, list[Any]]


def operations(data: bytes) -> Iterator[tuple[list[Any], bytes]]:  # noqa: C901, PLR0912 - one loop, for its speed
    """Each operator with the operands before it, in order; an inline image is the one operator IMAGE."""
    operands: list[Any] = []
    frames: list[_Frame] = []
    match, end = _TOKEN.match, len(data)
    at = 0
    while at < end:
        found = match(data, at)
        if found is None:
            return  # nothing but blanks is left, for any other byte begins a token
        at = found.end()
        kind = found.lastindex
        if kind == _PLAIN:
            token = found[1]
            if token[0] in _NUMERIC:
                operands.append(_worth(token) if frames else token)
            elif frames:
                # An operator within an array or a dictionary: its end is missing, or it is `true`, `false`, `null`.
                operands.append(token)
            elif token == b"BI":
                at = _after_image(data, at)
                yield operands, IMAGE
                operands = []
            else:
                yield operands, token
                operands = []
        elif kind == _STRING:
            operands.append(found[2])
        elif kind == _NAME:
            operands.append(_name(found[3]))
        elif kind == _HEXADECIMAL:
            operands.append(_hexadecimal(found[4]))
        elif kind == _BRACKET:
            operands = _nest(found[5], operands, frames)
        elif kind == _LONG_STRING:
            string, at = _string(data, at)
            operands.append(string)
        if len(operands) > _MOST_OPERANDS:
            operands.clear()


def number(token: Any) -> float:
    """What a number is worth; odd spellings (`--5`, `1.2-3`) count as viewers take them. Raises ValueError."""
    try:
        return float(token)
    except ValueError:
        if not isinstance(token, bytes):
            raise
        found = _ODD_NUMBER.match(token)
        if found is None or not found[2].strip(b"."):
            raise
        value = float(found[2])
        return -value if found[1].startswith(b"-") else value


def _worth(token: bytes) -> float | bytes:
    try:
        return number(token)
    except ValueError:
        return token


def _nest(bracket: bytes, operands: list[Any], frames: list[_Frame]) -> list[Any]:
    """Opens or closes an array or a dictionary; gives the list that what follows belongs to."""
    if bracket in (b"[", b"<<"):
        if len(frames) >= _DEEPEST:
            return operands
        frames.append((bracket, operands))
        return []
    if not frames:
        return operands
    opened, outer = frames.pop()
    outer.append(operands if opened == b"[" else _dictionary(operands))
    return outer


def _dictionary(items: list[Any]) -> dict[str, Any]:
    return {key: value for key, value in zip(items[::2], items[1::2], strict=False) if isinstance(key, str)}


def _name(token: bytes) -> str:
    if b"#" in token:
        token = _HASH.sub(lambda found: bytes([int(found[1], 16)]), token)
    try:
        return token.decode()
    except UnicodeDecodeError:
        return token.decode("latin-1")


def _hexadecimal(digits: bytes) -> bytes:
    digits = bytes(digits).translate(None, b"\0\t\n\f\r ")
    return bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode("ascii"))


def _string(data: bytes, at: int) -> tuple[bytes, int]:
    """The string that begins at `at`, after its parenthesis, and where it ends: without an end, at the last byte."""
    start, depth = at, 1
    while found := _IN_STRING.search(data, at):
        at = found.end()
        sign = found[0]
        if sign == b"\\":
            at += 1
        elif sign == b"(":
            depth += 1
        else:
            depth -= 1
            if not depth:
                return _ESCAPE.sub(_resolved, data[start : at - 1]), at
    return _ESCAPE.sub(_resolved, data[start:]), len(data)


def _resolved(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return bytes([int(found[1], 8) & 0xFF])
    if found[2]:
        return b""
    if found[3]:
        return _ESCAPED.get(found[3], found[3])
    return b"\n"


def _after_image(data: bytes, at: int) -> int:
    """Where an inline image ends that begins at `at`: at the first EI that no image data seem to follow."""
    begin = _IMAGE_DATA.search(data, at)
    if begin is None:
        return len(data)
    found = _IMAGE_END.search(data, begin.end() - 1)
    return found.end() if found else len(data)
