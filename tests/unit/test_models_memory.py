"""Context lengths, memory figures and the default for a GPU: arithmetic that a person can check by hand."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoConfig

from spsl_cli.errors import UnsupportedModelError
from spsl_cli.models import context_length, kv_bytes_per_token, load, resolve, weights_bytes
from spsl_cli.models.defaults import DEFAULT_ID, default_for_cuda
from spsl_cli.quantized.linear import QuantizedLinear
from tests.unit.test_models_loading import save_tiny

YARN = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e6}


@pytest.mark.parametrize(
    ("family", "changes", "length"),
    [
        ("llama", {"max_position_embeddings": 8192}, 8192),
        ("gpt2", {"n_positions": 1024}, 1024),
        # Qwen's way of asking for YaRN: the stated length stays that of training.
        (
            "qwen2",
            {"max_position_embeddings": 32768, "rope_parameters": YARN | {"original_max_position_embeddings": 32768}},
            131072,
        ),
        (
            "qwen3",
            {"max_position_embeddings": 40960, "rope_parameters": YARN | {"original_max_position_embeddings": 32768}},
            131072,
        ),
        ("qwen2", {"max_position_embeddings": 32768, "rope_parameters": dict(YARN)}, 131072),
        # DeepSeek's and gpt-oss's way: the stated length is the stretched one already.
        (
            "qwen2",
            {"max_position_embeddings": 131072, "rope_parameters": YARN | {"original_max_position_embeddings": 32768}},
            131072,
        ),
        # Llama 3 states the stretched length; factor times original would be twice too much.
        (
            "llama",
            {
                "max_position_embeddings": 131072,
                "rope_parameters": {
                    "rope_type": "llama3",
                    "factor": 32.0,
                    "low_freq_factor": 1.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 8192,
                    "rope_theta": 5e5,
                },
            },
            131072,
        ),
        (
            "llama",
            {
                "max_position_embeddings": 4096,
                "rope_parameters": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4},
            },
            4096,
        ),
    ],
)
def test_context_lengths(family, changes, length):
    assert context_length(AutoConfig.for_model(family, **changes)) == length


def test_a_model_without_positions_says_so():
    with pytest.raises(UnsupportedModelError, match="states no context length"):
        context_length(AutoConfig.for_model("bloom"))


def test_kv_of_qwen3_4b_is_144_kib_a_token():
    config = AutoConfig.for_model(
        "qwen3", num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8, head_dim=128, hidden_size=2560
    )
    assert kv_bytes_per_token(config, 2) == 36 * 2 * 8 * 128 * 2 == 147_456


def test_kv_without_a_stated_head_width_or_kv_heads():
    config = AutoConfig.for_model("gpt2", n_layer=3, n_head=4, n_embd=64)
    assert kv_bytes_per_token(config, 4) == 3 * 2 * 64 * 4


def test_weights_are_counted_as_they_will_lie_in_memory(tmp_path):
    folder = save_tiny(tmp_path / "tiny", shard="20KB")
    model = load(resolve(str(folder)), device="cpu").model
    parameters = sum(parameter.numel() for parameter in model.parameters())
    assert weights_bytes(folder, 4) == 4 * parameters
    assert weights_bytes(folder, 2) == 2 * parameters
    inside = sum(p.numel() for name, p in model.named_parameters() if ".layers." in name and p.dim() > 1)
    assert weights_bytes(folder, 2, "8bit") == 2 * (parameters - inside) + inside
    assert weights_bytes(folder, 2, "4bit") < weights_bytes(folder, 2, "8bit")
    assert {p.dtype for p in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("tied", [True, False])
def test_weights_on_the_cpu_with_an_output_layer_of_their_own(tmp_path, tied):
    folder = save_tiny(tmp_path / "tiny", tie_word_embeddings=tied, hidden_size=64, intermediate_size=96)
    for quantize, bits in (("8bit", 9), ("4bit", 6)):  # 32 bits for every 32 weights are one more
        model = load(resolve(str(folder)), device="cpu", quantize=quantize).model
        embedding = model.get_input_embeddings().weight
        norms = sum(p.numel() for p in model.parameters() if p.dim() == 1)
        matrices = sum(m.in_features * m.out_features for m in model.modules() if isinstance(m, QuantizedLinear))
        assert weights_bytes(folder, 4, quantize, "cpu") == 4 * (embedding.numel() + norms) + matrices * bits // 8
    parameters = sum(p.numel() for p in load(resolve(str(folder)), device="cpu").model.parameters())
    assert weights_bytes(folder, 4, None, "cpu") == 4 * (parameters + (embedding.numel() if tied else 0))


@pytest.mark.parametrize(
    ("gigabytes", "model", "quantize"),
    [
        (2.0, None, None),
        (6.2, DEFAULT_ID, "4bit"),
        (11.99, DEFAULT_ID, "4bit"),
        (12.0, DEFAULT_ID, None),
        (150.0, DEFAULT_ID, None),
    ],
)
def test_the_default_follows_the_memory_of_the_gpu(gigabytes, model, quantize):
    chosen = default_for_cuda(round(gigabytes * 1e9))
    assert (chosen.id, chosen.quantize) == (model, quantize)
    assert f"{gigabytes:.1f} GB" in chosen.reason
