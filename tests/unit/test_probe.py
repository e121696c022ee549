"""Models that the decoder cannot run exactly are refused with the reason, before anything is decoded."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM, Gemma2Config, GPTNeoXConfig, MistralConfig

from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.errors import UnsupportedModelError
from tests.models import tiny_model

SIZES = {
    "vocab_size": 61,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": None,
    "eos_token_id": None,
}


def build(config):
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config).eval()


def test_soft_capping_is_refused():
    with pytest.raises(UnsupportedModelError, match="softcap"):
        SparseSpecDecoder(build(Gemma2Config(**SIZES, layer_types=["full_attention"] * 2)))


def test_a_sliding_window_is_refused():
    with pytest.raises(UnsupportedModelError, match="sliding_window"):
        SparseSpecDecoder(build(MistralConfig(**SIZES, sliding_window=8)))


def test_a_model_that_computes_something_else_is_refused():
    """Whatever the reason, a difference in the logits is found by the probe forward."""
    model = tiny_model()
    attention = model.model.layers[1].self_attn
    scaling, calls = attention.scaling, 0
    forward = attention.forward

    def other_after_the_first_call(*args, **kwargs):
        nonlocal calls
        calls += 1
        attention.scaling = scaling if calls == 1 else 2 * scaling
        return forward(*args, **kwargs)

    attention.forward = other_after_the_first_call
    with pytest.raises(UnsupportedModelError, match="logits"):
        SparseSpecDecoder(model)


def test_refusal_or_equality_for_a_family_off_the_list():
    """GPT-NeoX packs its projections in another way: it may be refused, but must never be decoded wrongly."""
    config = GPTNeoXConfig(
        vocab_size=61, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=256, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    model = build(config)
    try:
        decoder = SparseSpecDecoder(model)
    except UnsupportedModelError:
        return
    prompt = list(range(1, 40))
    output = model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=12, pad_token_id=0)
    assert decoder.decode(prompt, max_new_tokens=12).token_ids == output[0, len(prompt) :].tolist()
