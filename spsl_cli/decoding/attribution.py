"""Which prompt positions an answer's tokens attended to, beyond what draws attention anyway.

Raw attention mass points at nothing useful: the first positions, line ends and what stands near the end take most of
it, whatever is generated. So the mass that the queries behind the answer's tokens gave each position is set against
what the first queries of the request gave it, which know the documents and not yet the question; what exceeds that is
the weight. Both are sums over the heads of all layers that see every position. (Sums of the excess by head, copying
heads, layers chosen, the question's own queries as the measure: all found less, or no more.)

Knows token ids, not what they say. The queries are computed again, some rows at a time, so that the weights do not
depend on how the answer was decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from spsl_cli.decoding.refresh import mass_of
from spsl_cli.decoding.run import DecodingRun

BLOCK = 16
"""Query rows of one forward, and how many queries of the request are taken for what draws attention anyway."""


def attribution(
    run: DecodingRun, token_ids: Sequence[int], spans: Sequence[tuple[int, int]], since: int
) -> torch.Tensor:
    """Weights [n] of the first row's n prompt positions, float32 on the CPU, none negative; 0 outside all `spans`.

    token_ids: the answer, decoded behind this prompt in any way. spans: (start, end) of each document. since: where the
    request begins, behind all of them. A weight is by how much the share of a position in the attention mass on the
    documents is larger for the answer. All 0 where every layer has a sliding window.
    Costs about one verify for each `BLOCK` tokens of the answer, and one for the request.

    Outputs and counters stay what they were; the run is rewound. ValueError for an empty answer or one longer than the
    run has room for, and for a request of fewer than two tokens; RuntimeError before the prefill is complete.
    """
    prompt = run.prompt_ids
    last = len(prompt) - 1
    if not 0 < since < last:
        raise ValueError(f"a request cannot begin at {since} of {len(prompt)} prompt tokens")
    if not 0 < len(token_ids) <= run.max_new_tokens:
        raise ValueError(
            f"an answer of {len(token_ids)} tokens was not decoded by a run with room for 1 to {run.max_new_tokens}"
        )
    with _rewound(run, since):
        drawn = _mean_mass(run, since, prompt[since : min(since + BLOCK, last)])
        # The query that a token comes from stands at the position before it: the first one is the prompt's last.
        given = _mean_mass(run, last, [prompt[last], *token_ids[:-1]])
        return (_shares(given, spans) - _shares(drawn, spans)).clamp_min_(0.0).cpu()


def _shares(mass: torch.Tensor, spans: Sequence[tuple[int, int]]) -> torch.Tensor:
    """The mass [n] on the spans, as parts of their sum: later queries have more positions to give their mass to."""
    inside = torch.zeros_like(mass)
    for start, end in spans:
        inside[start:end] = mass[start:end]
    return inside / inside.sum().clamp_min(torch.finfo(inside.dtype).tiny)


@contextmanager
def _rewound(run: DecodingRun, since: int) -> Iterator[None]:
    """Within, rows from `since` on may be written; afterwards the prompt's are bit for bit what they were."""
    outputs = run.outputs
    run.rewind()
    cache, own = run.cache, slice(since, len(run.prompt_ids))
    with torch.inference_mode():
        before = [[store[0, :, own].clone() for store in layer.dense] for layer in cache.layers]
        try:
            yield
        finally:
            for layer, stores in zip(cache.layers, before, strict=True):
                layer.kept.pop(0, None)
                for store, rows in zip(layer.dense, stores, strict=True):
                    store[0, :, own] = rows
            run.rewind()
            run.outputs = outputs


def _mean_mass(run: DecodingRun, start: int, token_ids: Sequence[int]) -> torch.Tensor:
    """Mass [n] on the prompt's positions in all layers and heads: a mean over the queries of tokens from `start` on."""
    cache, device = run.cache, run.target.device
    total = torch.zeros(len(run.prompt_ids), device=device)
    for first in range(0, len(token_ids), BLOCK):
        part = torch.tensor([token_ids[first : first + BLOCK]], device=device)
        rows = part.shape[1]
        cache.lengths[0] = start + first
        run.target.dense_forward(cache, part, (0,), keep=rows, logits=1)
        for layer in cache.drafting_layers:
            queries = layer.kept.pop(0)
            keys = layer.dense.keys[0, :, : queries.end]
            mass = mass_of(layer, queries, keys, per_query_head=False).sum((0, 1))[: len(total)]
            total[: len(mass)] += mass
    return total / len(token_ids)
