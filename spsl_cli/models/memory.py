"""How long a context a model has, and what a run of a given length takes in memory. Reads headers, never weights."""

from __future__ import annotations

import json
import math
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spsl_cli.errors import ModelUnavailableError, UnsupportedModelError
from spsl_cli.models.folder import weight_files

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

IMPORTANCE_BYTES = 4  # a position and KV head: the decayed sum of its attention mass, which is the default
# Bytes a weight of a quantised matrix takes: the value, and its share of a 4-byte scale per 64 values (bitsandbytes,
# 4 bit) or per 32 (on the CPU).
_QUANTISED_BYTES = {
    "cuda": {"4bit": 0.5 + 4 / 64, "8bit": 1.0},
    "cpu": {"4bit": 0.5 + 8 / 32, "8bit": 1.0 + 4 / 32},
}
_OUTPUT = "lm_head.weight"
_IN_A_LAYER = re.compile(r"\.\d+\.")  # families differ in the word before the number
_FLOAT32 = 4
_LARGEST_HEADER = 100 * 2**20


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes that a run of `tokens` positions takes: the weights, and what grows with the length."""

    tokens: int
    weights: int
    kv: int
    draft_view: int
    importance: int

    @property
    def total(self) -> int:
        """All of it, without the activations of a prefill chunk."""
        return self.weights + self.kv + self.draft_view + self.importance

    def fits(self, available: int) -> bool:
        """Whether `available` bytes are enough, leaving a tenth for activations and the allocator."""
        return self.total * 1.1 <= available


def context_length(config: PreTrainedConfig) -> int:
    """The positions a model is made for. Raises `UnsupportedModelError` if its configuration does not tell.

    YaRN stretches the original length by its factor, and `max_position_embeddings` may still state the original one.
    Other scalings either state the stretched length themselves or (dynamic NTK) change every cached key beyond it.
    """
    text = config.get_text_config(decoder=True)
    stated = getattr(text, "max_position_embeddings", None)
    if not isinstance(stated, int) or stated <= 0:
        raise UnsupportedModelError(f"the configuration of this {config.model_type} model states no context length")
    rope = getattr(text, "rope_parameters", None) or {}
    if rope.get("rope_type") != "yarn":
        return stated
    original, factor = rope.get("original_max_position_embeddings") or stated, rope.get("factor") or 1.0
    return max(stated, int(original * factor))


def _kv_heads_and_width(text: PreTrainedConfig) -> list[tuple[int, int]]:
    """For each layer its KV heads and the width of a head."""
    shapes = []
    for layer in text.per_layer_config:
        heads = layer.num_attention_heads
        kv_heads = getattr(layer, "num_key_value_heads", None) or heads
        shapes.append((kv_heads, getattr(layer, "head_dim", None) or layer.hidden_size // heads))
    return shapes


def kv_bytes_per_token(config: PreTrainedConfig, dtype_bytes: int) -> int:
    """Bytes of keys and values that one position takes over all layers."""
    shapes = _kv_heads_and_width(config.get_text_config(decoder=True))
    return sum(2 * kv_heads * width for kv_heads, width in shapes) * dtype_bytes


def memory_plan(
    config: PreTrainedConfig, weights_bytes: int, dtype_bytes: int, tokens: int, budget: float
) -> MemoryPlan:
    """What `tokens` positions take. `budget`: the draft's share of them (float, up to 1.0) or their number (int)."""
    from transformers.cache_utils import get_layer_types_and_kwargs  # noqa: PLC0415

    share = math.ceil(budget * tokens) if isinstance(budget, float) else min(budget, tokens)
    text = config.get_text_config(decoder=True)
    kinds, _ = get_layer_types_and_kwargs(text)
    shapes = zip(kinds, _kv_heads_and_width(text), strict=True)
    drafted = [shape for kind, shape in shapes if kind == "full_attention"]  # layers with a window have no view
    return MemoryPlan(
        tokens=tokens,
        weights=weights_bytes,
        kv=kv_bytes_per_token(config, dtype_bytes) * tokens,
        draft_view=sum(2 * kv_heads * width for kv_heads, width in drafted) * dtype_bytes * share,
        importance=IMPORTANCE_BYTES * sum(kv_heads for kv_heads, _ in drafted) * tokens,
    )


def weights_bytes(folder: Path, dtype_bytes: int, quantize: str | None = None, device: str = "cuda") -> int:
    """Bytes the weights in `folder` will take in memory, from the headers of its safetensors files.

    Quantisation shrinks the matrices inside the layers, on the CPU the output layer too; all else keeps `dtype_bytes`.
    On the CPU an output layer tied to the embedding has weights of its own, quantised or packed (float32).
    """
    shapes = {name: shape for file in weight_files(folder) for name, shape in _shapes(file).items()}
    kind = device.partition(":")[0]
    small = _QUANTISED_BYTES[kind][quantize] if quantize else dtype_bytes
    total = 0.0
    for name, shape in shapes.items():
        shrinks = len(shape) > 1 and (_IN_A_LAYER.search(name) or (kind == "cpu" and name == _OUTPUT))
        total += math.prod(shape) * (small if shrinks else dtype_bytes)
    if kind == "cpu" and _OUTPUT not in shapes and (quantize or dtype_bytes == _FLOAT32):
        tied = [shape for name, shape in shapes.items() if len(shape) > 1 and not _IN_A_LAYER.search(name)]
        total += max(map(math.prod, tied), default=0) * small
    return round(total)


def _shapes(file: Path) -> dict[str, list[int]]:
    """The shape of every tensor in a safetensors file."""
    try:
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > _LARGEST_HEADER:
                raise ModelUnavailableError(f"{file} is damaged: its header claims {length} bytes")
            header = json.loads(stream.read(length))
        return {name: list(map(int, tensor["shape"])) for name, tensor in header.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise ModelUnavailableError(f"{file} is no readable safetensors file: {error}") from error
