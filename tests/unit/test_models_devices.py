"""Where a model goes: one GPU or all of them, shares of it in several processes; and what was saved in few bits."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, LlamaConfig

from spsl_cli.errors import ExitCode, ModelUnavailableError, OutOfMemoryError, UnsupportedModelError, UsageError
from spsl_cli.machine import available_memory
from spsl_cli.models import load, loading, pick_device, pick_dtype, resolve, weights_bytes
from spsl_cli.models.devices import processes_of_torchrun, total_cuda_memory, with_room
from spsl_cli.models.parallel import check_shares, own_device
from spsl_cli.models.saved_quantization import effective_quantization, own_quantization
from tests.unit.test_models_loading import save_tiny


@pytest.fixture
def gpus(monkeypatch):
    """Two GPUs made up: 10 and 20 GB free, the second too old for bfloat16."""
    free = {"cuda:0": 10 * 10**9, "cuda:1": 20 * 10**9}
    here = ["cuda:0"]

    class Current:
        def __init__(self, device):
            here[0] = device

        def __enter__(self):
            return self

        def __exit__(self, *_):
            here[0] = "cuda:0"

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free[str(device)], 24 * 10**9))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: type("Card", (), {"total_memory": 24 * 10**9}))
    monkeypatch.setattr(torch.cuda, "device", Current)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: here[0] == "cuda:0")
    return free


@pytest.mark.parametrize(
    ("asked", "picked"),
    [("auto", "cuda:0"), ("cuda", "cuda:0"), ("cuda:1", "cuda:1"), ("cuda:all", "cuda:all"), ("cpu", "cpu")],
)
def test_names_of_devices(gpus, asked, picked):
    assert pick_device(asked) == picked


def test_all_of_one_is_that_one(gpus, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert pick_device("cuda:all") == "cuda:0"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match="sees no CUDA devices"):
        pick_device("cuda:all")
    with pytest.raises(UsageError, match="use auto, cpu, cuda, cuda:N or cuda:all"):
        pick_device("cuda:some")


@pytest.mark.parametrize(
    ("asked", "weights", "device"),
    [
        ("auto", 8 * 10**9, "cuda:0"),
        ("auto", 8 * 10**9 + 1, "cuda:all"),  # with a quarter more it exceeds the 10 GB that are free
        ("cuda", 9 * 10**9, "cuda:0"),
        ("cuda:1", 99 * 10**9, "cuda:1"),
    ],
)
def test_a_model_that_leaves_no_room_is_shared_out(gpus, asked, weights, device):
    assert with_room(asked, pick_device(asked), weights) == device


def test_one_gpu_is_never_shared_out(gpus, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert with_room("auto", "cuda:0", 10**12) == "cuda:0"
    assert with_room("auto", "cpu", 10**12) == "cpu"


def test_all_gpus_together(gpus):
    assert available_memory("cuda:all") == 30 * 10**9
    assert available_memory("cuda:1") == 20 * 10**9
    assert total_cuda_memory("cuda:all") == 48 * 10**9
    assert pick_dtype("auto", "cuda:0") == "bfloat16"
    assert pick_dtype("auto", "cuda:all") == "float16"


def test_options_keep_layers_out_of_main_memory(gpus):
    options = loading._options("cuda:all", "bfloat16", None, tensor_parallel=False)
    assert options["device_map"] == "auto"
    assert options["max_memory"] == {0: 10 * 10**9, 1: 20 * 10**9}
    assert loading._options("cuda:1", "bfloat16", None, tensor_parallel=False)["device_map"] == {"": "cuda:1"}
    assert "device_map" not in loading._options("cpu", "float32", None, tensor_parallel=False)


def test_layers_left_on_the_disk_are_an_error(tmp_path):
    source = resolve(str(save_tiny(tmp_path / "tiny")))

    class Spread:
        device = torch.device("cuda:0")
        hf_device_map = {"model.layers.0": 0, "model.layers.1": "disk"}  # noqa: RUF012 read once

    with pytest.raises(OutOfMemoryError, match="does not fit into the memory of all GPUs together"):
        loading._check_places(Spread(), source)
    Spread.hf_device_map = {"model.layers.0": 0, "model.layers.1": 1}
    loading._check_places(Spread(), source)


@pytest.fixture
def torchrun(monkeypatch):
    for name, value in {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "4", "LOCAL_RANK": "3"}.items():
        monkeypatch.setenv(name, value)


def test_processes_are_torchruns(torchrun, monkeypatch):
    assert processes_of_torchrun() == 4
    assert own_device("cuda") == "cuda:3"
    assert own_device("cpu") == "cpu"
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")  # another launcher's: it may start independent programs
    assert processes_of_torchrun() == 1
    with pytest.raises(UsageError, match="torchrun --nproc-per-node"):
        own_device("cpu")


def test_torchrun_without_tensor_parallel_is_refused(torchrun, tmp_path):
    source = resolve(str(save_tiny(tmp_path / "tiny")))
    with pytest.raises(UsageError, match=r"started 4 processes.*tensor_parallel=True"):
        load(source, device="cpu")


def test_models_that_cannot_be_shared_out(torchrun, tmp_path):
    with pytest.raises(UnsupportedModelError, match="2 key-value heads, which 4 processes cannot share"):
        check_shares(LlamaConfig(num_attention_heads=4, num_key_value_heads=2), tmp_path)
    check_shares(LlamaConfig(num_attention_heads=8, num_key_value_heads=8), tmp_path)
    without = LlamaConfig(num_key_value_heads=8)
    without.base_model_tp_plan = None
    with pytest.raises(UnsupportedModelError, match="no plan for tensor parallel"):
        check_shares(without, tmp_path)


def declare(folder, **quantization):
    """Let the configuration say that the weights are quantised."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"quantization_config": quantization}))


def save_fp8(folder):
    """A tiny model whose layers' matrices are saved as FP8 with a scale for the whole matrix, as one block."""
    save_tiny(folder, hidden_size=128, intermediate_size=128)
    weights = load_file(folder / "model.safetensors")
    saved = {}
    for name, tensor in weights.items():
        if "proj" not in name:
            saved[name] = tensor
            continue
        scale = tensor.abs().max() / 448
        saved[name] = (tensor / scale).to(torch.float8_e4m3fn)
        saved[f"{name}_scale_inv"] = scale.view(1, 1)
    save_file(saved, folder / "model.safetensors", metadata={"format": "pt"})
    block = {"weight_block_size": [128, 128], "activation_scheme": "dynamic", "modules_to_not_convert": ["lm_head"]}
    declare(folder, quant_method="fp8", **block)
    return weights


def test_fp8_weights_load_as_they_are_and_on_the_cpu_as_what_they_stand_for(tmp_path):
    weights = save_fp8(tmp_path / "fp8")
    loaded = load(resolve(str(tmp_path / "fp8")), device="cpu")
    assert (loaded.quantization, loaded.dtype) == ("fp8", "float32")
    name = "model.layers.0.mlp.up_proj.weight"
    found = loaded.model.state_dict()[name]
    assert found.dtype == torch.float32
    assert (found - weights[name]).abs().max() < weights[name].abs().max() / 16
    parameters = sum(p.numel() for p in loaded.model.parameters())
    assert weights_bytes(tmp_path / "fp8", 4, None, "cpu") == pytest.approx(4 * parameters, rel=0.01)
    inside = sum(p.numel() for n, p in loaded.model.named_parameters() if "proj" in n)
    assert weights_bytes(tmp_path / "fp8", 2) == pytest.approx(2 * (parameters - inside) + inside, rel=0.01)


@pytest.mark.parametrize("quantize", ["8bit", "4bit"])
def test_quantised_weights_are_not_quantised_again(tmp_path, quantize):
    save_fp8(tmp_path / "fp8")
    with pytest.raises(UsageError, match=r"was saved quantised \(fp8\); leave --quantize out"):
        load(resolve(str(tmp_path / "fp8")), device="cpu", quantize=quantize)


@pytest.mark.parametrize(
    ("method", "more", "package"),
    [
        ("gptq", {"bits": 4, "group_size": 128}, "gptqmodel optimum"),
        ("awq", {"bits": 4, "group_size": 128}, "gptqmodel"),
        ("bitsandbytes", {"load_in_4bit": True}, "'spsl[gpu]'"),
        ("torchao", {"quant_type": "int8_weight_only"}, "torchao"),
    ],
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, method, more, package):
    folder = save_tiny(tmp_path / "few")
    declare(folder, quant_method=method, **more)

    def refuse(*_, **__):
        raise ImportError(f"Loading a {method} quantized model requires a package\nand more")

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", refuse)
    with pytest.raises(ModelUnavailableError) as caught:
        load(resolve(str(folder)), device="cpu")
    assert caught.value.exit_code == ExitCode.MODEL
    assert str(caught.value).endswith(f"requires a package; pip install {package}")
    assert f"was saved quantised ({method})" in str(caught.value)


def test_what_holds_of_several_wishes(tmp_path):
    source = resolve(str(save_tiny(tmp_path / "tiny")))
    plain, saved = LlamaConfig(), LlamaConfig(quantization_config={"quant_method": "awq", "bits": 4})
    assert effective_quantization("8bit", source, plain, "cuda:0") == "8bit"
    assert effective_quantization(None, source, plain, "cuda:0") is None
    assert own_quantization(saved) == "awq"
    assert effective_quantization(None, source, saved, "cuda:0") is None


def test_no_option_of_ours_overrides_what_was_saved(tmp_path, monkeypatch):
    folder = save_tiny(tmp_path / "few")
    declare(folder, quant_method="gptq", bits=4, group_size=128)
    given = {}

    def note(*_, **options):
        given.update(options)
        raise ImportError("a package")

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", note)
    with pytest.raises(ModelUnavailableError):
        load(resolve(str(folder)), device="cpu")
    assert "quantization_config" not in given
    assert given["use_safetensors"]
