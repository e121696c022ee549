"""Between two drafts: count the attention mass of what was committed, rebuild the index, gather the sparse view."""

from __future__ import annotations

import torch

from spsl_cli.decoding import kernels as triton_kernels
from spsl_cli.decoding.attention import attention_mass
from spsl_cli.decoding.forward_state import PendingQueries
from spsl_cli.decoding.kv_cache import JOINING, DecoderCache, LayerCache
from spsl_cli.decoding.policies import Counted, IndexPolicy
from spsl_cli.native import kernels


def count_mass(cache: DecoderCache, sequence: int, policy: IndexPolicy, counted: int | None = None) -> None:
    """Add the mass of the queries that wait, the last `counted` of them, to the importance of every layer (Eq. 3)."""
    if not policy.counts_mass:
        return
    length = cache.lengths[sequence]
    for layer in cache.drafting_layers:
        waiting = layer.pending.pop(sequence, None)
        if waiting is None:
            continue
        if counted is not None and policy.counts is Counted.COMMITTED:
            waiting = waiting.last(counted)
        mass = mass_of(layer, waiting, layer.dense.keys[sequence, :, : waiting.end], policy.per_query_head)
        if policy.counts is Counted.LAST_VERIFY:
            layer.importance.clear(sequence)
        layer.importance.add(sequence, mass[..., :length])


def drop_waiting(cache: DecoderCache, sequence: int) -> None:
    """The queries of this sequence that wait to be counted never will be."""
    for layer in cache.drafting_layers:
        layer.pending.pop(sequence, None)


def refresh_view(cache: DecoderCache, sequence: int, policy: IndexPolicy) -> None:
    """Select the positions of every layer and head and gather their rows (Eq. 4, 5)."""
    length, covered = cache.lengths[sequence], []
    size = policy.budget(length).total
    for number, layer in enumerate(cache.drafting_layers):
        scores = policy.scores(number, sequence, layer, length)
        positions = policy.select(number, sequence, scores)
        layer.gather(sequence, positions)
        layer.shifts[sequence] = positions.shape[1] - size
        if policy.counts_mass:
            covered.append(scores.gather(1, positions).sum() / scores.sum().clamp_min(1e-30))
    cache.sparse_sizes[sequence] = size
    cache.viewed[sequence], cache.joined[sequence] = length, 0
    together = [share.to(covered[0].device) for share in covered]  # layers may lie on several devices
    cache.coverage[sequence] = float(torch.stack(together).mean()) if covered else 1.0


def extend_view(cache: DecoderCache, sequence: int) -> None:
    """Let what was committed since the last refresh join the view, as it is."""
    start, end, slot = cache.viewed[sequence], cache.lengths[sequence], cache.sparse_sizes[sequence]
    if start == end:
        return
    for layer in cache.drafting_layers:
        layer.append(sequence, slot, slice(start, end))
    cache.sparse_sizes[sequence] += end - start
    cache.joined[sequence] += end - start
    cache.viewed[sequence] = end


def can_be_extended(cache: DecoderCache, sequence: int) -> bool:
    """Whether there is room in the view for what was committed since."""
    return cache.joined[sequence] + cache.lengths[sequence] - cache.viewed[sequence] <= JOINING


def mass_of(layer: LayerCache, queries: PendingQueries, keys: torch.Tensor, per_query_head: bool) -> torch.Tensor:
    """Mass [w, H, n] of these queries on `keys` at least: known from their forward, else by the kernel that suits."""
    if queries.mass is not None:
        return queries.mass
    query, lse, scale, cap = queries.query, queries.lse, layer.scaling, layer.softcap
    if kernels.suits(query, keys, softcap=cap):
        return kernels.attention_mass(query, lse, keys, scale, per_query_head=per_query_head)
    if triton_kernels.suits(query, keys):
        return triton_kernels.attention_mass(query, lse, keys, scale, softcap=cap, per_query_head=per_query_head)
    return attention_mass(query, lse, keys, scale, softcap=cap, per_query_head=per_query_head)
