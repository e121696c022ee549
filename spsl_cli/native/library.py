"""The kernels' shared library: compiled once for this processor by the C compiler that is there, kept in the cache.

Takes a second, the first time. Without a compiler, or with `SPSL_NATIVE=off`, there is no library, and `reason` tells.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spsl_cli.machine import cache_root

SOURCES = tuple(Path(__file__).with_name(name) for name in ("attention.c", "products.c", "layer.c", "index.c"))
HEADERS = tuple(Path(__file__).with_name(name) for name in ("vectors.h", "matrix.h"))
FLAGS = ("-std=gnu11", "-O3", "-march=native", "-fno-math-errno", "-ffp-contract=off", "-fopenmp", "-shared", "-fPIC")
OFF = ("0", "off", "no", "none", "false", "disabled")
COMPILERS = ("cc", "gcc", "clang")
TIMEOUT_S = 120


@dataclass(frozen=True)
class Library:
    """The loaded library, or None; and in words, what it was compiled by or why there is none."""

    functions: ctypes.CDLL | None
    reason: str


@cache
def native_library() -> Library:
    """Find or compile, and load. Never raises for what a machine may lack."""
    if os.environ.get("SPSL_NATIVE", "on").strip().lower() in OFF:
        return Library(None, "turned off by SPSL_NATIVE")
    compiler = shlex.split(os.environ.get("CC", "")) or list(filter(shutil.which, COMPILERS))[:1]
    if not compiler:
        return Library(None, "no C compiler (cc, gcc or clang) was found")
    try:
        path = _compiled(compiler)
        return Library(_declared(ctypes.CDLL(str(path))), f"compiled by {shlex.join(compiler)}")
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [f"exit status {error.returncode}"]
        return Library(None, f"{shlex.join(compiler)} could not compile them: {lines[0]}")
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:  # RuntimeError: there is no home directory
        return Library(None, f"{shlex.join(compiler)}: {error}")


def required_library() -> ctypes.CDLL:
    """The loaded library. RuntimeError where there is none: ask first."""
    functions = native_library().functions
    if functions is None:
        raise RuntimeError("the native kernels are not there: ask whether they are first")
    return functions


def _compiled(compiler: list[str]) -> Path:
    """The library's file, compiled if it is not there for this source, compiler and processor."""
    version = _run([*compiler, "--version"])
    sources = [source.read_bytes() for source in (*HEADERS, *SOURCES)]
    parts = [*sources, shlex.join([*compiler, *FLAGS]).encode(), version.encode(), _processor().encode()]
    name = hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]
    folder = cache_root() / "native"
    path = folder / f"kernels-{name}.so"
    checksum = path.with_suffix(".sha256")
    if _matches(path, checksum):
        return path
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=folder) as work:  # another process may compile the same at this moment
        made = Path(work) / path.name
        _run([*compiler, *FLAGS, *map(str, SOURCES), "-o", str(made), "-lm"])
        told = made.with_suffix(checksum.suffix)
        told.write_text(hashlib.sha256(made.read_bytes()).hexdigest(), encoding="ascii")
        made.replace(path)
        told.replace(checksum)
    return path


def _matches(path: Path, checksum: Path) -> bool:
    """Whether the library is there and whole: loading half of one would end the process."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == checksum.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return False


def _run(command: list[str]) -> str:
    """What it prints; CalledProcessError if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True, timeout=TIMEOUT_S)
    return done.stdout


def _processor() -> str:
    """What `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))}))


def _declared(functions: ctypes.CDLL) -> ctypes.CDLL:
    """With the types of its arguments, in the order of the C sources."""
    pointer, stride, number, real = ctypes.c_void_p, ctypes.c_long, ctypes.c_int, ctypes.c_float
    rows: list[Any] = [pointer, stride, stride]
    functions.spsl_attend.argtypes = [*rows, *rows, *rows, *[pointer] * 3, *[number] * 7, real, number, number]
    functions.spsl_mass.argtypes = [*rows, pointer, *rows, pointer, *[number] * 5, real, number, number]
    functions.spsl_products.argtypes = [pointer, number, pointer, stride, pointer, stride, number, number]
    functions.spsl_before_attention.argtypes = [*[pointer] * 6, number, number]
    functions.spsl_after_attention.argtypes = [*[pointer] * 5, number, number]
    functions.spsl_dequantize.argtypes = [*[pointer] * 4, stride, number, number]
    functions.spsl_quantize.argtypes = [*[pointer] * 4, stride, number, number]
    functions.spsl_decayed_sum.argtypes = [pointer, stride, pointer, stride, stride, *[number] * 3, real, number]
    functions.spsl_largest.argtypes = [pointer, stride, *[number] * 3, pointer, stride, number, number]
    functions.spsl_gather.argtypes = [
        *[pointer] * 2, stride, stride, *[pointer] * 2, *[number] * 3, pointer, number, pointer, *[number] * 4
    ]  # fmt: skip
    functions.spsl_decayed_sum.restype = None
    functions.spsl_products.restype = functions.spsl_dequantize.restype = None
    functions.spsl_before_attention.restype = functions.spsl_after_attention.restype = None
    return functions
