"""Loading a local model: its state, its facts, no word on the terminal, no connection, and errors that help."""

from __future__ import annotations

import json
import logging
import socket
import warnings
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast
from transformers.utils import logging as hf_logging

from spsl_cli.errors import ExitCode, ModelUnavailableError, OutOfMemoryError, UnsupportedModelError, UsageError
from spsl_cli.machine import available_memory
from spsl_cli.models import load, load_config, loading, pick_device, pick_dtype, resolve
from spsl_cli.models.quiet import SilentBar, quiet


def save_tiny(folder: Path, *, shard: str = "5GB", **config) -> Path:
    """A tiny random Llama with a tokenizer of 64 words, saved as transformers saves it."""
    torch.manual_seed(0)
    sizes = {
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
    }
    AutoModelForCausalLM.from_config(LlamaConfig(**sizes | config)).save_pretrained(folder, max_shard_size=shard)
    tokenizer = Tokenizer(models.WordLevel({f"w{number}": number for number in range(64)}, unk_token="w0"))  # noqa: S106 - a word
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="w0").save_pretrained(folder)  # noqa: S106
    return folder


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return save_tiny(tmp_path / "tiny")


def test_a_local_model_loads_ready_to_decode_with_its_facts(tiny):
    (tiny / "README.md").write_text("---\nlicense: mit\n---\n# A model\n", encoding="utf-8")
    seen = []
    loaded = load(resolve(str(tiny)), device="cpu", progress=lambda *step: seen.append(step))
    assert not loaded.model.training
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert loaded.model.config._attn_implementation == "sdpa"
    assert next(loaded.model.parameters()).dtype == torch.float32
    assert (loaded.id, loaded.dtype, loaded.device, loaded.quantization) == ("tiny", "float32", "cpu", None)
    assert (loaded.context_length, loaded.path, loaded.license) == (512, tiny, "mit")
    assert loaded.revision.startswith("local-")
    assert loaded.tokenizer("w5 w7")["input_ids"] == [5, 7]
    assert seen[0] == ("load model", 0, None, "tensors")
    assert seen[-1][1] == seen[-1][2] > 10
    weights = load_file(tiny / "model.safetensors")
    assert torch.equal(loaded.model.state_dict()["lm_head.weight"], weights["lm_head.weight"])


def test_loading_prints_nothing_and_connects_to_nothing(tiny, capfd, monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    load(resolve(str(tiny)), device="cpu")
    assert capfd.readouterr() == ("", "")


def test_sharded_weights_load(tmp_path):
    folder = save_tiny(tmp_path / "sharded", shard="20KB")
    assert len(list(folder.glob("*.safetensors"))) > 2
    assert load(resolve(str(folder)), device="cpu").model.num_parameters() > 10_000


def test_the_wanted_dtype_wins_over_the_saved_one(tiny):
    loaded = load(resolve(str(tiny)), device="cpu", dtype="bf16")
    assert loaded.dtype == "bfloat16"
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.bfloat16}


def test_weights_that_are_missing_are_not_made_up(tiny):
    weights = load_file(tiny / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, tiny / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnavailableError, match=r"lacks 1 of its weights.*layers\.1\.mlp\.up_proj"):
        load(resolve(str(tiny)), device="cpu")


def test_a_model_without_a_language_head_is_refused(tiny):
    weights = load_file(tiny / "model.safetensors")
    save_file(
        {name: tensor for name, tensor in weights.items() if name != "lm_head.weight"}, tiny / "model.safetensors"
    )
    with pytest.raises(ModelUnavailableError, match=r"lm_head\.weight"):
        load(resolve(str(tiny)), device="cpu")


def test_truncated_weights_are_one_line(tiny):
    source = resolve(str(tiny))
    content = (tiny / "model.safetensors").read_bytes()
    (tiny / "model.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelUnavailableError) as caught:
        load(source, device="cpu")
    assert "cannot be loaded from" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_without_a_tokenizer_is_refused(tiny):
    source = resolve(str(tiny))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tiny / name).unlink()
    with pytest.raises(ModelUnavailableError, match="cannot be loaded"):
        load(source, device="cpu")


@pytest.mark.parametrize(
    "error",
    [torch.OutOfMemoryError("CUDA out of memory"), MemoryError(), RuntimeError("[enforce] can't allocate memory")],
)
def test_too_little_memory_has_its_own_exit_code(tiny, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", fail)
    with pytest.raises(OutOfMemoryError, match="does not fit into the memory of cpu") as caught:
        load(resolve(str(tiny)), device="cpu")
    assert caught.value.exit_code == ExitCode.OUT_OF_MEMORY


def test_quantisation_on_the_cpu_says_what_to_do(tiny):
    with pytest.raises(UsageError, match=r"computes in float32, not bfloat16.*leave --dtype out"):
        load(resolve(str(tiny)), device="cpu", dtype="bfloat16", quantize="4bit")
    with pytest.raises(UnsupportedModelError, match=r"multiple of 32, which .*layers\.0.* is not"):
        load(resolve(str(tiny)), device="cpu", quantize="4bit")
    with pytest.raises(UsageError, match="unknown quantisation"):
        load(resolve(str(tiny)), device="cpu", quantize="3bit")


def test_quantisation_without_bitsandbytes_names_the_extra(monkeypatch):
    monkeypatch.setattr(loading.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModelUnavailableError, match=r"pip install 'spsl\[gpu\]'"):
        loading._quantization("bfloat16", "4bit")


def test_an_unsupported_model_is_refused_before_its_weights_are_read(tmp_path, monkeypatch):
    tiny = save_tiny(tmp_path / "window")
    config = json.loads((tiny / "config.json").read_text())
    (tiny / "config.json").write_text(json.dumps(config | {"sliding_window": 64}))
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *_, **__: pytest.fail("weights were read"))
    with pytest.raises(UnsupportedModelError, match="a sliding window, which models of its kind do not have"):
        load(resolve(str(tiny)), device="cpu")


def test_an_invalid_configuration_is_one_line(tiny):
    config = json.loads((tiny / "config.json").read_text())
    (tiny / "config.json").write_text(json.dumps(config | {"num_hidden_layers": "two"}))
    with pytest.raises(ModelUnavailableError) as caught:
        load_config(tiny)
    assert "config.json is not valid" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "cards", "picked"), [("auto", 0, "cpu"), ("auto", 2, "cuda:0"), ("cuda", 1, "cuda:0")]
)
def test_devices(monkeypatch, asked, cards, picked):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cards > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
    assert pick_device(asked) == picked


@pytest.mark.parametrize(
    ("asked", "reason"), [("cuda", "no CUDA devices"), ("cuda:3", "no CUDA"), ("mps", "unknown device")]
)
def test_devices_that_are_not_there(monkeypatch, asked, reason):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match=reason):
        pick_device(asked)


def test_dtypes():
    assert [pick_dtype(name, "cpu") for name in ("auto", "fp16", "bf16", "float32")] == [
        "float32",
        "float16",
        "bfloat16",
        "float32",
    ]
    with pytest.raises(UsageError, match="unknown dtype 'int4'"):
        pick_dtype("int4", "cpu")


def test_available_memory_is_less_than_the_machine_has():
    available = available_memory("cpu")
    assert available is None or 10**7 < available < 10**14


def test_quiet_puts_everything_back_even_after_an_error(capfd):
    logger = logging.getLogger("transformers")
    level, heard = logger.level, []

    def everything_a_library_may_say():
        with quiet(lambda done, total: heard.append((done, total))):
            logger.warning("a warning")
            logger.critical("worse")
            warnings.warn("deprecated", FutureWarning, stacklevel=1)
            assert list(hf_logging.tqdm([1, 2, 3], desc="Loading weights")) == [1, 2, 3]
            raise KeyError

    with pytest.raises(KeyError):
        everything_a_library_may_say()
    assert heard == [(1, 3), (2, 3), (3, 3)]
    assert capfd.readouterr() == ("", "")
    assert logger.level == level
    assert not isinstance(hf_logging.tqdm([1], disable=True), SilentBar)
    with pytest.warns(FutureWarning):
        warnings.warn("deprecated", FutureWarning, stacklevel=1)
