"""One file of keys and values: safetensors, written layer by layer, with a checksum of its data in the header.

Knows tensors, tokens and places; not where files lie or which is wanted.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = "spsl-kv/1"
_TYPES = {"float32": "F32", "bfloat16": "BF16", "float16": "F16", "float64": "F64", "int32": "I32"}
_CHUNK = 1 << 22
_MOST_NAMED = 100
_LONGEST_HEADER = 1 << 24


class DamagedError(Exception):
    """The file is not what this module writes, or not whole."""


@dataclass(frozen=True)
class Header:
    """What a file says of itself: whose model's rows, how many tokens, and where the pieces of their prefill ended.

    `documents`: what those were called that were read, up to a hundred of them.
    """

    path: Path
    key: str
    model: str
    tokens: int
    splits: tuple[int, ...]
    size: int
    checksum: str
    data_at: int
    documents: tuple[str, ...] = ()


def write(
    path: Path,
    key: str,
    model: str,
    token_ids: Sequence[int],
    splits: Sequence[int],
    rows: Sequence[Any],
    documents: Sequence[str] = (),
) -> None:
    """Write the file whole or not at all, for its owner only. Raises OSError.

    rows: of every layer keys and values [Hkv, n, D], n the number of tokens. No more than one tensor is copied at once.
    documents: what they were called that were read.
    """
    import torch  # noqa: PLC0415 seconds

    tensors = [("token_ids", torch.tensor(token_ids, dtype=torch.int32))]
    for number, (keys, values) in enumerate(rows):
        tensors += [(f"{number}.keys", keys), (f"{number}.values", values)]
    facts = {"format": FORMAT, "key": key, "model": model}
    header = _header(
        tensors, facts | {"splits": json.dumps(list(splits)), "documents": json.dumps(list(documents[:_MOST_NAMED]))}
    )
    descriptor, name = tempfile.mkstemp(prefix=".kv-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(header)
            checksum = 0
            for _, tensor in tensors:
                data = tensor.contiguous().cpu().view(torch.uint8).flatten().numpy().data
                checksum = zlib.crc32(data, checksum)
                stream.write(data)
            at = header.index(b'"checksum": "') + len(b'"checksum": "')
            stream.seek(at)
            stream.write(f"{checksum:08x}".encode("ascii"))
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_header(path: Path) -> Header:
    """What the file says of itself. Raises DamagedError, or OSError."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0  # noqa: PLR2004 safetensors: 8 bytes of length
        if not 0 < length <= min(_LONGEST_HEADER, size - 8):
            raise DamagedError("no header")
        try:
            content = json.loads(stream.read(length))
            told = content.pop("__metadata__")
            if told["format"] != FORMAT:
                raise DamagedError(f"format {told['format']}")
            end = max(entry["data_offsets"][1] for entry in content.values())
            header = Header(
                path, told["key"], told["model"], content["token_ids"]["shape"][0],
                tuple(json.loads(told["splits"])), size, told["checksum"], 8 + length,
                tuple(map(str, json.loads(told.get("documents", "[]")))),
            )  # fmt: skip
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise DamagedError("a header of another kind") from error
    if end != size - header.data_at:
        raise DamagedError(f"{size - header.data_at} bytes of data instead of {end}")
    return header


def token_ids(header: Header) -> list[int]:
    """The tokens whose rows the file holds. Raises DamagedError, or OSError."""
    with _opened(header.path) as file:
        ids: list[int] = file.get_tensor("token_ids").tolist()
    return ids


def check(header: Header) -> None:
    """Read all data once. Raises DamagedError where the checksum is another, or OSError."""
    checksum = 0
    with header.path.open("rb") as stream:
        stream.seek(header.data_at)
        while block := stream.read(_CHUNK):
            checksum = zlib.crc32(block, checksum)
    if f"{checksum:08x}" != header.checksum:
        raise DamagedError("a wrong checksum")


def layers(header: Header) -> Iterator[tuple[Any, Any]]:
    """Keys and values [Hkv, n, D] of one layer after the other, read when they are asked for."""
    with _opened(header.path) as file:
        count = (len(file.keys()) - 1) // 2
        for number in range(count):
            yield file.get_tensor(f"{number}.keys"), file.get_tensor(f"{number}.values")


def _opened(path: Path) -> Any:
    from safetensors import SafetensorError, safe_open  # noqa: PLC0415

    try:
        return safe_open(path, "pt")
    except SafetensorError as error:
        raise DamagedError(str(error)) from error


def _header(tensors: Sequence[tuple[str, Any]], told: dict[str, str]) -> bytes:
    """The header with room for the checksum, padded to whole eights."""
    content: dict[str, Any] = {"__metadata__": {**told, "checksum": "0" * 8}}
    end = 0
    for name, tensor in tensors:
        begin, end = end, end + tensor.numel() * tensor.element_size()
        kind = _TYPES[str(tensor.dtype).removeprefix("torch.")]
        content[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text
