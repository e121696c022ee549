"""Which model to take when the user has named none and there is a GPU. Pure: figures in, a choice out."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_ID = "Qwen/Qwen3-4B-Instruct-2507"
# 8 GB of bf16 weights leave 4 GB at this size for the KV cache of about 25,000 tokens (144 KiB each).
BF16_FROM = 12 * 10**9
# In 4 bit the weights take 2.7 GB; with less memory than this nothing is left for a document.
FOUR_BIT_FROM = 4 * 10**9


@dataclass(frozen=True, slots=True)
class Default:
    """The default model for a device; `id` None means the embedded one."""

    id: str | None
    quantize: str | None
    reason: str


def default_for_cuda(total_bytes: int) -> Default:
    """The default for a CUDA device with `total_bytes` of memory."""
    size = f"the GPU has {total_bytes / 1e9:.1f} GB"
    if total_bytes >= BF16_FROM:
        return Default(DEFAULT_ID, None, f"no model was named and {size}: {DEFAULT_ID} in 16 bit")
    if total_bytes >= FOUR_BIT_FROM:
        return Default(DEFAULT_ID, "4bit", f"no model was named and {size}, under 12 GB: {DEFAULT_ID} in 4 bit")
    return Default(None, None, f"no model was named and {size}, under 4 GB: the embedded model")
