"""The model families that are compared with their own `generate`, tiny random models of them, and those refused.

`FAMILIES` has one line a family: what its configuration needs beside `SIZES`. The tables of `docs/models.md` are made
of these (`tests/exact/families_page.py`).
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel

WINDOW = 24
SINKS = {"flint", "gpt_oss", "granite_swa", "granitemoe_swa", "mimo_v2_flash"}
"""Families with attention sinks; a configuration does not tell them."""
SIZES = {
    "vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 512, "pad_token_id": 0, "bos_token_id": None,
    "eos_token_id": None, "tie_word_embeddings": False,
}  # fmt: skip
_WINDOW = {"sliding_window": WINDOW}
_KINDS = ["sliding_attention", "full_attention"]
_HALF = {"sliding_window": WINDOW, "layer_types": _KINDS}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
_LOCAL = {"num_local_experts": 4, "num_experts_per_tok": 2}
_ROUTED = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_group": 1, "topk_group": 1}
_GEMMA4 = {**_HALF, "global_head_dim": 16, "vocab_size_per_layer_input": 61, "hidden_size_per_layer_input": 8}
_VISION = {
    "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28,
    "patch_size": 14,
}  # fmt: skip
_ROPE = {"rope_type": "default", "rope_theta": 1e4}
_IDS = {"bos_token_id": 1, "eos_token_id": 60}  # families that insist on having them

FAMILIES: dict[str, dict[str, Any]] = {
    "afmoe": {**_HALF, **_EXPERTS},
    "apertus": {},
    "apertus1p5_text": {},
    "arcee": {},
    "aria_text": {"moe_num_experts": 4, "moe_topk": 2},
    "beam": _HALF,
    "biogpt": {},
    "bitnet": {},
    "codegen": {"rotary_dim": 4},
    "cohere": {},
    "cohere2": _HALF,
    "cohere2_moe": {**_HALF, **_EXPERTS},
    "cohere_compass_text": {**_HALF, "rope_parameters": dict.fromkeys(_KINDS, _ROPE)},
    "cwm": {**_HALF, **_IDS},
    "dbrx": {
        "d_model": 32, "attn_config": {"kv_n_heads": 2, "rope_theta": 1e4, "clip_qkv": 8.0},
        "ffn_config": {"ffn_hidden_size": 16, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "dots1": {**_HALF, **_ROUTED, "n_shared_experts": 1},
    "ernie4_5": {},
    "ernie4_5_moe": {"moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 16},
    "exaone": {},
    "exaone4": _HALF,
    "exaone_moe": {**_HALF, **_EXPERTS},
    "flex_olmo": _EXPERTS,
    "flint": {**_HALF, **_LOCAL},
    "fuyu": {"text_config": SIZES},
    "gemma": {},
    "gemma2": _HALF,
    "gemma3": {"text_config": {**SIZES, **_HALF}, "vision_config": _VISION},
    "gemma3_text": _HALF,
    "gemma4": {"text_config": {**SIZES, **_GEMMA4}, "vision_config": None, "audio_config": None},
    "gemma4_text": _GEMMA4,
    "gemma4_unified": {"text_config": {**SIZES, **_GEMMA4}, "vision_config": None, "audio_config": None},
    "gemma4_unified_text": _GEMMA4,
    "glm": {},
    "glm4": {},
    "glm4_moe": {**_ROUTED, "first_k_dense_replace": 1},
    "got_ocr2": {"text_config": SIZES, "vision_config": _VISION},
    "gpt-sw3": {},
    "gpt2": {},
    "gpt_bigcode": {},
    "gpt_oss": {**_HALF, **_LOCAL},
    "gptj": {"rotary_dim": 4},
    "granite": {},
    "granite_swa": _HALF,
    "granitemoe": _LOCAL,
    "granitemoe_swa": {**_HALF, **_LOCAL},
    "granitemoeshared": _LOCAL,
    "helium": {},
    "hrm_text": {"H_cycles": 1, "L_cycles": 1},
    "hunyuan_v1_dense": {},
    "hunyuan_v1_moe": {"num_experts": 4, "moe_topk": 2},
    "hy_v3": _EXPERTS,
    "hyperclovax": {},
    "internlm3": {},
    "iquestcoder": {},
    "jais2": {},
    "kolibri1": {**_HALF, **_EXPERTS},
    "laguna": {**_HALF, **_EXPERTS, "shared_expert_intermediate_size": 16},
    "llama": {},
    "mellum": {**_HALF, **_EXPERTS},
    "mimo_v2_flash": {**_HALF, **_ROUTED},
    "minimax_m2": {**_LOCAL, "rotary_dim": 8},
    "ministral": _HALF,
    "ministral3": _WINDOW,
    "mistral": _WINDOW,
    "mixtral": {**_WINDOW, **_LOCAL},
    "modernbert-decoder": {
        "local_attention": 2 * WINDOW, "layer_types": _KINDS, "cls_token_id": 1, "sep_token_id": 60, **_IDS,
    },
    "moss_transcribe_diarize": {
        "text_config": SIZES,
        "audio_config": {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2},
    },
    "nanochat": {},
    "nemotron": {},
    "olmo": {},
    "olmo2": {},
    "olmo3": _HALF,
    "olmoe": _EXPERTS,
    "opt": {"ffn_dim": 48},
    "persimmon": {},
    "phi": {},
    "phi3": _WINDOW,
    "phi4_multimodal": {
        **_WINDOW, "vision_config": _VISION,
        "audio_config": {"hidden_size": 16, "intermediate_size": 16, "num_blocks": 1, "num_attention_heads": 2},
    },
    "phimoe": {**_WINDOW, **_LOCAL},
    "qwen2": {**_HALF, "use_sliding_window": True},
    "qwen2_moe": {**_HALF, "use_sliding_window": True, **_EXPERTS, "shared_expert_intermediate_size": 16},
    "qwen3": {**_HALF, "use_sliding_window": True},
    "qwen3_moe": {**_EXPERTS, "sliding_window": WINDOW, "use_sliding_window": True},
    "sarvam_moe": {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
    "seed_oss": {},
    "smollm3": _HALF,
    "solar_open": {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
    "stablelm": {},
    "starcoder2": _WINDOW,
    "vaultgemma": _HALF,
}  # fmt: skip

SEEDS = {"gemma3": 2, "laguna": 1, "nanochat": 1, "olmoe": 1, "phimoe": 2}  # where the first draw repeats a few tokens

REFUSED = {
    "it is an encoder-decoder": (
        "bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "marian", "mbart", "musicgen", "musicgen_melody",
        "mvp", "pegasus", "plbart", "prophetnet", "t5", "whisper",
    ),
    "it is an encoder, whose attention looks both ways": (
        "bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "electra", "ernie", "gpt_neox_japanese",
        "megatron-bert", "reformer", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "trocr",
        "xlm-roberta", "xlm-roberta-xl", "xmod",
    ),
    "it is not a plain causal language model": ("emu3", "llava", "mllama"),
    "its configuration does not tell its layers": ("blt",),
    "its attention does not go through transformers' attention interface": (
        "bloom", "cpmant", "falcon", "git", "gpt_neo", "mpt", "openai-gpt", "xglm", "xlm", "xlnet",
    ),
    "its key-value cache gets no attention arguments, so it cannot be replaced": ("ctrl", "dory", "gpt_neox"),
    "its attention is computed by functions of its own": ("doge",),
    "its attention repeats the cached heads in an order of its own": ("jetmoe",),
    "its configuration tells a sliding window that its attention does not have": ("moshi",),
    "differential attention (two attention maps a layer) is not supported": ("diffllama",),
    "multi-head latent attention (MLA) is not supported": (
        "axk1", "axk2", "bailing_hybrid", "deepseek_v2", "deepseek_v3", "deepseek_v32", "dots3_note", "dots3_note_text",
        "glm4_moe_lite", "glm_moe_dsa", "hy_v4", "kimi_linear", "longcat_flash", "minicpm3", "sarvam_mla", "youtu",
    ),
    "layers that share their keys and values are not supported": (
        "gemma3n", "gemma3n_text", "gemma4_unified_assistant",
    ),
    "attention over compressed keys is not supported": ("deepseek_v4",),
    "chunked attention is not supported": ("llama4", "llama4_text"),
    "convolution layers are not supported": ("lfm2", "lfm2_moe", "lfm3"),
    "linear-attention or recurrent layers are not supported": (
        "bamba", "falcon_mamba", "granitemoehybrid", "jamba", "lara_mini", "mamba", "mamba2", "minimax", "nemotron_h",
        "olmo_hybrid", "qwen3_5", "qwen3_5_moe", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next", "qwen4_exp",
        "qwen4_exp_text", "recurrent_gemma", "zamba", "zamba2",
    ),
    "hybrid layers (attention beside a recurrent state) are not supported": (
        "falcon_h1", "inkling2_loop_text", "inkling2_text", "inkling_text", "zaya",
    ),
    "it keeps a recurrent state besides the key-value cache": ("rwkv", "xlstm"),
}  # fmt: skip
"""By the reason that the user reads: families refused as their configuration stands by default."""


def make_config(family: str) -> PreTrainedConfig:
    """The configuration of a tiny model of this family; half of its layers slide where both kinds are possible."""
    return AutoConfig.for_model(family, **{**SIZES, **FAMILIES[family]})


def make_model(family: str) -> PreTrainedModel:
    """A tiny model of this family."""
    return draw_weights(AutoModelForCausalLM.from_config(make_config(family)), SEEDS.get(family, 0))


def draw_weights(model: PreTrainedModel, seed: int = 0) -> PreTrainedModel:
    """The model with random weights, drawn so that attention is not flat and the output not one token repeated.

    As a family draws them itself, sinks and logits are all near nought. No token ends the output.
    """
    torch.manual_seed(seed)
    for name, parameter in model.eval().requires_grad_(requires_grad=False).named_parameters():
        if "sink" in name:
            parameter.normal_()
        elif parameter.dim() > 1:
            sharp = any(part in name for part in ("q_proj", "k_proj", "qkv", "c_attn", "query_key_value"))
            table = any(part in name for part in ("embed", "wte", "wpe"))
            inputs = 1 if table else parameter.shape[-1]
            parameter.normal_(0.0, (2.0 if sharp else 1.0) * inputs**-0.5)
    if model.generation_config is not None:
        model.generation_config.eos_token_id = None
    return model
