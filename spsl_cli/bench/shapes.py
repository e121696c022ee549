"""What one forward of a model reads, from its dimensions: well-known models by name, others by their configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spsl_cli.bench.theory import ModelShape
from spsl_cli.errors import ModelUnavailableError, UnsupportedModelError, UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

BYTES_PER_WEIGHT = {"32": 4.0, "16": 2.0, "8": 1.0, "4": 0.5 + (2 + 0.5) / 128}
"""By bits; of 4 with a scale of 16 bits and an offset of 4 for every 128 weights."""


@dataclass(frozen=True)
class Dimensions:
    """A dense decoder of the Llama kind; sizes in elements."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int

    @property
    def layer_weights(self) -> int:
        """Of all layers together: four projections of attention, three of the MLP."""
        attention = self.hidden * self.head_size * (2 * self.heads + 2 * self.kv_heads)
        return self.layers * (attention + 3 * self.hidden * self.intermediate)

    def shape(self, name: str, bits: str = "16") -> ModelShape:
        """Bytes that a forward reads. `bits` are those of the layers' weights.

        The output layer and the cache have 16 bits, with 32 of weights 32. The embedding is left out: one row is read.
        Raises UsageError for other `bits`.
        """
        if bits not in BYTES_PER_WEIGHT:
            raise UsageError(f"weights of {bits} bits are not known", hint=f"use {', '.join(BYTES_PER_WEIGHT)}")
        wide = max(2.0, BYTES_PER_WEIGHT[bits])
        weights = self.layer_weights * BYTES_PER_WEIGHT[bits] + self.hidden * self.vocabulary * wide
        return ModelShape(name, weights, 2 * self.layers * self.kv_heads * self.head_size * wide)


KNOWN = {
    "llama-3.1-8b": Dimensions(32, 4096, 14336, 32, 8, 128, 128256),
    "llama-3.2-3b": Dimensions(28, 3072, 8192, 24, 8, 128, 128256),
    "qwen2.5-7b": Dimensions(28, 3584, 18944, 28, 4, 128, 152064),
    "qwen2.5-14b": Dimensions(48, 5120, 13824, 40, 8, 128, 152064),
    "qwen3-4b": Dimensions(36, 2560, 9728, 32, 8, 128, 151936),
    "smollm2-135m": Dimensions(30, 576, 1536, 9, 3, 64, 49152),
}
"""Published dimensions; for these no file is read."""


def find_dimensions(model: str) -> Dimensions:
    """Of a known name, else of a model on this machine: nothing is fetched for a calculation.

    Raises what finding a model raises, and UnsupportedModelError for one that is not dense.
    """
    known = KNOWN.get(model.lower())
    if known is not None:
        return known
    from spsl_cli import models  # noqa: PLC0415 seconds

    try:
        source = models.resolve(model, offline=True)
    except ModelUnavailableError as error:
        hint = f"'spsl models pull' fetches it; known without are {', '.join(KNOWN)}"
        raise ModelUnavailableError(f"{model} is not on this machine", hint=hint) from error
    return dimensions_of(models.load_config(source.path))


def dimensions_of(config: PreTrainedConfig) -> Dimensions:
    """From a configuration of Hugging Face. UnsupportedModelError where forwards do not read all weights, or not so."""
    text = config.get_text_config(decoder=True)
    if any(getattr(text, name, None) for name in ("num_experts", "num_local_experts", "n_routed_experts")):
        raise UnsupportedModelError(f"a {text.model_type} model reads only some of its weights", hint="use a dense one")
    try:
        heads = text.num_attention_heads
        return Dimensions(
            text.num_hidden_layers,
            text.hidden_size,
            text.intermediate_size,
            heads,
            getattr(text, "num_key_value_heads", None) or heads,
            getattr(text, "head_dim", None) or text.hidden_size // heads,
            text.vocab_size,
        )
    except AttributeError as error:
        raise UnsupportedModelError(f"the dimensions of this {text.model_type} model are not told ({error})") from error
