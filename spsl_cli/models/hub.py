"""Models of the Hugging Face Hub: what is on this machine is used as it is, anything else is fetched by its commit.

A model already here is taken without asking the Hub, so that a run tells nobody what it uses; `refresh` asks. What may
not be loaded, or what the decoder cannot run, is refused before its weights are fetched.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

from spsl_cli.errors import ModelUnavailableError
from spsl_cli.models.folder import CONFIG, check_folder, check_names, stated_license
from spsl_cli.models.loading import load_config
from spsl_cli.models.progress import FETCH, LOOK_UP, Progress, silent
from spsl_cli.models.source import Kind, ModelSource
from spsl_cli.models.support import check_supported
from spsl_cli.models.wording import first_line

# Top level only: repositories keep copies in other formats in folders, and Mistral's a second copy at the top.
_ALLOW = ["*.safetensors", "*.json", "*.jinja", "*.model", "*.tiktoken", "merges.txt", "vocab.txt", "README.md"]
_IGNORE = ["*/*", "consolidated*"]
_COMMIT = re.compile("[0-9a-f]{40}")


def hub_model(
    repo_id: str, *, revision: str | None, offline: bool, refresh: bool, reason: str, progress: Progress
) -> ModelSource:
    """The model `repo_id` at `revision` (a branch, tag or commit; None: the default branch), complete on this machine.

    `refresh` asks for a newer state of a branch or tag; a commit never changes.
    Raises `ModelUnavailableError` that says what was tried.
    """
    asks = refresh and not _COMMIT.fullmatch(revision or "")
    with _explained(repo_id, revision, refresh=asks):
        folder = None if asks else _cached(repo_id, revision)
        if folder is None and offline:
            raise ModelUnavailableError(
                f"the model {_named(repo_id, revision)} is not complete here, and nothing is fetched offline",
                hint="run once without --offline",
            )
        if folder is None:
            folder = _fetch(repo_id, revision, progress)
    return ModelSource(Kind.HUB, repo_id, folder, folder.name, stated_license(folder), reason)


def _cached(repo_id: str, revision: str | None) -> Path | None:
    """The snapshot on this machine if it is there and complete. No connection is made."""
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - slow to import
    from huggingface_hub.errors import LocalEntryNotFoundError  # noqa: PLC0415

    try:
        found = snapshot_download(
            repo_id, revision=revision, local_files_only=True, allow_patterns=_ALLOW, ignore_patterns=_IGNORE
        )
        check_folder(Path(found))
    except (LocalEntryNotFoundError, ModelUnavailableError):
        return None
    return Path(found)


def _fetch(repo_id: str, revision: str | None, progress: Progress) -> Path:
    """Look at the list of files and the configuration first; let the revision's name lead to the files only at the end.

    So a fetch that is broken off leaves the state fetched before usable under its name. Files already here are kept.
    """
    from huggingface_hub import HfApi, snapshot_download  # noqa: PLC0415

    progress(LOOK_UP, 0, None, "")
    info = HfApi().model_info(repo_id, revision=revision, files_metadata=True)
    files = {file.rfilename: file.size or 0 for file in info.siblings or [] if "/" not in file.rfilename}
    check_names(files, f"the model {_named(repo_id, revision)}")
    unheard = _byte_meter(0, silent)
    config = snapshot_download(repo_id, revision=info.sha, allow_patterns=[CONFIG], tqdm_class=unheard)
    _check_runnable(Path(config), _named(repo_id, revision))
    progress(LOOK_UP, 1, 1, "")
    folder = _cached(repo_id, info.sha) or _download(repo_id, info.sha, files, progress)
    # Only this writes down which commit the name stands for. If it has moved on meanwhile, the next run fetches again.
    snapshot_download(repo_id, revision=revision, allow_patterns=[CONFIG], tqdm_class=unheard)
    return folder


def _download(repo_id: str, commit: str | None, files: dict[str, int], progress: Progress) -> Path:
    from huggingface_hub import snapshot_download  # noqa: PLC0415

    total = sum(size for name, size in files.items() if _wanted(name))
    progress(FETCH, 0, total, "bytes")
    folder = Path(
        snapshot_download(
            repo_id,
            revision=commit,
            allow_patterns=_ALLOW,
            ignore_patterns=_IGNORE,
            tqdm_class=_byte_meter(total, progress),
        )
    )
    check_folder(folder)
    progress(FETCH, total, total, "bytes")
    return folder


def _check_runnable(folder: Path, named: str) -> None:
    """Raise `ModelUnavailableError` unless the decoder runs models of the configuration in `folder`."""
    try:
        check_supported(load_config(folder))
    except ModelUnavailableError as error:
        raise type(error)(f"the model {named} is not fetched: {error.what}", hint=error.hint) from error


def _wanted(name: str) -> bool:
    return any(fnmatch(name, allowed) for allowed in _ALLOW) and not any(fnmatch(name, other) for other in _IGNORE)


def _byte_meter(total: int, progress: Progress) -> type[Any]:
    """A tqdm class that prints nothing and reports bytes, as the downloads' own bars count them."""
    from tqdm import tqdm  # type: ignore[import-untyped]  # noqa: PLC0415

    furthest: float = 0  # of two bars: bytes from the network, and bytes in the files

    class ByteMeter(tqdm):  # type: ignore[misc]
        monitor_interval = 0  # no watcher thread for a bar that nobody sees

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs | {"file": io.StringIO()})

        def display(self, *_: Any, **__: Any) -> bool:
            return True

        def update(self, n: float | None = 1) -> bool | None:
            nonlocal furthest
            refreshed = super().update(n)
            if self.unit == "B" and self.n > furthest:
                # Under the total: the stage is at its end only when the snapshot is complete.
                furthest = min(self.n, total - 1)
                progress(FETCH, furthest, total, "bytes")
            return cast("bool | None", refreshed)

    return ByteMeter


def _named(repo_id: str, revision: str | None) -> str:
    return f"{repo_id} (revision {revision})" if revision else repo_id


@contextmanager
def _explained(repo_id: str, revision: str | None, *, refresh: bool) -> Iterator[None]:
    """Turn what the Hub's client raises into one line for the user."""
    from huggingface_hub.errors import (  # noqa: PLC0415
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    # Connection failures are the HTTP library's own exceptions, and which library that is differs by version.
    connection = cast("tuple[type[Exception], ...]", HfHubHTTPError.__bases__)
    failures: tuple[type[Exception], ...] = (*connection, RuntimeError, ValueError)
    try:
        yield
    except HFValidationError as error:
        raise ModelUnavailableError(
            f"{repo_id!r} is neither a file or folder here nor a valid model id of the Hub",
            hint="give ORG/NAME, a model folder, or a .gguf file",
        ) from error
    except GatedRepoError as error:
        raise ModelUnavailableError(
            f"the model {repo_id} is gated: its owner wants terms accepted",
            hint="accept them on the model's page and log in with 'hf auth login', or use another model",
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelUnavailableError(
            f"no model {repo_id}: there is no such file or folder here, and the Hub knows none (or it is private)",
            hint="check the spelling, or give the path of a model folder or .gguf file",
        ) from error
    except RevisionNotFoundError as error:
        raise ModelUnavailableError(
            f"the model {repo_id} has no revision {revision!r}", hint="give a branch, tag or commit it has"
        ) from error
    except failures as error:
        named = _named(repo_id, revision)
        told = (
            f"the Hub does not give {named}"
            if refresh
            else f"the model {named} is not here and the Hub does not give it"
        )
        raise ModelUnavailableError(
            f"{told}: {first_line(error)}",
            hint="check the network, or give the path of a model folder or .gguf file",
        ) from error
