"""Our own store of converted models: each is one folder that appears whole or not at all.

A folder counts as a model only if its manifest names the expected source and every file in it has the stated size.
The work is done in a hidden folder beside it and renamed at the end, under a lock that the system releases when a
process dies; so what a killed run leaves behind never counts, and the next run removes it. What a conversion does is
not known here.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from spsl_cli.errors import ModelUnavailableError
from spsl_cli.machine import cache_root

MANIFEST = "spsl-manifest.json"
# Part of every manifest: a change in what conversion writes gets a new number, and older folders are made anew.
SCHEMA = "spsl.model/1"
MODEL_FOLDER = "model"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a converted model is, and which files it consists of (name -> bytes)."""

    id: str
    revision: str
    license: str | None
    source: str
    source_sha256: str
    source_bytes: int
    schema: str = SCHEMA
    files: dict[str, int] = field(default_factory=dict)


def models_folder() -> Path:
    """Where converted models lie; it need not exist."""
    return cache_root() / "models"


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a whole model; None if there is none, or if a file it names is missing or of another size."""
    try:
        manifest = Manifest(**json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
        whole = all((folder / name).stat().st_size == size for name, size in manifest.files.items())
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return manifest if whole and manifest.files and manifest.schema == SCHEMA else None


def converted(name: str, source_sha256: str) -> Path | None:
    """The folder of the model converted from the source of that hash, if it is there and whole."""
    folder = models_folder() / name
    manifest = read_manifest(folder)
    return folder if manifest is not None and manifest.source_sha256 == source_sha256 else None


def build_once(name: str, source_sha256: str, build: Callable[[Path], Manifest]) -> Path:
    """The folder of the model `name`, made by `build` unless it is there already.

    `build(work)` gets a private folder, leaves the finished files in `work / MODEL_FOLDER`, which is there and empty,
    and tells what they are; the rest of `work` is scratch space. Raises `ModelUnavailableError` if the cache cannot be
    written.
    """
    from filelock import FileLock  # noqa: PLC0415 - this module stays light

    folder = models_folder() / name
    try:
        for parent in (cache_root(), models_folder()):
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(models_folder() / f".{name}.lock"):
            if converted(name, source_sha256) is None:
                _build(folder, build)
    except OSError as error:
        raise ModelUnavailableError(
            f"the model {name} cannot be written to {models_folder()}: {error.strerror or error}",
            hint="make room there, or name another folder in SPSL_CACHE_DIR",
        ) from error
    return folder


def _build(folder: Path, build: Callable[[Path], Manifest]) -> None:
    for leftover in folder.parent.glob(f".{folder.name}.*.tmp"):  # of runs that were killed: we hold the lock
        shutil.rmtree(leftover, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        made = work / MODEL_FOLDER
        made.mkdir(mode=0o700)
        _seal(made, build(work))
        if folder.exists():
            folder.rename(work / "replaced")
        made.rename(folder)
        _sync(folder.parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _seal(made: Path, manifest: Manifest) -> None:
    """Write the manifest last, and everything to the disk before the rename makes it visible."""
    files = sorted(file for file in made.rglob("*") if file.is_file())
    sizes = {file.relative_to(made).as_posix(): file.stat().st_size for file in files}
    content = asdict(manifest) | {"files": sizes}
    (made / MANIFEST).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    for file in (*files, made / MANIFEST, made):
        _sync(file)


def _sync(path: Path) -> None:
    if path.is_dir() and os.name != "posix":  # Windows cannot open a folder
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
