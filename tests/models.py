"""Tiny random models, built where they are used: exactness does not depend on what a model has learned."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.costs import PresumedCosts

VOCABULARY = 61
CHEAP = PresumedCosts(draft=0.1, refresh=0.05, row=0.01)
"""Costs under which every proposer is worth its while."""

_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 2048,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": 0,
}
CONFIGS = {"llama": LlamaConfig, "qwen2": Qwen2Config, "qwen3": Qwen3Config}


def draft_config(k: int | str = "auto", **options) -> DecodeConfig:
    """A configuration whose k may also be the name of a controller."""
    named = {"k": k} if k == "auto" or isinstance(k, int) else {"controller": k}
    return DecodeConfig(**named, **options)


def tiny_model(family: str = "llama", seed: int = 0, dtype: torch.dtype = torch.float32, **sizes) -> PreTrainedModel:
    """Random weights, scaled so that attention is not flat: a part of the cache is right about half the time."""
    torch.manual_seed(seed)
    config = CONFIGS[family](**{**_SIZES, **sizes})
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "v_proj" in name or "o_proj" in name:
                parameter.mul_(1.5)
            elif "proj" in name or "embed" in name:
                parameter.mul_(6.0)
    return model.eval().requires_grad_(requires_grad=False)


def random_prompt(length: int, seed: int = 0) -> list[int]:
    """Token ids without the padding token."""
    generator = torch.Generator().manual_seed(1000 + seed)
    return torch.randint(1, VOCABULARY, (length,), generator=generator).tolist()


def generate(model: PreTrainedModel, prompt: list[int], max_new_tokens: int, **options) -> list[int]:
    """New tokens of Hugging Face's own greedy generation."""
    ids = torch.tensor([prompt])
    output = model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=max_new_tokens, **options
    )
    return output[0, len(prompt) :].tolist()


CHAT_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message['role'] }}\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, two control tokens, a chat template."""
    vocabulary = {symbol: number for number, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|start|>", "<|end|>"])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")  # noqa: S106 no password
    fast.chat_template = CHAT_TEMPLATE
    return fast


def save_chat_model(folder: Path, **sizes) -> Path:
    """A tiny random model with the byte tokenizer, saved for loading."""
    tiny_model(vocab_size=258, eos_token_id=257, **sizes).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder
