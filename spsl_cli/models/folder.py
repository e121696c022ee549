"""May the files of a model be loaded? Looks at names and small JSON files only; no weight is read here.

Weights that are Python pickles (`.bin`, `.pt`, `.pth`, `.ckpt`) can run code when they are opened, so they are never
opened; adapters would pull in a second model that nobody named.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import Any

from spsl_cli.errors import ModelUnavailableError

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
_ADAPTER = "adapter_config.json"
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_CARD_BLOCK = re.compile(r"\A\ufeff?---\r?\n(.*?)\r?\n---\s*$", re.DOTALL | re.MULTILINE)
_CARD_LICENSE = re.compile(r"^license(_name)?:\s*['\"]?([^'\"\r\n#]+)", re.MULTILINE)


def check_names(names: Collection[str], where: str) -> None:
    """Raise `ModelUnavailableError` if files of these names at `where` are no model that may be loaded."""
    if _ADAPTER in names:
        raise ModelUnavailableError(
            f"{where} is an adapter, not a whole model", hint="merge it into its base model and save that"
        )
    if WEIGHTS not in names and INDEX not in names:
        raise _no_weights(names, where)
    if CONFIG not in names:
        raise ModelUnavailableError(f"{where} has no {CONFIG}", hint="a model needs its configuration file")


def _no_weights(names: Collection[str], where: str) -> ModelUnavailableError:
    pickles = sorted(name for name in names if name.endswith(_PICKLES))
    if any(name.endswith(".safetensors") for name in names):
        return ModelUnavailableError(
            f"{where} has neither {WEIGHTS} nor {INDEX}", hint="save the model with transformers' save_pretrained"
        )
    if any(name.endswith(".gguf") for name in names):
        return ModelUnavailableError(
            f"{where} holds GGUF files only", hint="download one of them and give its path: --model FILE.gguf"
        )
    if pickles:
        return ModelUnavailableError(
            f"{where} has its weights as Python pickles only ({pickles[0]}), which can run code when opened",
            hint="use a safetensors version of the model, or convert it in a place you trust",
        )
    return ModelUnavailableError(f"{where} holds no model weights", hint="give a folder with safetensors weights")


def check_folder(folder: Path) -> None:
    """Raise `ModelUnavailableError` unless `folder` holds a complete model in safetensors."""
    try:
        names = {entry.name for entry in folder.iterdir() if entry.is_file()}
    except OSError as error:
        raise ModelUnavailableError(f"the model folder {folder} cannot be read: {error.strerror or error}") from error
    check_names(names, str(folder))
    read_json(folder / CONFIG)
    for shard in weight_files(folder):
        if shard.name not in names:
            raise ModelUnavailableError(
                f"{folder} lacks the weights {shard.name}, which its index names", hint="fetch the model again"
            )


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of the model, in order; a file named by an index need not exist."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    shards = read_json(folder / INDEX).get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise ModelUnavailableError(f"{folder / INDEX} names no weights", hint="fetch the model again")
    for name in shards.values():
        if not isinstance(name, str) or PurePosixPath(name).name != name or not name.endswith(".safetensors"):
            raise ModelUnavailableError(
                f"{folder / INDEX} names {name!r} as weights, which is no safetensors file of that folder",
                hint="do not use this model unless you know why",
            )
    return [folder / name for name in sorted(set(shards.values()))]


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in `path`; `ModelUnavailableError` if it is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelUnavailableError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise ModelUnavailableError(f"{path} is not a JSON object")
    return content


def fingerprint(folder: Path) -> str:
    """Tells the state of a local folder apart from every other: small files by content, weights by size and time.

    Hashing gigabytes at each start would cost more than loading them. Whoever rewrites weights changes their time.
    """
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.json")) + sorted(folder.glob("*.jinja")) + sorted(folder.glob("*.model")):
        digest.update(f"{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    for file in weight_files(folder):
        state = file.stat()
        digest.update(f"{file.name}\0{state.st_size}\0{state.st_mtime_ns}\0".encode())
    return f"local-{digest.hexdigest()[:16]}"


def stated_license(folder: Path) -> str | None:
    """The license that the model card (`README.md`) states in its metadata block, if there is one."""
    try:
        card = (folder / "README.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    block = _CARD_BLOCK.search(card)
    found = {name: value.strip() for name, value in _CARD_LICENSE.findall(block.group(1))} if block else {}
    return found.get("_name") or found.get("")
