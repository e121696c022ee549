"""Model folders that must not be loaded: pickles, code, adapters, paths out of the folder, and files that lie."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path

import pytest

from spsl_cli.errors import ExitCode, ModelUnavailableError, UnsupportedModelError
from spsl_cli.models import load, load_config, resolve, weights_bytes
from tests.unit.test_models_loading import save_tiny


class Bomb:
    """Unpickling this creates a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return save_tiny(tmp_path / "tiny")


def assert_refused(folder: Path, says: str) -> None:
    with pytest.raises(ModelUnavailableError, match=says) as caught:
        load(resolve(str(folder)), device="cpu")
    assert caught.value.exit_code == ExitCode.MODEL
    assert "\n" not in str(caught.value)


def edit(path: Path, **changes) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pth", "model.ckpt"])
def test_pickle_weights_are_refused_with_what_to_do(tiny, tmp_path, name):
    (tiny / "model.safetensors").unlink()
    (tiny / name).write_bytes(pickle.dumps(Bomb(tmp_path / "ran")))
    assert_refused(tiny, rf"Python pickles only \({name}\), which can run code.*safetensors version")
    with pytest.raises(ModelUnavailableError, match=r"Python pickle|not a model folder"):
        resolve(str(tiny / name))
    assert not (tmp_path / "ran").exists()


def test_a_pickle_beside_safetensors_is_left_alone(tiny, tmp_path):
    for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt"):
        (tiny / name).write_bytes(pickle.dumps(Bomb(tmp_path / "ran")))
    load(resolve(str(tiny)), device="cpu")
    assert not (tmp_path / "ran").exists()


def test_code_in_a_folder_is_not_run_for_an_unknown_type(tiny, tmp_path):
    (tiny / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    edit(tiny / "config.json", model_type="evil", auto_map={"AutoConfig": "evil.Config"})
    with pytest.raises(UnsupportedModelError, match=r"auto_map.*never runs"):
        load_config(tiny)
    edit(tiny / "config.json", auto_map={"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"})
    assert_refused(tiny, "auto_map")
    assert not (tmp_path / "ran").exists()


def test_code_in_a_folder_is_not_run_for_a_known_type(tiny, tmp_path):
    (tiny / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    edit(tiny / "config.json", auto_map={"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"})
    edit(tiny / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Tokenizer", "evil.Tokenizer"]})
    loaded = load(resolve(str(tiny)), device="cpu")
    assert type(loaded.model).__module__.startswith("transformers.models.llama")
    assert not (tmp_path / "ran").exists()


def test_a_type_that_transformers_does_not_know_is_named(tiny):
    edit(tiny / "config.json", model_type="llama99")
    assert_refused(tiny, "'llama99', which transformers .* does not know")


def test_an_adapter_does_not_pull_in_its_base_model(tiny):
    (tiny / "adapter_config.json").write_text('{"base_model_name_or_path": "org/other"}')
    assert_refused(tiny, "is an adapter")


def test_a_missing_shard_is_named(tmp_path):
    folder = save_tiny(tmp_path / "sharded", shard="20KB")
    shard = sorted(folder.glob("model-*.safetensors"))[1]
    shard.unlink()
    assert_refused(folder, f"lacks the weights {shard.name}")


@pytest.mark.parametrize(
    "name", ["../secret.safetensors", "/etc/x.safetensors", "model.bin", "a/b.safetensors", 7, None]
)
def test_an_index_may_only_name_safetensors_of_its_folder(tiny, name):
    (tiny / "model.safetensors").unlink()
    (tiny / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"lm_head.weight": name}}))
    assert_refused(tiny, "which is no safetensors file of that folder")


@pytest.mark.parametrize("content", ["", "{", "[]", '"x"', "null", "[" * 5000, "\x00"])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json"])
def test_json_that_is_none_is_one_line(tiny, name, content):
    (tiny / name).write_text(content)
    if name != "config.json":
        (tiny / "model.safetensors").unlink()
    assert_refused(tiny, f"{name} (cannot be read as JSON|is not a JSON object)")


@pytest.mark.parametrize(
    ("remove", "says"),
    [
        (("config.json",), "has no config.json"),
        (("model.safetensors",), "holds no model weights"),
        (("model.safetensors", "config.json", "tokenizer.json"), "holds no model weights"),
    ],
)
def test_folders_that_are_no_models(tiny, remove, says):
    for name in remove:
        (tiny / name).unlink()
    assert_refused(tiny, says)


def test_weights_under_another_name_say_what_is_expected(tiny):
    (tiny / "model.safetensors").rename(tiny / "weights.safetensors")
    assert_refused(tiny, r"neither model\.safetensors nor model\.safetensors\.index\.json")


def test_files_that_are_no_models(tmp_path, tiny):
    (tmp_path / "report.pdf").write_bytes(b"%PDF")
    assert_refused(tmp_path / "report.pdf", "is a file, not a model folder")
    assert_refused(tiny / "model.safetensors", "give the folder that holds it")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x01",
        struct.pack("<Q", 1 << 62),
        struct.pack("<Q", 9) + b"{",
        struct.pack("<Q", 8) + b'{"a": 1}',
        struct.pack("<Q", 2) + b"[]",
        b"\xff" * 64,
    ],
)
def test_damaged_weights_are_one_line(tiny, content):
    (tiny / "model.safetensors").write_bytes(content)
    assert_refused(tiny, r"damaged|no readable safetensors")
    with pytest.raises(ModelUnavailableError, match=r"damaged|no readable safetensors"):
        weights_bytes(tiny, 4)


def test_weights_of_another_shape_are_refused(tiny):
    edit(tiny / "config.json", hidden_size=64, intermediate_size=96)
    assert_refused(tiny, "cannot be loaded from")


@pytest.mark.parametrize(
    ("card", "stated"),
    [
        ("---\nlicense: mit\n---\n", "mit"),
        ("---\nlicense: other\nlicense_name: llama3  # terms\n---\n", "llama3"),
        ("---\ntags: [x]\nlicense: 'apache-2.0'\n---\nlicense: gpl", "apache-2.0"),
        ("license: mit\n", None),
        ("---\nlicense: mit\n", None),
        ("", None),
        ("\xff---", None),
    ],
)
def test_the_license_comes_from_the_metadata_block_only(tiny, card, stated):
    (tiny / "README.md").write_text(card, encoding="latin-1")
    assert resolve(str(tiny)).license == stated
