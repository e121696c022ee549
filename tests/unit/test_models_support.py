"""The static gate on a configuration: which kinds of model may be decoded, and why not the others."""

from __future__ import annotations

import pytest
from transformers import AutoConfig

from spsl_cli.errors import ExitCode, UnsupportedModelError
from spsl_cli.models import check_supported

# Compared with the stock attention, family by family; mistral without its window.
ACCEPTED = (
    "llama",
    "qwen2",
    "qwen3",
    "qwen2_moe",
    "qwen3_moe",
    "phi",
    "phi3",
    "smollm3",
    "mixtral",
    "granite",
    "olmo",
    "olmo2",
    "glm4",
    "glm4_moe",
    "gemma",
    "cohere",
    "stablelm",
    "nemotron",
    "starcoder2",
    "ernie4_5",
    "hunyuan_v1_dense",
    "minimax_m2",
    "gpt2",
    "helium",
    "arcee",
    "apertus",
    "seed_oss",
)


@pytest.mark.parametrize("family", ACCEPTED)
def test_families_of_full_attention_are_accepted(family):
    check_supported(AutoConfig.for_model(family))


@pytest.mark.parametrize(
    "window", [{"sliding_window": None}, {"sliding_window": 64, "layer_types": ["full_attention"] * 2}]
)
def test_a_window_that_no_layer_uses_is_accepted(window):
    check_supported(AutoConfig.for_model("mistral", num_hidden_layers=2, **window))


def test_qwen2_with_its_window_switched_off_is_accepted():
    check_supported(AutoConfig.for_model("qwen2", sliding_window=4096, use_sliding_window=False))


@pytest.mark.parametrize(
    ("family", "changes", "reason"),
    [
        ("mistral", {}, "sliding-window layers are not supported yet"),
        ("qwen2", {"use_sliding_window": True, "max_window_layers": 2}, "sliding-window layers are not supported yet"),
        ("gemma3_text", {}, "sliding-window layers are not supported yet"),
        ("llama4_text", {}, "chunked attention"),
        ("qwen3_next", {}, "linear-attention or recurrent"),
        ("mamba", {}, "linear-attention or recurrent"),
        ("jamba", {}, "linear-attention or recurrent"),
        ("rwkv", {}, "recurrent state"),
        ("falcon_h1", {}, "hybrid layers"),
        ("lfm2", {}, "convolution layers"),
        ("gemma3n_text", {}, "share their keys and values"),
        ("deepseek_v3", {}, r"multi-head latent attention \(MLA\)"),
        ("gemma2", {}, "soft-capped attention logits"),
        ("gpt_oss", {}, "attention sinks"),
        ("bart", {}, "encoder-decoder"),
        ("t5", {}, "encoder-decoder"),
        ("bert", {}, "looks both ways"),
        ("gpt_neox", {}, "no attention arguments"),
        ("falcon", {}, "attention interface"),
        ("bloom", {}, "attention interface"),
        ("llava", {}, "not a plain causal language model"),
        ("clip", {}, "not a plain causal language model|does not tell its layers"),
        ("blt", {}, "does not tell its layers|not a plain"),
    ],
)
def test_others_are_refused_with_the_reason(family, changes, reason):
    with pytest.raises(UnsupportedModelError, match=f"not supported: .*({reason})") as caught:
        check_supported(AutoConfig.for_model(family, **changes))
    assert caught.value.exit_code == ExitCode.MODEL


def test_one_sliding_layer_among_full_ones_is_enough_to_refuse():
    kinds = ["full_attention"] * 3 + ["sliding_attention"]
    config = AutoConfig.for_model("qwen3", num_hidden_layers=4, layer_types=kinds, sliding_window=64)
    with pytest.raises(UnsupportedModelError, match="sliding-window"):
        check_supported(config)
