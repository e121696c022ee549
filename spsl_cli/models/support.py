"""Can the decoder run this kind of model exactly? Decided from the configuration alone, without weights or a forward.

Necessary, not sufficient: whoever decodes also probes the loaded model. transformers is imported inside functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spsl_cli.errors import UnsupportedModelError

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

_SINKS = "attention sinks are not supported"
_CONVOLUTIONS = "convolution layers are not supported"
# What a configuration does not show; by `model_type`, as read in transformers' model code.
_FAMILIES = {
    "gpt_oss": _SINKS,
    "granite_swa": _SINKS,
    "granitemoe_swa": _SINKS,
    "flint": _SINKS,
    "hy_v4": _SINKS,
    "mimo_v2_flash": _SINKS,
    "deepseek_v4": _SINKS,
    "lfm2": _CONVOLUTIONS,
    "lfm2_moe": _CONVOLUTIONS,
    "diffllama": "differential attention (two attention maps a layer) is not supported",
    "doge": "its attention is computed by functions of its own",
    "gpt_neox": "its key-value cache gets no attention arguments, so it cannot be replaced",
    "ctrl": "its key-value cache gets no attention arguments, so it cannot be replaced",
}
_LAYERS = {
    "sliding_attention": "sliding-window layers are not supported yet",
    "chunked_attention": "chunked attention is not supported",
    "linear_attention": "linear-attention or recurrent layers are not supported",
    "hybrid": "hybrid layers (attention beside a recurrent state) are not supported",
    "hybrid_sliding": "hybrid layers (attention beside a recurrent state) are not supported",
    "conv": _CONVOLUTIONS,
    "dummy": "layers without a key-value cache of their own are not supported",
}
# Carries no flag for transformers' attention interface, but goes through it (compared with the stock attention).
_UNFLAGGED = {"stablelm"}


def check_supported(config: PreTrainedConfig) -> None:
    """Raise `UnsupportedModelError` with the reason unless every layer is ordinary, causal, full attention."""
    reason = next(_reasons(config), None)
    if reason is not None:
        raise UnsupportedModelError(
            f"{config.model_type} models like this one are not supported: {reason}",
            hint="use one whose layers are all full attention, such as Llama, Qwen3 or SmolLM2",
        )


def _reasons(config: PreTrainedConfig) -> Iterator[str]:
    if config.is_encoder_decoder:
        yield "it is an encoder-decoder"
        return
    try:
        text = config.get_text_config(decoder=True)
    except ValueError:
        yield "it holds several text models"
        return
    for kind in (config.model_type, text.model_type):
        if kind in _FAMILIES:
            yield _FAMILIES[kind]
    yield from _attention_reasons(text)
    yield from _class_reasons(config, text)


def _attention_reasons(text: PreTrainedConfig) -> Iterator[str]:
    from transformers.cache_utils import get_layer_types_and_kwargs  # noqa: PLC0415

    try:
        layers = list(text.per_layer_config)
        kinds, _ = get_layer_types_and_kwargs(text)
    except AttributeError:
        yield "its configuration does not tell its layers"
        return
    # Asked layer by layer: a heterogeneous configuration refuses to answer for all at once.
    if any(getattr(layer, "kv_lora_rank", None) for layer in layers):
        yield "multi-head latent attention (MLA) is not supported"
    if getattr(text, "num_kv_shared_layers", None) or getattr(text, "kv_sharing_modes", None):
        yield "layers that share their keys and values are not supported"
    if any(getattr(layer, "attn_logit_softcapping", None) for layer in layers):
        yield "soft-capped attention logits are not supported"
    for kind in kinds:
        if kind != "full_attention":
            yield _LAYERS.get(kind, f"layers of the kind {kind} are not supported")


def _class_reasons(config: PreTrainedConfig, text: PreTrainedConfig) -> Iterator[str]:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING  # noqa: PLC0415

    for part in (config, text):
        if type(part) not in MODEL_FOR_CAUSAL_LM_MAPPING:
            yield "it is not a plain causal language model"
            return
    model_class: Any = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    if model_class._is_stateful:  # noqa: SLF001 - transformers states it nowhere else
        yield "it keeps a recurrent state besides the key-value cache"
    if getattr(config, "is_decoder", True) is False:
        yield "it is an encoder, whose attention looks both ways"
    if not model_class.is_backend_compatible() and config.model_type not in _UNFLAGGED:
        yield "its attention does not go through transformers' attention interface"
