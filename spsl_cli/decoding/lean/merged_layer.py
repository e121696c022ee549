"""A decoder layer of the Llama kind in a dozen operations, instead of sixty and ten modules.

Llama, Mistral, Qwen 2 and 3, SmolLM3: RMS norm, grouped-query attention with rotary positions, and a gated MLP, each
behind a residual. What the layer computes is the same; sums are rounded elsewhere. Whether it is the same for this
model is found by the probe, not believed. Source of the layer: transformers, `models/llama/modeling_llama.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from transformers.cache_utils import Cache

from spsl_cli.decoding.attend import attend, check_window
from spsl_cli.decoding.lean.modules import untouched
from spsl_cli.decoding.lean.products import Linear, Product
from spsl_cli.quantized.linear import QuantizedLinear

MERGEABLE = frozenset(
    f"{family}DecoderLayer" for family in ("Llama", "Mistral", "Ministral", "Qwen2", "Qwen3", "SmolLM3")
)
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")
MakeProduct = Callable[[Sequence[Linear]], Product]


class SignedSine:
    """The sines with the sign of a rotation folded in, computed once a forward for all layers."""

    def __init__(self) -> None:
        self._given: torch.Tensor | None = None
        self._signed = torch.empty(0)

    def __call__(self, sine: torch.Tensor) -> torch.Tensor:
        """[R, q, D] -> [R, q, 1, D], the first half negated."""
        if sine is not self._given:
            first, second = sine.chunk(2, -1)
            self._given, self._signed = sine, torch.cat((-first, second), -1)[:, :, None]
        return self._signed


class MergedLayer:
    """Stands in for the layer's forward, with products of the linear layers given, by default its own."""

    def __init__(
        self, layer: nn.Module, sine: SignedSine, product: MakeProduct, linears: Sequence[Linear] = ()
    ) -> None:
        attention: Any = layer.self_attn
        query, key, value, out, gate, up, down = linears or linears_of(layer)
        self._name, self._number = type(attention).__name__, attention.layer_idx
        self._size: int = attention.head_dim
        self._scaling: float = attention.scaling
        told = getattr(attention.config, "sliding_window", None)  # Mistral's looks there
        self._window: int | None = getattr(attention, "sliding_window", told)
        self._rotates = bool(getattr(attention, "use_rope", True))
        self._sine = sine
        self._norms = (layer.input_layernorm, layer.post_attention_layernorm)
        self._head_norms = [attention.q_norm, attention.k_norm] if hasattr(attention, "q_norm") else []
        self._query_heads = query.out_features // self._size
        self._key_heads = key.out_features // self._size
        self._query_key_value = product([query, key, value])
        self._out = product([out])
        self._gate_up = product([gate, up])
        self._down = product([down])

    def __call__(
        self,
        hidden_states: torch.Tensor,
        position_embeddings: tuple[torch.Tensor, torch.Tensor],
        cache: Cache,
        **_: Any,
    ) -> torch.Tensor:
        """Hidden states [R, q, C] -> [R, q, C]; keys and values go into `cache`."""
        layer: Any = cache.layers[self._number]
        check_window(layer, self._window, self._name)
        heads = self._before(hidden_states, position_embeddings).transpose(1, 2)
        rotated = self._query_heads + self._key_heads
        layer.update(heads[:, self._query_heads : rotated], heads[:, rotated:], kwargs={})
        return self._after(hidden_states, attend(layer, heads[:, : self._query_heads], self._scaling))

    def _before(self, hidden: torch.Tensor, position_embeddings: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Queries, keys and values [R, q, Hq + 2 Hkv, D], those two at their positions."""
        x = self._query_key_value(rms_norm(self._norms[0], hidden))
        heads = x.view(*x.shape[:2], -1, self._size)
        rotated = self._query_heads + self._key_heads
        query_key, value = heads[:, :, :rotated], heads[:, :, rotated:]
        if self._head_norms:
            query, key = query_key.tensor_split((self._query_heads,), 2)
            normed = [rms_norm(norm, part) for norm, part in zip(self._head_norms, (query, key), strict=True)]
            query_key = torch.cat(normed, 2)
        if self._rotates:
            cosine, sine = position_embeddings
            turned = query_key.roll(self._size // 2, -1)
            query_key = torch.addcmul(query_key * cosine[:, :, None], turned, self._sine(sine))
        return torch.cat((query_key, value), 2)

    def _after(self, hidden: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        """From what the attention gave [R, q, Hq, D] to the hidden states behind the layer."""
        hidden = hidden + self._out(attended.flatten(2))
        gate, up = self._gate_up(rms_norm(self._norms[1], hidden)).chunk(2, -1)
        return hidden.add_(self._down(nn.functional.silu(gate).mul_(up)))


def rms_norm(norm: Any, x: torch.Tensor) -> torch.Tensor:
    """Over the last dimension, by the weight and epsilon of a norm of the Llama kind."""
    return nn.functional.rms_norm(x, norm.weight.shape, norm.weight, norm.variance_epsilon)


def can_be_merged(layer: Any) -> bool:
    """Whether it is a layer of the Llama kind as it comes from transformers, in float32, nothing added or replaced.

    In other types the stock norm computes in float32 all the same, and would round elsewhere.
    """
    family = type(layer).__name__.removesuffix("DecoderLayer")
    if type(layer).__name__ not in MERGEABLE or not _is_stock(layer, family):
        return False
    linears = linears_of(layer)
    side_by_side = (linears[:3], linears[4:6])
    return (
        len({type(linear) for linear in linears}) == 1
        and type(linears[0]) in (nn.Linear, QuantizedLinear)
        and all(len({linear.bias is None for linear in joined}) == 1 for joined in side_by_side)
        and all(parameter.dtype is torch.float32 for parameter in layer.parameters())
        and type(layer.mlp.act_fn).__name__ in ("SiLU", "SiLUActivation")
        and all(untouched(module) for module in layer.modules())
    )


def _is_stock(layer: Any, family: str) -> bool:
    """Whether the layer and its parts are transformers' own, none exchanged for something of another class."""
    own = type(layer).__module__
    norm = f"{family}RMSNorm"
    parts = {"self_attn": f"{family}Attention", "mlp": f"{family}MLP", "input_layernorm": norm}
    parts["post_attention_layernorm"] = norm
    found = {name: type(module) for name, module in layer.named_children()}
    if not own.startswith("transformers.models.") or {name: kind.__name__ for name, kind in found.items()} != parts:
        return False
    norms = [module for name, module in layer.self_attn.named_children() if name not in PROJECTIONS]
    kinds = [*found.values(), *map(type, norms)]
    return all(kind.__module__ == own for kind in kinds) and all(type(module).__name__ == norm for module in norms)


def linears_of(layer: Any) -> list[Linear]:
    """Those for query, key, value, output, gate, up and down, in this order."""
    attention, mlp = layer.self_attn, layer.mlp
    return [*(getattr(attention, name) for name in PROJECTIONS), mlp.gate_proj, mlp.up_proj, mlp.down_proj]
