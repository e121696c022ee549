"""Between two drafts: count the attention mass of what was committed, rebuild the index, gather the sparse view."""

from __future__ import annotations

from spsl_cli.decoding.attention import attention_mass
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.sparse_index import Budget, select_positions


def count_mass(cache: DecoderCache, sequence: int) -> None:
    """Add the mass of the committed queries not counted yet to the importance of every layer (Eq. 3)."""
    length = cache.lengths[sequence]
    for layer in cache.layers:
        pending = layer.pending.pop(sequence, None)
        if pending is None:
            continue
        keys = layer.dense.keys[sequence, :, :length]
        layer.importance.add(sequence, attention_mass(pending.query, pending.lse, keys, layer.scaling))


def refresh_view(cache: DecoderCache, sequence: int, budget: Budget) -> None:
    """Select the positions of every layer and KV head and gather their rows (Eq. 4, 5)."""
    length = cache.lengths[sequence]
    for layer in cache.layers:
        positions = select_positions(layer.importance.scores(sequence, length), budget)
        layer.gather(sequence, positions)
    cache.sparse_sizes[sequence] = budget.total
