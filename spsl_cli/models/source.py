"""What is known of a model before it is loaded: which it is, where its files lie, and why it was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Kind(StrEnum):
    """Where a model comes from."""

    EMBEDDED = "embedded"
    GGUF = "gguf"
    FOLDER = "folder"
    HUB = "hub"


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model whose files are complete on this machine and of a kind that may be loaded.

    `path` is the folder to load from (config, safetensors, tokenizer). `revision` tells the content apart from any
    other under the same `id`: a commit on the Hub, a wheel version, or a fingerprint of the files. `license` is None
    where the files do not state one. `reason` says in words why this model was taken; `warnings` what the user must be
    told, such as a fallback. `quantize` is the quantisation that goes with a default chosen for a small GPU.
    """

    kind: Kind
    id: str
    path: Path
    revision: str
    license: str | None
    reason: str
    warnings: tuple[str, ...] = ()
    quantize: str | None = None
