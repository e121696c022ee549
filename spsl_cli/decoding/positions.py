"""Up to which positions can a model be followed exactly?

Most rotary embeddings (linear, YaRN, llama3 scaling too) turn a position the same way whatever stands behind it. Two
kinds do not:

- "longrope" takes other frequencies for a whole forward once a position in it reaches
  `original_max_position_embeddings`. Prompts beyond that limit must go through in one forward; an output that crosses
  it is refused, since the rows before would have to be computed again, and so is a batch on both sides of it.
- "dynamic" (NTK) changes its frequencies with every position past the limit: a verify of several rows would turn them
  all like its last one.

Tables of positions, learned or computed once, simply end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedConfig

from spsl_cli.errors import UnsupportedModelError


def check_positions(config: PreTrainedConfig, prompts: Sequence[int], ends: Sequence[int]) -> None:
    """Raise UnsupportedModelError if prompts of these lengths, decoded together up to these ends, are not exact."""
    for kind, limit in _limits(config):
        if max(ends) <= limit or (kind == "longrope" and min(prompts) > limit):
            continue
        hint = f"shorten prompt and output to {limit} tokens together"
        if kind == "longrope" and max(prompts) > limit:
            hint = f"decode prompts of more than {limit} tokens apart from the others"
        raise UnsupportedModelError(
            f"{config.model_type} with {kind} positions is exact up to {limit} of them, but prompt and output need "
            f"{max(ends)}",
            hint=hint,
        )


def prefill_in_one(config: PreTrainedConfig, prompt: int) -> bool:
    """Whether a prompt of that length has to go through in one forward."""
    return any(kind == "longrope" and prompt > limit for kind, limit in _limits(config))


def exact_positions(config: PreTrainedConfig) -> int | None:
    """How many positions can be followed whatever the chunks they come in; None for any number."""
    return min((limit for _, limit in _limits(config)), default=None)


def _limits(config: PreTrainedConfig) -> list[tuple[str, int]]:
    """Every way of telling positions that depends on how many there are, and up to where it does not."""
    text = config.get_text_config(decoder=True)
    parameters: dict[str, Any] = getattr(text, "rope_parameters", None) or {}
    if not parameters:
        table = getattr(text, "max_position_embeddings", None)
        return [("tabulated", int(table))] if table else []
    sets = [parameters] if "rope_type" in parameters else [part for part in parameters.values() if part]
    limits = []
    for part in sets:
        if part.get("rope_type") == "longrope":
            limits.append(("longrope", int(part["original_max_position_embeddings"])))
        elif part.get("rope_type") == "dynamic":
            limits.append(("dynamic", int(text.max_position_embeddings)))
    return limits
