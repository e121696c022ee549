"""What the queries of a prompt attended to, all of them: for an importance that begins with the prompt's first query.

The prefill keeps its last queries only, and rows that are used again come without any. So the prompt is run once more,
piece by piece over the rows that are there, which are put back bit for bit; memory is bounded by a piece's queries and
a block of their mass. It costs about a prefill and one more product of queries and keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import torch

from spsl_cli.decoding.forward_state import PendingQueries
from spsl_cli.decoding.kv_cache import DecoderCache, LayerCache
from spsl_cli.decoding.refresh import mass_of
from spsl_cli.decoding.target import TargetModel

BLOCK = 16
"""Queries whose mass is held at once."""


class PromptMass:
    """That of every prompt of a run, once a policy has wanted it, for all decodings from there."""

    def __init__(self) -> None:
        self._masses: list[list[torch.Tensor]] = []

    def add(
        self,
        target: TargetModel,
        cache: DecoderCache,
        prompts: Sequence[Sequence[int]],
        ends_of: Callable[[int], Sequence[int]],
    ) -> None:
        """Let the importance begin with it. `ends_of` a length: where the pieces end in which a prompt is run."""
        for sequence, prompt in enumerate(prompts):
            if len(self._masses) == sequence:
                pieces = pairwise([0, *ends_of(len(prompt))])
                self._masses.append(prompt_mass(target, cache, sequence, prompt, pieces))
            add_prompt_mass(cache, sequence, self._masses[sequence])


def prompt_mass(
    target: TargetModel,
    cache: DecoderCache,
    sequence: int,
    prompt: Sequence[int],
    pieces: Iterable[tuple[int, int]],
) -> list[torch.Tensor]:
    """The attention mass of all queries of a prefilled prompt, summed: [Hkv, T] float32 for each layer with a view.

    pieces: (begin, end) of each forward, one behind the other. Rows, lengths and waiting queries stay what they were.
    """
    keys = [layer.dense.keys for layer in cache.drafting_layers]
    totals = [torch.zeros(part.shape[1], len(prompt), device=part.device) for part in keys]
    length = cache.lengths[sequence]
    with torch.inference_mode():
        for begin, end in pieces:
            own = slice(begin, end)
            before = [[store[sequence, :, own].clone() for store in layer.dense] for layer in cache.layers]
            cache.lengths[sequence] = begin
            try:
                ids = torch.tensor([list(prompt[own])], device=target.device)
                target.dense_forward(cache, ids, (sequence,), keep=end - begin, logits=1)
            finally:
                cache.lengths[sequence] = length
                for layer, stores in zip(cache.layers, before, strict=True):
                    for store, rows in zip(layer.dense, stores, strict=True):
                        store[sequence, :, own] = rows
            for layer, total in zip(cache.drafting_layers, totals, strict=True):
                _add(total, layer, sequence, layer.kept.pop(sequence))
    return totals


def add_prompt_mass(cache: DecoderCache, sequence: int, masses: Sequence[torch.Tensor]) -> None:
    """Let the importance of every layer begin with it; the prompt's queries that wait are among those counted."""
    for layer, mass in zip(cache.drafting_layers, masses, strict=True):
        layer.pending.pop(sequence, None)
        layer.importance.clear(sequence)
        layer.importance.add(sequence, mass[None])


def _add(total: torch.Tensor, layer: LayerCache, sequence: int, queries: PendingQueries) -> None:
    """Add the mass of these queries to total [Hkv, T], block by block."""
    count = queries.query.shape[1]
    for first in range(0, count, BLOCK):
        rows = min(BLOCK, count - first)
        part = queries.until(queries.end - count + first + rows).last(rows)
        keys = layer.dense.keys[sequence, :, : part.end]
        total[:, : part.end] += mass_of(layer, part, keys, per_query_head=False).sum(0)
