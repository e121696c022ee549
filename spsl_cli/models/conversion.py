"""GGUF -> a folder of safetensors, config and tokenizer, in float32.

transformers needs about half a minute for a small GGUF, so it is done once. The weights become float32 because the
values that a quantised block stands for are not exact in 16 bit. Where the result is kept is not known here.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from spsl_cli.errors import ModelUnavailableError, OutOfMemoryError
from spsl_cli.models.cache import MODEL_FOLDER, Manifest, build_once, converted, read_manifest
from spsl_cli.models.progress import CONVERT, Progress
from spsl_cli.models.quiet import quiet
from spsl_cli.models.source import Kind, ModelSource
from spsl_cli.models.support import check_supported
from spsl_cli.models.wheel import sha256_of
from spsl_cli.models.wording import first_line

_MAGIC = b"GGUF"
_SPLIT = re.compile(r"-\d{5}-of-\d{5}\.gguf$")


def convert_gguf(gguf: Path, out: Path, progress: Progress, *, name: str) -> str | None:
    """Write the model in `gguf` to the folder `out` and return the license it states; errors call the file `name`.

    Raises `ModelUnavailableError` if it cannot be read, `OutOfMemoryError` if it does not fit, `OSError` if `out`
    cannot be written.
    """
    progress(CONVERT, 0, None, "tensors")
    with quiet(), _parsed_once(progress) as parsed:
        model, tokenizer = _read(gguf, name)
        # Without these two the folder would claim to be quantised, and transformers would refuse to save it.
        model.hf_quantizer = None
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        _save(model, tokenizer, out)
        stated = parsed[0].fields.get("general.license") if parsed else None
    return str(stated.contents()) if stated is not None else None


def _save(model: Any, tokenizer: Any, out: Path) -> None:
    from safetensors import SafetensorError  # noqa: PLC0415

    try:
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)
    except SafetensorError as error:  # how the writer of weights reports a full disk
        raise OSError(str(error)) from error


def _read(gguf: Path, name: str) -> tuple[Any, Any]:
    import torch  # noqa: PLC0415 - seconds to import
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    options = {"gguf_file": gguf.name, "local_files_only": True, "trust_remote_code": False}
    with _explained(name):
        config = AutoConfig.from_pretrained(gguf.parent, **options)
    check_supported(config)  # before gigabytes are written
    with _explained(name):
        read: Any = AutoModelForCausalLM.from_pretrained(
            gguf.parent, dtype=torch.float32, output_loading_info=True, **options
        )
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **options)
    model, info = read
    if info["missing_keys"]:
        missing = min(info["missing_keys"])
        raise ModelUnavailableError(f"{name} lacks the weights {missing}", hint="fetch the file again")
    return model, tokenizer


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        raise OutOfMemoryError(f"{name} does not fit into memory as float32", hint="use a smaller model") from error
    except Exception as error:  # a parser of foreign files: whatever it throws, the file is what the user can change
        raise ModelUnavailableError(
            f"{name} cannot be read as a GGUF model: {first_line(error)}",
            hint="use another file, or the model's safetensors version",
        ) from error


@contextmanager
def _parsed_once(progress: Progress) -> Iterator[list[Any]]:
    """Halve the time of a conversion, and hear how many tensors are done. Yields the file's readers (one).

    transformers parses the file, in Python, once each for configuration, weights and tokenizer, and makes the same
    table of names for every module; inside the block both are done once. It draws the tensors' bar with tqdm itself.
    """
    import gguf  # noqa: PLC0415
    from transformers import modeling_gguf_pytorch_utils as parser  # noqa: PLC0415

    readers: list[Any] = []
    total = 0

    def read_once(path: str) -> Any:
        if not readers:
            readers.append(original["GGUFReader"](path))
        return readers[0]

    def watched(tensors: Iterable[Any], **_: Any) -> Iterator[Any]:
        nonlocal total
        listed = list(tensors)
        total = len(listed)
        for number, tensor in enumerate(listed):
            progress(CONVERT, number, total, "tensors")
            yield tensor

    original = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
    replaced = {"GGUFReader": read_once, "get_tensor_name_map": cache(original["get_tensor_name_map"])}
    bar = parser.tqdm  # type: ignore[attr-defined]
    try:
        vars(gguf).update(replaced)
        parser.tqdm = watched  # type: ignore[attr-defined]
        yield readers
        progress(CONVERT, total, total, "tensors")
    finally:
        vars(gguf).update(original)
        parser.tqdm = bar  # type: ignore[attr-defined]


def user_gguf(gguf: Path, progress: Progress) -> ModelSource:
    """A user's GGUF file as a source: converted once, keyed by the file's bytes."""
    if _SPLIT.search(gguf.name):
        raise ModelUnavailableError(f"{gguf} is one part of a split GGUF", hint="merge the parts into one file first")
    try:
        with gguf.open("rb") as file:
            magic = file.read(len(_MAGIC))
        if magic != _MAGIC:
            raise ModelUnavailableError(f"{gguf} is not a GGUF file", hint="give a .gguf file or a model folder")
        digest, size = sha256_of(gguf), gguf.stat().st_size
    except OSError as error:
        raise ModelUnavailableError(f"{gguf} cannot be read: {error.strerror or error}") from error
    name = f"gguf-{digest[:24]}"
    revision = f"gguf-{digest[:16]}"

    def build(work: Path) -> Manifest:
        alone = work / "source"  # only the file itself: what else lies in the user's folder must not be picked up
        alone.mkdir()
        _place(gguf, alone / "model.gguf")
        terms = convert_gguf(alone / "model.gguf", work / MODEL_FOLDER, progress, name=str(gguf))
        return Manifest(gguf.stem, revision, terms, gguf.name, digest, size)

    folder = converted(name, digest) or build_once(name, digest, build)
    manifest = read_manifest(folder)
    terms = manifest.license if manifest else None
    return ModelSource(Kind.GGUF, gguf.stem, folder, revision, terms, f"--model names the file {gguf}")


def _place(file: Path, target: Path) -> None:
    try:
        target.symlink_to(file.resolve())
    except OSError:  # Windows without the right to make links
        shutil.copyfile(file, target)
