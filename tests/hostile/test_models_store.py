"""The store of converted models: killed, raced, tampered with or out of room, it holds whole models or none."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gguf
import pytest
from safetensors import SafetensorError
from transformers import PreTrainedModel

from spsl_cli.errors import ExitCode, ModelUnavailableError
from spsl_cli.models import conversion, installed, resolve
from spsl_cli.models.cache import MODEL_FOLDER, Manifest, build_once, converted, read_manifest
from tests.unit.test_models_conversion import write_gguf

SHA = "ab" * 32

# A conversion in another process: it says when it has begun, and takes its time between its two files.
BUILDER = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from spsl_cli.models.cache import MODEL_FOLDER, Manifest, build_once
    pause, log = float(sys.argv[1]), Path(sys.argv[2])
    def build(work):
        with log.open("a") as out:
            out.write("built\\n")
        (work / MODEL_FOLDER / "config.json").write_text("{}")
        print("begun", flush=True)
        time.sleep(pause)
        (work / MODEL_FOLDER / "model.safetensors").write_bytes(bytes(1000))
        return Manifest("m", "1", None, "m.gguf", "ab" * 32, 5)
    print(build_once("m", "ab" * 32, build))
    """
)


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("SPSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    return tmp_path / "cache" / "models"


def start(pause: float, log: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILDER, str(pause), str(log)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def build(work: Path) -> Manifest:
    (work / MODEL_FOLDER / "config.json").write_text("{}")
    (work / MODEL_FOLDER / "model.safetensors").write_bytes(bytes(1000))
    return Manifest("m", "1", None, "m.gguf", SHA, 5)


def names(store: Path) -> set[str]:
    return {entry.name for entry in store.iterdir()} - {".m.lock"}


def test_a_killed_conversion_leaves_nothing_that_counts(store, tmp_path):
    process = start(60, tmp_path / "log")
    assert process.stdout.readline() == "begun\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert len(names(store)) == 1  # the half-made folder, hidden
    assert converted("m", SHA) is None
    assert installed()[:1] == () or installed()[0].id != "m"
    assert build_once("m", SHA, build) == store / "m"
    assert names(store) == {"m"}
    assert read_manifest(store / "m").files == {"config.json": 2, "model.safetensors": 1000}


def test_processes_at_once_make_one_whole_model(store, tmp_path):
    log = tmp_path / "log"
    processes = [start(0.3, log) for _ in range(3)]
    answers = [process.communicate()[0].splitlines()[-1] for process in processes]
    assert answers == [str(store / "m")] * 3
    assert [process.returncode for process in processes] == [0] * 3
    assert log.read_text() == "built\n"
    assert converted("m", SHA) == store / "m"
    assert names(store) == {"m"}


def test_threads_at_once_make_one_whole_model(store):
    built = []

    def counted(work: Path) -> Manifest:
        built.append(work)
        return build(work)

    with ThreadPoolExecutor(4) as threads:
        folders = list(threads.map(lambda _: build_once("m", SHA, counted), range(4)))
    assert folders == [store / "m"] * 4
    assert len(built) == 1


@pytest.mark.parametrize("damage", ["truncate", "remove", "manifest", "empty", "other source", "other schema"])
def test_a_damaged_model_does_not_count_and_is_made_anew(store, damage):
    build_once("m", SHA, build)
    manifest = store / "m" / "spsl-manifest.json"
    if damage == "truncate":
        (store / "m" / "model.safetensors").write_bytes(bytes(999))
    elif damage == "remove":
        (store / "m" / "config.json").unlink()
    elif damage == "manifest":
        manifest.write_text(manifest.read_text()[:-20])
    elif damage == "empty":
        manifest.write_text('{"files": {}}')
    elif damage == "other source":
        manifest.write_text(manifest.read_text().replace(SHA, "cd" * 32))
    else:
        manifest.write_text(manifest.read_text().replace("spsl.model/1", "spsl.model/0"))
    assert converted("m", SHA) is None
    build_once("m", SHA, build)
    assert converted("m", SHA) == store / "m"
    assert (store / "m" / "model.safetensors").stat().st_size == 1000
    assert names(store) == {"m"}


def test_a_failed_conversion_leaves_nothing(store):
    def fail(work: Path) -> Manifest:
        build(work)
        raise ModelUnavailableError("no good")

    with pytest.raises(ModelUnavailableError, match="no good"):
        build_once("m", SHA, fail)
    assert names(store) == set()


def test_an_interrupted_conversion_leaves_nothing(store):
    def interrupt(work: Path) -> Manifest:
        build(work)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_once("m", SHA, interrupt)
    assert names(store) == set()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("call", ["mkdir", "mkdtemp", "write", "fsync", "rename"])
def test_a_disk_that_refuses_is_one_line(store, monkeypatch, call, code):
    def fail(*_, **__):
        raise OSError(code, os.strerror(code))

    targets = {
        "mkdir": ("pathlib.Path.mkdir", fail),
        "mkdtemp": ("tempfile.mkdtemp", fail),
        "write": ("pathlib.Path.write_text", fail),
        "fsync": ("os.fsync", fail),
        "rename": ("pathlib.Path.rename", fail),
    }
    with monkeypatch.context() as patch:
        patch.setattr(*targets[call])
        with pytest.raises(ModelUnavailableError, match=os.strerror(code)) as caught:
            build_once("m", SHA, build)
    assert caught.value.exit_code == ExitCode.MODEL
    assert "SPSL_CACHE_DIR" in str(caught.value)
    assert converted("m", SHA) is None
    assert not store.exists() or names(store) == set()


def test_a_cache_folder_that_cannot_be_one_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPSL_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(ModelUnavailableError, match="name another folder in SPSL_CACHE_DIR"):
        build_once("m", SHA, build)


# ---- hostile GGUF files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGU",
        b"GGML" + bytes(64),
        b"GGUF",
        b"GGUF" + bytes(64),
        b"GGUF\x03\0\0\0" + b"\xff" * 64,
        b"GGUF\x03\0\0\0" + bytes(16),
        b"GGUF\x09\0\0\0" + bytes(64),
    ],
)
def test_files_that_only_claim_to_be_gguf_are_one_line(store, tmp_path, content):
    (tmp_path / "bad.gguf").write_bytes(content)
    with pytest.raises(
        ModelUnavailableError, match=r"bad\.gguf (is not a GGUF file|cannot be read as a GGUF model)"
    ) as c:
        resolve(str(tmp_path / "bad.gguf"))
    assert "\n" not in str(c.value)
    assert not store.exists() or {name for name in names(store) if not name.endswith(".lock")} == set()


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_a_truncated_gguf_file_is_one_line(store, tmp_path, kept):
    write_gguf(tmp_path / "whole.gguf")
    content = (tmp_path / "whole.gguf").read_bytes()
    (tmp_path / "cut.gguf").write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(ModelUnavailableError, match=r"cut\.gguf cannot be read as a GGUF model"):
        resolve(str(tmp_path / "cut.gguf"))
    assert not any(name.startswith("gguf-") for name in names(store))


def test_a_gguf_file_without_some_of_its_weights_is_refused(tmp_path):
    write_gguf(tmp_path / "holes.gguf", leave_out="blk.1.ffn_up.weight")
    with pytest.raises(ModelUnavailableError, match=r"holes\.gguf lacks the weights model\.layers\.1\.mlp\.up_proj"):
        resolve(str(tmp_path / "holes.gguf"))


def test_a_part_of_a_split_gguf_and_several_files_are_explained(tmp_path):
    for number in (1, 2):
        (tmp_path / f"m-0000{number}-of-00002.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelUnavailableError, match="one part of a split GGUF; merge"):
        resolve(str(tmp_path / "m-00001-of-00002.gguf"))
    with pytest.raises(ModelUnavailableError, match="holds 2 GGUF files; name one of them"):
        resolve(str(tmp_path))


def test_a_full_disk_while_weights_are_written_is_one_line(tmp_path, monkeypatch):
    def full(*_, **__):
        raise SafetensorError("Error while serializing: I/O error: No space left on device")

    write_gguf(tmp_path / "tiny.gguf")
    monkeypatch.setattr(PreTrainedModel, "save_pretrained", full)
    with pytest.raises(ModelUnavailableError, match="No space left on device; make room"):
        resolve(str(tmp_path / "tiny.gguf"))


def test_the_library_is_left_as_it_was_after_a_failure(tmp_path):
    before = gguf.GGUFReader, gguf.get_tensor_name_map
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(ModelUnavailableError):
        conversion.convert_gguf(tmp_path / "bad.gguf", tmp_path / "out", lambda *_: None, name="bad")
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == before
