"""How much a run allocates: positions of the cache, slots of the view, rows that wait, and a prefill's chunk.

What `run.py` takes and what a memory plan counts are the same numbers, found here. Allocates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spsl_cli.decoding.config import K_MAX, STRICT_BLOCK, STRICT_ROWS, DecodeConfig
from spsl_cli.decoding.engine import MASS_ROWS
from spsl_cli.decoding.kv_cache import JOINING, DraftSizes
from spsl_cli.decoding.policies import Counted, make_policy
from spsl_cli.decoding.prefix import CHUNK
from spsl_cli.machine import available_memory
from spsl_cli.model_shape import ALLOCATOR, FLOAT32, LayerShape, layer_shapes, prefill_workspace

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

LEAST_CHUNK = 64
"""Below, a forward costs as much for fewer tokens."""


def capacity(longest: int, *, strict: bool = False) -> int:
    """Positions that the cache has for a prompt and output of `longest` together.

    Rows that are run to fill a shape, beside longer drafts of other rows or in strict mode, need room too.
    """
    room = longest + STRICT_ROWS
    return room + (-room % STRICT_BLOCK if strict else 0)


def draft_sizes(config: DecodeConfig, positions: int, layers: int) -> DraftSizes:
    """What each of `layers` layers with a view allocates for drafting, in a cache of so many positions."""
    policy = make_policy(config, layers)
    slots = policy.largest(positions) + 2 * K_MAX  # a row's guesses may fill up those of another
    slots += JOINING if config.refresh_every > 1 or config.is_economical else 0
    decayed = config.importance == "decayed" and policy.counts is Counted.COMMITTED  # the others count once
    return DraftSizes(slots, policy.per_query_head, policy.window, decayed, summed=policy.counts is Counted.EVERY)


def importance_bytes(sizes: DraftSizes) -> int:
    """Bytes of the importance by position and head: a running sum in float32, with the rows it is over in float16."""
    if not sizes.window:
        return 0
    return 4 if sizes.decayed or sizes.summed else 4 + 2 * sizes.window


def held_mass_rows(config: DecodeConfig) -> int:
    """Of how many tokens the attention mass on all positions may be held from one round to the next."""
    policy = make_policy(config)
    soon = config.refresh_every == 1 or policy.counts is Counted.EVERY
    if not (config.speculation and policy.counts_mass and policy.counts is not Counted.PROMPT and soon):
        return 0
    return MASS_ROWS if config.k == "auto" else (config.k + 1 if config.k < MASS_ROWS else 0)


def is_fused(shapes: Sequence[LayerShape], config: PreTrainedConfig, device: str) -> bool:
    """Whether a prefill's attention holds no scores, on this kind of device."""
    text = config.get_text_config(decoder=True)
    even = all(shape.key_size == shape.value_size for shape in shapes)
    if device == "cuda":  # in 16 bit, which is what models have there; windows are masks, which flash does not take
        even = even and all(s.sees_all and s.key_size % 8 == 0 and s.key_size <= 256 for s in shapes)  # noqa: PLR2004
    return device in ("cpu", "cuda") and even and getattr(text, "attn_logit_softcapping", None) is None


def prefill_chunk(device: str, free: int | None, workspace: Callable[[int], int]) -> int:
    """How many tokens of a prompt one forward takes: the largest whose workspace fits into `free` bytes.

    A power of two, so that prompts which begin alike are cut alike and rows read before are found again. device: its
    kind. workspace: bytes by chunk. free: None where the system does not tell. Never under `LEAST_CHUNK`, even if that
    does not fit: running out of memory says so better.
    """
    chunk = CHUNK.get(device, CHUNK["cpu"])
    while free is not None and chunk > LEAST_CHUNK and workspace(chunk) > free:
        chunk //= 2
    return chunk


def chunk_of_run(
    config: DecodeConfig, model: PreTrainedConfig, dtype_bytes: int, device: str, positions: int, sequences: int
) -> int:
    """The same for a run whose model is loaded and whose cache is not allocated yet, from the memory free now.

    device: `cpu` or `cuda:N`. positions: of each of so many sequences.
    """
    if config.prefill_chunk is not None:
        return config.prefill_chunk
    shapes, kind, free = layer_shapes(model), device.partition(":")[0], available_memory(device)
    drafted = [shape for shape in shapes if shape.sees_all]
    numbers = sum(shape.position_size for shape in shapes) * positions
    if config.speculation and drafted:
        drafting = draft_sizes(config, positions, len(drafted))
        copies = [shape.query_heads // shape.kv_heads if drafting.per_query_head else 1 for shape in drafted]
        numbers += sum(shape.position_size * n for shape, n in zip(drafted, copies, strict=True)) * drafting.slots
        heads = sum(shape.kv_heads * n for shape, n in zip(drafted, copies, strict=True))
        held = heads * (importance_bytes(drafting) + FLOAT32 * held_mass_rows(config)) * positions
    else:
        held = 0
    left = None if free is None else int(free / ALLOCATOR) - sequences * (numbers * dtype_bytes + held)
    fused = is_fused(shapes, model, kind)
    return prefill_chunk(
        kind, left, lambda chunk: prefill_workspace(model, shapes, dtype_bytes, chunk, positions, fused=fused)
    )
