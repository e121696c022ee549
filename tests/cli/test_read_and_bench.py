"""`spsl read`, `spsl bench`, `--help` and `--version` from outside."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.run import check_failed, spsl, spsl_process


def test_read_shows_the_text(note):
    result = spsl("read", note)
    assert result.returncode == 0
    text = result.stdout.decode()
    assert text.startswith(f"=== {note} (text/plain")
    assert "A ticket costs four crowns." in text


def test_read_json(note, tmp_path):
    (tmp_path / "x.bin").write_bytes(bytes(200))
    result = spsl("read", tmp_path, "--json")
    content = json.loads(result.stdout)
    assert result.returncode == 7
    assert content["schema"] == "spsl.documents/1"
    (document,) = content["documents"]
    assert set(document) >= {"path", "sha256", "media_type", "encoding", "warnings", "pages"}
    assert document["path"] == str(note)
    assert document["pages"][0]["number"] == 1
    assert [skip["path"] for skip in content["skipped"]] == [str(tmp_path / "x.bin")]


def test_read_json_prints_its_object_even_when_nothing_was_read(tmp_path):
    result = spsl("read", tmp_path / "none.txt", "--json")
    assert result.returncode == 3
    assert json.loads(result.stdout)["skipped"][0]["reason"].startswith("no such file")
    assert result.stderr.decode().splitlines()[-1].startswith("spsl: error: no readable input")


def test_read_imports_no_model_library(note):
    code = (
        "import sys; from spsl_cli.cli.app import main; "
        f"code = main(['read', {str(note)!r}, '--quiet']); "
        "sys.exit(code or ('torch' in sys.modules) or ('transformers' in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_bench(model, note):
    options = ("--model", model, "--max-new-tokens", 12, "--repeats", 2)
    result = spsl("bench", note, "--compare-ar", "--json", *options)
    assert result.returncode == 0, result.stderr.decode()
    content = json.loads(result.stdout)
    assert content["schema"] == "spsl.bench/1"
    assert [system["name"] for system in content["systems"]] == ["sparsespec-l", "ar", "hf-eager"]
    for system in content["systems"]:
        assert system["identical"] is True
        spread = system["tokens_per_s"]
        assert 0 < spread["low"] <= spread["median"] <= spread["high"]
    assert content["systems"][1]["speedup"] is None
    assert content["systems"][0]["speedup"]["median"] > 0
    assert content["machine"]["torch"]


def test_bench_on_the_built_in_text_without_comparison(model):
    result = spsl("bench", "--context", 300, "--model", model, "--max-new-tokens", 6, "--repeats", 1)
    assert result.returncode == 0, result.stderr.decode()
    table = result.stdout.decode()
    assert "sparsespec-l" in table
    assert "hf-eager" not in table


def test_bench_of_a_batch_with_another_index(model):
    options = ("--model", model, "--max-new-tokens", 12, "--repeats", 1, "--k", 3, "--index", "snapkv", "--json")
    result = spsl("bench", "--context", 300, "--batch", 3, "--compare-ar", *options)
    content = json.loads(result.stdout)
    assert content["batch"] == 3
    assert content["prompt_tokens"] > 900
    assert content["new_tokens"] == 36
    ours, plain, eager = content["systems"]
    assert [ours["name"], plain["name"], eager["name"]] == ["snapkv", "ar", "hf-eager"]
    assert ours["identical"]
    assert eager["identical"]
    assert ours["speculation"]["index"] == "snapkv"
    sums = ours["speculation"]
    assert sums["drafted"] > sums["accepted"] > 0
    assert 3 + sums["accepted"] + sums["bonus"] == 36  # of all rows, as in the line at the end
    assert sums["acceptance_rate"] == sums["accepted"] / sums["drafted"]
    assert sums["tokens_per_s"] == pytest.approx(ours["tokens_per_s"]["median"])  # of one repeat
    assert "spsl: 36 tokens in " in result.stderr.decode()


@pytest.mark.parametrize("command", [(), ("ask",), ("summarize",), ("read",), ("bench",)])
def test_help(command):
    result = spsl_process(*command, "--help")
    assert result.returncode == 0
    assert result.stderr == b""
    text = result.stdout.decode()
    assert "Usage: spsl" in text
    assert not command or "Example: spsl" in text


def test_version_is_that_of_the_package():
    from spsl_cli import __version__  # noqa: PLC0415

    assert spsl_process("--version").stdout.decode() == f"spsl {__version__}\n"


def test_wrong_calls():
    check_failed(spsl("nonsense"), 2, "nonsense")
    check_failed(spsl("read", "--nonsense", "x"), 2, "--nonsense", "spsl read --help")
    check_failed(spsl("bench", "--repeats", "0"), 2, "repeats")


def test_bench_says_what_it_cannot_do_and_names_skips(model, note, tmp_path):
    check_failed(spsl("bench", note, "--model", model, "--no-speculation"), 2, "--no-speculation")
    check_failed(spsl("bench", note, "--model", model, "--temperature", "1"), 2, "temperature")
    check_failed(spsl("bench", note, "--model", model, "--batch", "2"), 2, "batch")
    check_failed(spsl("bench", "--model", model, "--index", "best"), 2, "index")
    options = ("--model", model, "--max-new-tokens", 1, "--repeats", 1, "--compare-ar", "--json")
    result = spsl("bench", note, tmp_path / "none.txt", *options)
    assert result.returncode == 7
    content = json.loads(result.stdout)
    assert content["skipped"][0]["path"].endswith("none.txt")
    assert content["systems"][0]["speedup"] is None  # one token: nothing was measured
