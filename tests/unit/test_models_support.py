"""The static gate on a configuration: which kinds of model may be decoded, and why not the others."""

from __future__ import annotations

import re

import pytest
from transformers import AutoConfig

from spsl_cli.decoding.target import attention_windows
from spsl_cli.errors import ExitCode, UnsupportedModelError
from spsl_cli.models import check_supported
from tests.exact.families import FAMILIES, REFUSED

FULL, SLIDING = "full_attention", "sliding_attention"


@pytest.mark.parametrize("family", FAMILIES)
def test_compared_families_are_accepted_as_they_stand_by_default(family):
    """The decoder then knows what each of their layers sees."""
    config = AutoConfig.for_model(family)
    check_supported(config)
    assert len(attention_windows(config)) >= config.get_text_config(decoder=True).num_hidden_layers


@pytest.mark.parametrize(("family", "reason"), [(name, reason) for reason, names in REFUSED.items() for name in names])
def test_others_are_refused_with_the_reason(family, reason):
    with pytest.raises(UnsupportedModelError, match=f"not supported: {re.escape(reason)}") as caught:
        check_supported(AutoConfig.for_model(family))
    assert caught.value.exit_code == ExitCode.MODEL


@pytest.mark.parametrize(
    ("family", "changes", "windows"),
    [
        ("mistral", {"sliding_window": 64}, (64, 64)),
        ("mistral", {"sliding_window": None}, (None, None)),
        ("mistral", {"sliding_window": 64, "layer_types": [FULL] * 2}, (None, None)),
        ("qwen2", {"sliding_window": 64, "use_sliding_window": True, "max_window_layers": 1}, (None, 64)),
        ("qwen2", {"sliding_window": 64, "use_sliding_window": False}, (None, None)),
        ("qwen3", {"sliding_window": 64, "use_sliding_window": True, "layer_types": [SLIDING, FULL]}, (64, None)),
        ("gemma2", {"sliding_window": 64}, (64, None)),
        ("gpt_oss", {"sliding_window": 64}, (64, None)),
        ("gemma4_text", {"sliding_window": 64, "layer_types": [SLIDING, FULL]}, (64, None)),
    ],
)
def test_windows_are_accepted_and_known_to_the_decoder(family, changes, windows):
    config = AutoConfig.for_model(family, num_hidden_layers=2, **changes)
    check_supported(config)
    assert attention_windows(config) == windows


@pytest.mark.parametrize(
    ("family", "changes", "reason"),
    [
        # Its attention ignores what nobody told it; transformers' cache would forget positions nevertheless.
        ("llama", {"sliding_window": 4096}, "a sliding window, which models of its kind do not have"),
        ("gemma3_text", {"use_bidirectional_attention": True}, "looks both ways"),
        ("gemma4_text", {"num_kv_shared_layers": 10}, "share their keys and values"),
        ("minimax_m3_vl_text", {"num_hidden_layers": 1, "layer_types": ["minimax_m3_sparse"]}, "choose the keys"),
        ("qwen3", {"num_hidden_layers": 2, "layer_types": [FULL, "linear_attention"]}, "linear-attention"),
        ("qwen3", {"num_hidden_layers": 1, "layer_types": ["window_attention"]}, "the kind window_attention"),
        ("llama", {"is_encoder_decoder": True}, "encoder-decoder"),
    ],
)
def test_a_family_is_refused_with_layers_of_another_kind(family, changes, reason):
    config = AutoConfig.for_model(family, **changes)
    with pytest.raises(UnsupportedModelError, match=reason):
        check_supported(config)


@pytest.mark.parametrize("kind", ["linear_attention", "conv", "hybrid", "indexed_attention"])
def test_gate_and_decoder_agree_on_the_kinds_of_layers(kind):
    config = AutoConfig.for_model("qwen3", num_hidden_layers=3, layer_types=[FULL, SLIDING, kind], sliding_window=64)
    for check in (check_supported, attention_windows):
        with pytest.raises(UnsupportedModelError, match="not supported"):
            check(config)
