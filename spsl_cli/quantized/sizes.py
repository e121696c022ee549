"""What a weight of few bits takes in memory, by `--quantize`'s names. Arithmetic alone: torch is not imported."""

from __future__ import annotations

GROUP = 32
"""Weights that share a scale."""

BITS = {"8bit": 8, "4bit": 4}
_SCALES = {8: 1, 4: 2}  # float32 numbers a group: the scale; with 4 bits the least weight too


def bytes_per_weight(bits: int) -> float:
    """Of a weight of so many bits, with its share of what its group keeps."""
    return bits / 8 + 4 * _SCALES[bits] / GROUP
