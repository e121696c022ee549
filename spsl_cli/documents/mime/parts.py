"""Bytes -> the tree of parts that a message is. Follows boundaries, decodes transfer encodings, shows nothing.

Python's own parser is not used for the tree: it takes every line of a message through every level that encloses it, in
Python, and fails where levels are many. Its code for the parameters and encodings of one part is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.utils import collapse_rfc2231_value
from itertools import islice

from spsl_cli.documents.source import UnreadableError

DEEPEST = 100
MOST_PARTS = 100_000
_LONGEST_HEAD = 1 << 20
_LONGEST_PARAMETERS = 10_000
_MOST_HEADERS = 10_000
_WANTED = (
    b"From|To|Cc|Bcc|Date|Subject|Content-Type|Content-Transfer-Encoding|Content-Disposition"  # what is shown or used
    b"|Received|Return-Path|Delivered-To|Message-ID|MIME-Version|Reply-To|Sender"  # what shows that it is a message
)
_HEADER = re.compile(rb"^(" + _WANTED + rb")[ \t]*:[ \t]*(.*(?:\n[ \t].*)*)", re.IGNORECASE | re.MULTILINE)
_ANY_HEADER = re.compile(rb"[!-9;-~]+[ \t]*:")
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_NOTHING = re.compile(rb"\r?\n")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message, or the message itself.

    `headers` holds the undecoded values of those wanted, by lower-case name; `media_type` is in lower case; `parts` are
    those inside, also the message inside a `message/rfc822`; `body` is what a part without parts holds, still encoded.
    """

    headers: dict[str, list[bytes]]
    media_type: str
    parts: tuple[Part, ...]
    body: bytes
    faults: tuple[str, ...] = ()

    def content(self) -> tuple[bytes, bool]:
        """The bytes that the part stands for, and whether its transfer encoding was damaged."""
        message = _structured(self.headers)
        message.set_payload(self.body.decode("ascii", "surrogateescape"))
        content = message.get_payload(decode=True)
        return content if isinstance(content, bytes) else self.body, bool(message.defects)

    def parameter(self, name: str, header: str = "content-type") -> str | None:
        """A parameter of the content type or disposition, RFC 2231 undone; None without it or where it is damaged."""
        return _parameter(_structured(self.headers), name, header)

    @property
    def disposition(self) -> str:
        """`attachment`, `inline`, or empty."""
        return (_first(self.headers, "content-disposition") or "").partition(";")[0].strip().lower()


def parse(data: bytes) -> Part:
    """The tree of a message. Raises UnreadableError where it is too deep or has too many parts."""
    return _Parser(data).part(0, len(data), "text/plain", 0)


def is_message(data: bytes) -> bool:
    """Whether the bytes begin with headers that messages have."""
    head_end, _ = _head_end(data, 0, len(data))
    return _HEADER.search(data, 0, head_end) is not None


class _Parser:
    """One pass over the bytes of a message; parts are spans of them until they are read."""

    def __init__(self, data: bytes, parts: int = 0) -> None:
        self._data = data
        self._parts = parts

    def part(self, start: int, end: int, usual_type: str, depth: int) -> Part:
        """The part between two offsets, with all that is in it."""
        self._parts += 1
        if depth > DEEPEST:
            raise UnreadableError(f"a message of parts nested deeper than {DEEPEST}")
        if self._parts > MOST_PARTS:
            raise UnreadableError(f"a message of more than {MOST_PARTS:,} parts")
        headers, start = self._head(start, end)
        media_type = _structured(headers, usual_type).get_content_type()
        if media_type.startswith("multipart/"):
            return self._multipart(headers, media_type, start, end, depth)
        if media_type == "message/rfc822":
            return Part(headers, media_type, (self._inner(headers, start, end, depth + 1),), b"")
        return Part(headers, media_type, (), self._data[start:end])

    def _head(self, start: int, end: int) -> tuple[dict[str, list[bytes]], int]:
        """The headers of the part between two offsets, and where its body begins."""
        if empty := _NOTHING.match(self._data, start, end):
            return {}, empty.end()
        head_end, body = _head_end(self._data, start, end)
        headers: dict[str, list[bytes]] = {}
        for found in islice(_HEADER.finditer(self._data, start, head_end), _MOST_HEADERS):
            headers.setdefault(found[1].decode("ascii").lower(), []).append(found[2])
        return headers, body

    def _inner(self, headers: dict[str, list[bytes]], start: int, end: int, depth: int) -> Part:
        """The message inside a part, which some senders put into base64 although that is forbidden."""
        if (_first(headers, "content-transfer-encoding") or "").strip().lower() != "base64":
            return self.part(start, end, "text/plain", depth)
        data, _ = Part(headers, "", (), self._data[start:end]).content()
        within = _Parser(data, self._parts)
        inner = within.part(0, len(data), "text/plain", depth)
        self._parts = within._parts
        return inner

    def _multipart(self, headers: dict[str, list[bytes]], media_type: str, start: int, end: int, depth: int) -> Part:
        boundary = (_parameter(_structured(headers), "boundary", "content-type") or "").rstrip()
        sign = b"--" + boundary.encode("utf-8", "surrogateescape")
        spans, closed = _spans(self._data, sign, start, end) if boundary else ([], None)
        if not spans:
            return Part(headers, "text/plain", (), self._data[start:end], ("a message of several parts shows none",))
        usual_type = "message/rfc822" if media_type == "multipart/digest" else "text/plain"
        parts = tuple(self.part(first, last, usual_type, depth + 1) for first, last in spans)
        faults: tuple[str, ...] = ()
        if closed is None:
            faults = ("the last part of a message has no end: the message may be cut off",)
        elif self._data[closed:end].strip():
            faults = ("text after the last part of a message left out",)
        return Part(headers, media_type, parts, b"", faults)


def _head_end(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Where the headers that begin at `start` end, and where the body begins; both `start` where there are none."""
    if not _ANY_HEADER.match(data, start, end):
        return start, start
    if blank := _BLANK_LINE.search(data, start, min(end, start + _LONGEST_HEAD)):
        return blank.start(), blank.end()
    return (end, end) if end - start <= _LONGEST_HEAD else (start, start)


def _spans(data: bytes, sign: bytes, start: int, end: int) -> tuple[list[tuple[int, int]], int | None]:
    """Where the parts between lines of `sign` begin and end, and where what follows the last of them begins."""
    spans: list[tuple[int, int]] = []
    begun: int | None = None
    for line_start, line_end, closes in _boundary_lines(data, sign, start, end):
        if begun is not None:
            last = line_start - (2 if data[line_start - 2 : line_start] == b"\r\n" else 1)
            spans.append((begun, max(begun, last)))
        if closes:
            return spans, line_end
        begun = line_end
        if len(spans) > MOST_PARTS:
            raise UnreadableError(f"a message of more than {MOST_PARTS:,} parts")
    if begun is not None:
        spans.append((begun, end))
    return spans, None


def _boundary_lines(data: bytes, sign: bytes, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """The start and end of every line that is a boundary, and whether it is the closing one."""
    at = start
    while (at := data.find(sign, at, end)) >= 0:
        line_start, at = at, at + len(sign)
        if line_start != start and data[line_start - 1 : line_start] != b"\n":
            continue
        line_end = data.find(b"\n", at, end) + 1 or end
        rest = data[at:line_end].strip()
        if rest in (b"", b"--"):
            yield line_start, line_end, bool(rest)
        at = line_end


def _structured(headers: dict[str, list[bytes]], usual_type: str = "text/plain") -> Message:
    """The headers that Python's code for one part reads; those of senseless length are left out."""
    message = Message()
    message.set_default_type(usual_type)
    for name in ("content-type", "content-transfer-encoding", "content-disposition"):
        value = _first(headers, name)
        if value and len(value) <= _LONGEST_PARAMETERS:
            message[name] = value
    return message


def _parameter(message: Message, name: str, header: str) -> str | None:
    try:
        value = message.get_param(name, header=header)
        return collapse_rfc2231_value(value) if value is not None else None
    except (ValueError, LookupError, TypeError):
        return None


def _first(headers: dict[str, list[bytes]], name: str) -> str | None:
    """The first value of a header on one line; bytes beyond ASCII as UTF-8, else kept as surrogates."""
    values = headers.get(name)
    return " ".join(values[0].decode("utf-8", "surrogateescape").split()) if values else None
