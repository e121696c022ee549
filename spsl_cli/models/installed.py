"""The models on this machine that spsl can run: those it has converted, and snapshots of the Hugging Face Hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spsl_cli.errors import ModelUnavailableError
from spsl_cli.models.cache import models_folder, read_manifest
from spsl_cli.models.folder import check_folder, stated_license
from spsl_cli.models.loading import load_config
from spsl_cli.models.memory import context_length
from spsl_cli.models.support import check_supported


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model here: `path` is the folder to load from, `license` None where none is stated."""

    id: str
    path: Path
    revision: str
    license: str | None
    context_length: int


def installed() -> tuple[InstalledModel, ...]:
    """Every complete, supported model, ours first, each kind by name. Others are left out; `resolve` says why."""
    return (*_converted(), *_snapshots())


def _converted() -> list[InstalledModel]:
    folder = models_folder()
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        manifest = read_manifest(path) if path.is_dir() and not path.name.startswith(".") else None
        length = _runnable(path) if manifest is not None else None
        if manifest is not None and length is not None:
            found.append(InstalledModel(manifest.id, path, manifest.revision, manifest.license, length))
    return sorted(found, key=lambda model: (model.id, model.revision))


def _snapshots() -> list[InstalledModel]:
    from huggingface_hub import constants, scan_cache_dir  # noqa: PLC0415 - slow to import

    folder = Path(constants.HF_HUB_CACHE)
    repositories = scan_cache_dir(folder).repos if folder.is_dir() else ()
    found = []
    for repository in repositories:
        if repository.repo_type != "model":
            continue
        for revision in repository.revisions:
            path = revision.snapshot_path
            length = _runnable(path)
            if length is not None:
                model = InstalledModel(repository.repo_id, path, revision.commit_hash, stated_license(path), length)
                found.append(model)
    return sorted(found, key=lambda model: (model.id, model.revision))


def _runnable(folder: Path) -> int | None:
    """The context length of the model in `folder`; None if it cannot be run."""
    try:
        check_folder(folder)
        config = load_config(folder)
        check_supported(config)
        return context_length(config)
    except ModelUnavailableError:
        return None
