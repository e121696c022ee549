"""Every figure of the report that is computed, not measured: bytes, times, acceptance, speedups.

Plain floats and the standard library; knows nothing of PDF, models or the decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp


@dataclass(frozen=True)
class Model:
    """What decides the memory traffic of a decoder-only model.

    `parameters` counts weights, `weight_bits` is the mean number of bits of one of them, `number_bytes` the size of one
    number in the KV cache.
    """

    name: str
    layers: int
    kv_heads: int
    head_dim: int
    number_bytes: int
    parameters: int
    weight_bits: float

    @property
    def kv_bytes_per_token(self) -> int:
        """Keys and values of one position, all layers, in bytes."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.number_bytes

    @property
    def weight_bytes(self) -> float:
        return self.parameters * self.weight_bits / 8

    @property
    def break_even_context(self) -> int:
        """The context length in tokens at which the KV cache is as large as the weights."""
        return round(self.weight_bytes / self.kv_bytes_per_token)

    def step_bytes(self, context: int, share: float = 1.0) -> float:
        """Bytes read for one token: all weights and `share` of the KV rows of `context` positions."""
        return self.weight_bytes + share * context * self.kv_bytes_per_token

    def draft_cost(self, context: int, share: float) -> float:
        """The relative draft cost gamma, from bytes alone: a draft step over a full step."""
        return self.step_bytes(context, share) / self.step_bytes(context)


SMOLLM = Model("SmolLM2-135M, fp32", 30, 3, 64, 4, 134_515_008, 32)
LLAMA = Model("Llama-3.1-8B, bf16", 32, 8, 128, 2, 8_030_261_248, 16)
# Four bits a weight and a 16-bit scale for each block of 32 weights make 4.5 bits.
LLAMA_4BIT = Model("Llama-3.1-8B, 4-bit weights", 32, 8, 128, 2, 8_030_261_248, 4.5)


def speedup(accepted_share: float, draft_cost: float, k: int) -> float:
    """Eq. 1: throughput against plain decoding, if a verification costs as much as a plain step."""
    return (1 + accepted_share * k) / (1 + draft_cost * k)


def expected_accepted(probabilities: Sequence[float]) -> float:
    """How many drafts stand on average if draft i is right with probability i once those before it were."""
    total, prefix = 0.0, 1.0
    for probability in probabilities:
        prefix *= probability
        total += prefix
    return total


def ideal_speedup(per_token: float, draft_cost: float, k: int) -> float:
    """Eq. 1 with the accepted share that a constant per-token acceptance gives at draft length k."""
    return speedup(expected_accepted([per_token] * k) / k, draft_cost, k)


def best_k(value: Callable[[int], float], longest: int = 64) -> int:
    """The draft length of 1..`longest` with the greatest `value`."""
    return max(range(1, longest + 1), key=value)


def best_speedup(per_token: float, draft_cost: float) -> tuple[float, int]:
    """The greatest ideal speedup over all draft lengths, and the length that gives it."""
    k = best_k(lambda k: ideal_speedup(per_token, draft_cost, k))
    return ideal_speedup(per_token, draft_cost, k), k


def per_token_acceptance(accepted_share: float, k: int) -> float:
    """The constant per-token acceptance that explains an accepted share at draft length k (bisection)."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if expected_accepted([middle] * k) / k < accepted_share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def entropy_acceptance(entropy: float, mean_accepted: float, mean_rejected: float) -> float:
    """Eq. 7: nearness of an entropy (nats) to the means of the accepted and of the rejected drafts."""
    accepted, rejected = exp(-abs(entropy - mean_accepted)), exp(-abs(entropy - mean_rejected))
    return accepted / (accepted + rejected)


def tokens_per_second(probability: float, k: int, draft_ms: float, verify_ms: float) -> float:
    """The quantity that Eq. 8 maximises, at a constant probability: expected tokens per second of a round."""
    return 1000 * (1 + expected_accepted([probability] * k)) / (k * draft_ms + verify_ms)


def commit_probabilities(p: Sequence[float], q: Sequence[float]) -> tuple[list[float], list[float], list[float]]:
    """Speculative sampling over one token: probability of (accepted, redrawn, either), each by token.

    `p` is the target's distribution, `q` the draft's; the third list equals `p` again, which is the point.
    """
    accepted = [min(a, b) for a, b in zip(p, q, strict=True)]
    surplus = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    rejected = 1 - sum(accepted)
    redrawn = [rejected * part / sum(surplus) if rejected else 0.0 for part in surplus]
    return accepted, redrawn, [a + b for a, b in zip(accepted, redrawn, strict=True)]
