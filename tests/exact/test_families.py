"""Every family claimed: a tiny random model of it, decoded to the tokens of its own `generate`."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.models import check_supported
from tests.models import generate, random_prompt

SIZES = {
    "vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 512, "pad_token_id": 0, "bos_token_id": None,
    "eos_token_id": None,
}  # fmt: skip
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
FAMILIES = {
    "llama": {}, "qwen2": {}, "qwen3": {}, "phi": {}, "phi3": {}, "smollm3": {}, "granite": {}, "olmo": {}, "olmo2": {},
    "glm4": {}, "gemma": {}, "cohere": {}, "stablelm": {}, "nemotron": {}, "starcoder2": {}, "ernie4_5": {},
    "hunyuan_v1_dense": {}, "helium": {}, "arcee": {}, "apertus": {}, "seed_oss": {},
    "mistral": {"sliding_window": None},
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen2_moe": {**EXPERTS, "shared_expert_intermediate_size": 16},
    "qwen3_moe": EXPERTS,
    "glm4_moe": {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_group": 1,
                 "topk_group": 1, "first_k_dense_replace": 1},
    "minimax_m2": {"num_local_experts": 4, "num_experts_per_tok": 2, "rotary_dim": 8},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512},
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_family_decodes_to_the_tokens_of_generate(family):
    torch.manual_seed(0)
    sizes = {"vocab_size": 61, "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None}
    sizes |= FAMILIES[family] if family == "gpt2" else {**SIZES, **FAMILIES[family]}
    config = AutoConfig.for_model(family, **sizes)
    check_supported(config)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4.0)  # as drawn, attention is flat and every draft is right
    prompt = random_prompt(90)
    expected = generate(model, prompt, 20)
    result = SparseSpecDecoder(model, DecodeConfig(k=4, budget=0.1)).decode(prompt, max_new_tokens=20)
    assert result.token_ids == expected
    assert result.stats.drafted > 0
