"""Can the decoder run this kind of model exactly? Decided from the configuration alone, without weights or a forward.

Full and sliding-window attention, attention sinks and soft-capped scores are run; everything else is refused with the
reason. Necessary, not sufficient: whoever decodes also probes the loaded model. transformers is imported inside
functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spsl_cli.errors import UnsupportedModelError

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

_CONVOLUTIONS = "convolution layers are not supported"
_CHOSEN_KEYS = "layers that choose the keys they attend to are not supported"
_HYBRID = "hybrid layers (attention beside a recurrent state) are not supported"
_UNREPLACEABLE = "its key-value cache gets no attention arguments, so it cannot be replaced"
# What a configuration does not show; by `model_type`, as read in transformers' model code.
_FAMILIES = {
    "lfm2": _CONVOLUTIONS,
    "lfm2_moe": _CONVOLUTIONS,
    "diffllama": "differential attention (two attention maps a layer) is not supported",
    "doge": "its attention is computed by functions of its own",
    "jetmoe": "its attention repeats the cached heads in an order of its own",
    "moshi": "its configuration tells a sliding window that its attention does not have",
    "gpt_neox": _UNREPLACEABLE,
    "ctrl": _UNREPLACEABLE,
    "dory": _UNREPLACEABLE,
}
_LAYERS = {
    "chunked_attention": "chunked attention is not supported",
    "linear_attention": "linear-attention or recurrent layers are not supported",
    "hybrid": _HYBRID,
    "hybrid_sliding": _HYBRID,
    "conv": _CONVOLUTIONS,
    "dummy": "layers without a key-value cache of their own are not supported",
    "indexed_attention": _CHOSEN_KEYS,
    "minimax_m3_sparse": _CHOSEN_KEYS,
    "compressed_sparse_attention": "attention over compressed keys is not supported",
    "heavily_compressed_attention": "attention over compressed keys is not supported",
}
# Carry no flag for transformers' attention interface, but go through it (compared with the stock attention).
_UNFLAGGED = {"biogpt", "stablelm"}


def check_supported(config: PreTrainedConfig) -> None:
    """Raise `UnsupportedModelError` with the reason unless every layer is causal attention, full or in a window."""
    reason = next(_reasons(config), None)
    if reason is not None:
        raise UnsupportedModelError(
            f"{config.model_type} models like this one are not supported: {reason}",
            hint="use one whose layers are all ordinary causal attention, such as Llama, Qwen3, Gemma 3 or SmolLM2",
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

    if getattr(text, "num_kv_shared_layers", None):
        yield "layers that share their keys and values are not supported"
    if getattr(text, "use_bidirectional_attention", None) in (True, "all"):
        yield "its attention looks both ways"
    try:
        layers = list(text.per_layer_config)
        kinds, options = get_layer_types_and_kwargs(text)
    except AttributeError:
        yield "its configuration does not tell its layers"
        return
    # Asked layer by layer: a heterogeneous configuration refuses to answer for all at once.
    if any(getattr(layer, "kv_lora_rank", None) for layer in layers):
        yield "multi-head latent attention (MLA) is not supported"
    for kind in kinds:
        if kind not in ("full_attention", "sliding_attention"):
            yield _LAYERS.get(kind, f"layers of the kind {kind} are not supported")
    if any(option.get("sliding_window") for option in options) and not hasattr(type(text)(), "sliding_window"):
        yield "its configuration tells a sliding window, which models of its kind do not have"


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
