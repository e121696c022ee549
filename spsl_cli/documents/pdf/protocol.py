"""How the process that parses PDFs and the one that started it talk: frames of JSON, bounded. Knows no PDF.

A frame is a length of four bytes (big-endian) and as many bytes. What comes from the parsing process is believed no
further than its length and the types of its fields allow: it may be in the hands of a hostile document.
"""

from __future__ import annotations

import json
import struct
from dataclasses import fields
from types import UnionType
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, get_args, get_origin, get_type_hints

from spsl_cli.documents.limits import MEBIBYTE, Limits

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

OUT_OF_MEMORY = 77
"""The exit status by which the parsing process says so."""

_T = TypeVar("_T", bound="DataclassInstance")
_LENGTH = struct.Struct(">I")
_CHUNK = MEBIBYTE
# JSON in ASCII spends at most twelve bytes on a character, and page labels are short.
_BYTES_A_CHARACTER = 12
_BYTES_A_PAGE = 600


class ProtocolError(Exception):
    """What came is no frame, or not of the announced kind."""


def longest_reply(limits: Limits) -> int:
    """The most bytes that one reply may have."""
    return MEBIBYTE + _BYTES_A_CHARACTER * limits.page_characters + _BYTES_A_PAGE * limits.pages


def write_frame(stream: BinaryIO, payload: bytes) -> None:
    """Writes one frame and flushes. Raises OSError."""
    stream.write(_LENGTH.pack(len(payload)))
    stream.write(payload)
    stream.flush()


def read_frame(stream: BinaryIO, most: int) -> bytes | None:
    """The next frame, or None where the stream has ended. Raises ProtocolError, before it takes more than `most`."""
    head = _exactly(stream, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > most:
        raise ProtocolError(f"a frame of {length:,} bytes, more than {most:,}")
    return _exactly(stream, length)


def _exactly(stream: BinaryIO, length: int) -> bytes | None:
    # In pieces, so that a false length costs no memory before the bytes are there.
    pieces, missing = [], length
    while missing:
        piece = stream.read(min(missing, _CHUNK))
        if not piece:
            return None
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def dump(message: dict[str, Any]) -> bytes:
    """A message as JSON in ASCII, so that halves of surrogate pairs survive too."""
    return json.dumps(message, ensure_ascii=True, allow_nan=False).encode("ascii")


def load(payload: bytes) -> dict[str, Any]:
    """The reverse of `dump`. Raises ProtocolError."""
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not JSON: {type(error).__name__}") from error
    if not isinstance(message, dict):
        raise ProtocolError("not a JSON object")
    return message


def build(kind: type[_T], message: object) -> _T:
    """The dataclass that `message` describes. Raises ProtocolError unless each field is there and of its type."""
    if not isinstance(message, dict) or set(message) != {field.name for field in fields(kind)}:
        raise ProtocolError(f"not the fields of {kind.__name__}")
    hints = get_type_hints(kind)
    return kind(**{name: _value(hints[name], value) for name, value in message.items()})


def _value(hint: Any, value: object) -> Any:
    """`value` as the type `hint`: a plain type, None, a union of such, or a tuple of any length of one of them."""
    if isinstance(hint, UnionType):
        for option in get_args(hint):
            try:
                return _value(option, value)
            except ProtocolError:
                continue
    elif get_origin(hint) is tuple:
        if isinstance(value, list):
            (item, _) = get_args(hint)
            return tuple(_value(item, part) for part in value)
    elif type(value) is hint:
        return value
    raise ProtocolError(f"{type(value).__name__} where {hint} is wanted")
