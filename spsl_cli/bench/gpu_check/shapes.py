"""Models of published shapes with random weights: speed does not depend on what a model has learned."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

POSITIONS = 140_000


@dataclass(frozen=True)
class Shape:
    """A model's name, its family in transformers, and the sizes of its configuration."""

    name: str
    family: str
    sizes: dict[str, int]


LLAMA = Shape(
    "Llama-3.1-8B", "llama",
    {"num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14_336, "num_attention_heads": 32,
     "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128_256},
)  # fmt: skip
QWEN = Shape(
    "Qwen3-4B", "qwen3",
    {"num_hidden_layers": 36, "hidden_size": 2560, "intermediate_size": 9728, "num_attention_heads": 32,
     "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151_936},
)  # fmt: skip
TINY = Shape(
    "tiny", "qwen3",
    {"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
     "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 128},
)  # fmt: skip


def build(shape: Shape, device: torch.device, dtype: torch.dtype) -> PreTrainedModel:
    """A model of that shape with random weights, made on the device, ready to decode."""
    config = AutoConfig.for_model(
        shape.family, max_position_embeddings=POSITIONS, tie_word_embeddings=False, bos_token_id=None,
        eos_token_id=None, pad_token_id=0, **shape.sizes,
    )  # fmt: skip
    torch.manual_seed(0)
    make: Any = AutoModelForCausalLM.from_config
    with device:
        model: PreTrainedModel = make(config, dtype=dtype, attn_implementation="sdpa")
    model.requires_grad_(requires_grad=False)
    model.train(mode=False)
    return model


def why_not_4bit(device: torch.device) -> str | None:
    """Why weights cannot be put into 4 bits here; None if they can."""
    if device.type != "cuda":
        return "bitsandbytes' 4-bit kernels are for CUDA"
    if importlib.util.find_spec("bitsandbytes") is None:
        return "bitsandbytes is not installed (pip install 'spsl[gpu]')"
    return None


def to_4bit(model: PreTrainedModel) -> None:
    """Put the linear layers inside `model` into 4 bits (nf4), one after the other; the output layer stays as it is."""
    import bitsandbytes  # noqa: PLC0415 optional

    make: Any = bitsandbytes.nn
    outputs = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    for name, module in list(model.named_modules()):
        if type(module) is not nn.Linear or module is outputs:
            continue
        weight = module.weight
        few = make.Linear4bit(
            module.in_features, module.out_features, bias=module.bias is not None,
            compute_dtype=weight.dtype, quant_type="nf4", device="meta",
        )  # fmt: skip
        few.weight = make.Params4bit(weight.detach().cpu(), requires_grad=False, quant_type="nf4").to(weight.device)
        few.bias = module.bias
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, few)
