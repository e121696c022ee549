"""What a configuration says of a model's layers, and how much memory one forward over a prompt's chunk takes.

Reads configurations only; knows no device, no file and no decoder. transformers is imported inside functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

FLOAT32 = 4
ALLOCATOR = 1.05
"""Memory that an allocator takes beyond what it hands out: a twentieth."""

_SCORE_BYTES = 12
"""A score of attention written out: the score, its difference to the log-sum-exp, and its exponential, in float32."""

_MASS_ROWS = 8  # query positions whose scores are held at once where the attention mass has a pass of its own


@dataclass(frozen=True, slots=True)
class LayerShape:
    """One layer's attention: heads, the sizes of a key and of a value, and whether it sees every position."""

    query_heads: int
    kv_heads: int
    key_size: int
    value_size: int
    sees_all: bool

    @property
    def position_size(self) -> int:
        """Numbers that one position takes in the cache: its keys and its values."""
        return self.kv_heads * (self.key_size + self.value_size)


def layer_shapes(config: PreTrainedConfig) -> list[LayerShape]:
    """Of every layer of the text model, in order."""
    from transformers.cache_utils import get_layer_types_and_kwargs  # noqa: PLC0415 seconds

    text = config.get_text_config(decoder=True)
    kinds, _ = get_layer_types_and_kwargs(text)
    shapes = []
    for kind, layer in zip(kinds, text.per_layer_config, strict=True):
        heads = layer.num_attention_heads
        kv_heads = getattr(layer, "num_key_value_heads", None) or heads
        size = getattr(layer, "head_dim", None) or layer.hidden_size // heads
        value_size = getattr(layer, "v_head_dim", None) or size
        shapes.append(LayerShape(heads, kv_heads, size, value_size, kind == "full_attention"))
    return shapes


def mlp_width(config: PreTrainedConfig) -> int:
    """How many numbers a token has inside a layer's MLP: of a mixture of experts in those that it is sent to."""
    text = config.get_text_config(decoder=True)
    wide = getattr(text, "intermediate_size", None) or 4 * text.hidden_size
    experts = getattr(text, "num_experts_per_tok", None) or 0
    shared = getattr(text, "shared_expert_intermediate_size", None) or 0
    of_experts = experts * (getattr(text, "moe_intermediate_size", None) or wide) + shared
    return max(int(wide), int(of_experts))


def prefill_workspace(
    config: PreTrainedConfig, shapes: Sequence[LayerShape], dtype_bytes: int, chunk: int, keys: int, *, fused: bool
) -> int:
    """Bytes at the height of a forward of `chunk` tokens that attend to `keys` positions, weights and cache aside.

    The larger of two moments of a layer: in the attention queries, keys and values before and behind their rotation,
    and what two parts of the attention gave; in the MLP its gate, its input and their product, in float32 both once
    more, as one. Counted from the tensors of layers of the Llama kind; others differ by some hidden states.
    `fused`: attention holds no scores.
    """
    text, exact = config.get_text_config(decoder=True), dtype_bytes == FLOAT32
    queries = max(shape.query_heads * shape.key_size for shape in shapes)
    stored = max(shape.position_size for shape in shapes)
    hidden, wide = 4 * text.hidden_size, mlp_width(config)
    normed = queries + stored // 2 if text.model_type.startswith("qwen3") else 0  # head by head, before the rotation
    attention = (5 if exact else 4) * queries + 3 * stored // 2 + hidden + normed
    mlp = (4 if exact else 3) * wide + hidden + 2 * queries
    total = dtype_bytes * (chunk * int(max(attention, mlp)) + int(text.vocab_size))
    if exact:  # weights of few bits are made float32 for so many rows, one matrix at a time
        total += FLOAT32 * int(text.hidden_size) * wide
    if not fused:
        total += _SCORE_BYTES * max(shape.query_heads for shape in shapes) * chunk * keys
    return total


def refresh_workspace(shapes: Sequence[LayerShape], keys: int, window: int) -> int:
    """Bytes while the attention mass of `window` queries on `keys` positions is computed, a layer after the other."""
    rows = min(window, _MASS_ROWS)
    each = (2 * rows * shape.query_heads + window * shape.kv_heads for shape in shapes if shape.sees_all)
    return FLOAT32 * keys * max(each, default=0) if window else 0
