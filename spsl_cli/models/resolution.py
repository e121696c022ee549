"""From what the user said (or did not say) to a model whose files are complete on this machine."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

from spsl_cli.errors import ModelUnavailableError, UsageError
from spsl_cli.models.cache import models_folder, read_manifest
from spsl_cli.models.conversion import user_gguf
from spsl_cli.models.defaults import Default, default_for_cuda
from spsl_cli.models.devices import pick_device, total_cuda_memory
from spsl_cli.models.embedded import EMBEDDED_ID, embedded_source
from spsl_cli.models.folder import check_folder, fingerprint, stated_license
from spsl_cli.models.hub import hub_model
from spsl_cli.models.progress import Progress, silent
from spsl_cli.models.source import Kind, ModelSource


def resolve(
    model: str | None,
    *,
    revision: str | None = None,
    offline: bool = False,
    device: str = "auto",
    refresh: bool = False,
    progress: Progress | None = None,
) -> ModelSource:
    """The model that `model` names: a folder, a `.gguf` file, a Hub id, or None for the default of this machine.

    What lies here under that name comes before the Hub. `refresh` asks the Hub for a newer state of `revision`.
    Raises `ModelUnavailableError` (what was tried, what to do) and `UsageError`.
    """
    report = progress or silent
    if model is None or model == EMBEDDED_ID:
        _no_revision(revision, "the default model")
        reason = f"--model names the embedded model {EMBEDDED_ID}"
        return embedded_source(report, offline=offline, reason=reason) if model else _default(device, offline, report)
    path = Path(model).expanduser()
    if path.exists():
        _no_revision(revision, f"the local model {model}")
        return _local(path, report)
    if _looks_like_a_path(model):
        raise ModelUnavailableError(
            f"no model at {model}: there is no such file or folder",
            hint="give a model folder, a .gguf file, or the id ORG/NAME of a model on the Hub",
        )
    reason = f"--model names {model} of the Hub"
    return hub_model(model, revision=revision, offline=offline, refresh=refresh, reason=reason, progress=report)


def _no_revision(revision: str | None, what: str) -> None:
    if revision is not None:
        raise UsageError(f"--revision {revision} has no meaning for {what}", hint="use it with a model id of the Hub")


def _looks_like_a_path(model: str) -> bool:
    return model.startswith((".", "/", "~")) or model.endswith((".gguf", "/")) or "\\" in model or model.count("/") > 1


def _default(device: str, offline: bool, progress: Progress) -> ModelSource:
    chosen = pick_device(device)
    if chosen == "cpu":
        reason = f"no model was named and no CUDA device is used: the embedded model {EMBEDDED_ID}"
        return embedded_source(progress, offline=offline, reason=reason)
    default = default_for_cuda(total_cuda_memory(chosen))
    if default.id is None:
        return embedded_source(progress, offline=offline, reason=default.reason)
    try:
        return _large_default(default.id, default, offline, progress)
    except ModelUnavailableError as error:
        warning = f"the small embedded model {EMBEDDED_ID} is used instead of {default.id}: {error}"
        return embedded_source(progress, offline=offline, reason=default.reason, warnings=(warning,))


def _large_default(repo_id: str, default: Default, offline: bool, progress: Progress) -> ModelSource:
    if default.quantize and importlib.util.find_spec("bitsandbytes") is None:
        raise ModelUnavailableError(f"{repo_id} needs bitsandbytes on this GPU", hint="pip install 'spsl[gpu]'")
    source = hub_model(repo_id, revision=None, offline=offline, refresh=False, reason=default.reason, progress=progress)
    return replace(source, quantize=default.quantize)


def _local(path: Path, progress: Progress) -> ModelSource:
    try:
        if path.is_file():
            return _file(path, progress)
        ggufs = sorted(path.glob("*.gguf"))
        if ggufs and not any(path.glob("*.safetensors")):
            if len(ggufs) > 1:
                raise ModelUnavailableError(
                    f"{path} holds {len(ggufs)} GGUF files", hint=f"name one of them: --model {ggufs[0]}"
                )
            return user_gguf(ggufs[0], progress)
        return _folder(path.resolve())
    except OSError as error:
        raise ModelUnavailableError(f"the model at {path} cannot be read: {error.strerror or error}") from error


def _file(path: Path, progress: Progress) -> ModelSource:
    if path.suffix == ".gguf":
        return user_gguf(path, progress)
    if path.suffix in (".bin", ".pt", ".pth", ".ckpt", ".pkl"):
        raise ModelUnavailableError(
            f"{path} looks like a Python pickle, which can run code when opened",
            hint="use a safetensors or GGUF version",
        )
    hint = "give the folder that holds it" if path.suffix == ".safetensors" else "give a model folder or a .gguf file"
    raise ModelUnavailableError(f"{path} is a file, not a model folder", hint=hint)


def _folder(folder: Path) -> ModelSource:
    check_folder(folder)
    reason = f"--model names the folder {folder}"
    # Only our own cache is believed what its manifest says; a copied manifest elsewhere proves nothing.
    manifest = read_manifest(folder) if folder.parent == models_folder().resolve() else None
    if manifest is not None:
        return ModelSource(Kind.FOLDER, manifest.id, folder, manifest.revision, manifest.license, reason)
    return ModelSource(Kind.FOLDER, folder.name, folder, fingerprint(folder), stated_license(folder), reason)
