"""Quest (Tang et al. 2024, arXiv 2406.10774): whole pages of keys, by a bound on what the query could find in them.

As in the paper: pages of 16 keys; of each the smallest and the largest value in every channel; a page's score is the
sum over channels of max(q * smallest, q * largest), which no key of the page exceeds; the pages of the highest scores
are read whole, and the last page always. Ours: a draft reads one choice of pages for the whole round, made before it by
the query of the last committed position, where Quest chooses anew for every token by its own query; the scores are
summed over the query heads that share a KV head; the first two layers are not left dense; and of the lowest page chosen
only so many rows are read as the budget has left.
"""

from __future__ import annotations

import torch

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.kv_cache import LayerCache
from spsl_cli.decoding.policies.base import Counted, IndexPolicy

PAGE = 16
"""Positions of a page."""


class PageBounds:
    """The smallest and the largest value of every channel in each page of keys [Hkv, capacity, D]: [Hkv, pages, D].

    A sixteenth of the memory of the dense rows.
    """

    def __init__(self, keys: torch.Tensor) -> None:
        heads, capacity, size = keys.shape
        shape = (heads, -(-capacity // PAGE), size)
        self.smallest, self.largest = keys.new_empty(shape), keys.new_empty(shape)
        self._known = 0

    def extend(self, keys: torch.Tensor, length: int) -> None:
        """Take in the committed keys up to `length`: from the page on that was not complete the last time."""
        whole, pages = length // PAGE, -(-length // PAGE)
        first = self._known // PAGE
        if first < whole:
            paged = keys[:, first * PAGE : whole * PAGE].reshape(len(keys), whole - first, PAGE, -1)
            self.smallest[:, first:whole], self.largest[:, first:whole] = paged.amin(2), paged.amax(2)
        if whole < pages:
            rest = keys[:, whole * PAGE : length]
            self.smallest[:, whole], self.largest[:, whole] = rest.amin(1), rest.amax(1)
        self._known = length

    def scores(self, query: torch.Tensor, length: int) -> torch.Tensor:
        """Bounds on what query [Hkv, G, D] makes of the first `length` keys: [Hkv, G, pages], float32 or better."""
        pages = -(-length // PAGE)
        wide = torch.promote_types(query.dtype, torch.float32)
        query = query.to(wide)
        smallest, largest = (part[:, :pages].to(wide).transpose(1, 2) for part in (self.smallest, self.largest))
        return torch.baddbmm(query.clamp_min(0.0) @ largest, query.clamp_max(0.0), smallest)


class Quest(IndexPolicy):
    """Pages by their bounds, kept up as positions are committed."""

    counts = Counted.LAST_QUERY

    def __init__(self, config: DecodeConfig, layers: int = 1) -> None:
        super().__init__(config, layers)
        self._bounds: dict[tuple[int, int], PageBounds] = {}

    def scores(self, layer: int, sequence: int, rows: LayerCache, length: int) -> torch.Tensor:
        """The bound of its page for every position: [Hkv, length]."""
        keys = rows.dense.keys[sequence]
        if (layer, sequence) not in self._bounds:
            self._bounds[layer, sequence] = PageBounds(keys)
        bounds = self._bounds[layer, sequence]
        bounds.extend(keys, length)
        query = rows.pending[sequence].query[:, -1]  # [Hq, D]
        return (
            bounds.scores(query.reshape(len(keys), -1, query.shape[1]), length)
            .sum(1)
            .repeat_interleave(PAGE, 1)[:, :length]
        )

    def select(self, layer: int, sequence: int, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        """The last page, and the best of the others: scores [Hkv, length] -> [Hkv, budget.total]."""
        heads, length = scores.shape
        total = self.budget(length).total
        begin = (length - 1) // PAGE * PAGE  # of the last page
        last = torch.arange(length - min(total, length - begin), length, device=scores.device).expand(heads, -1)
        wanted = total - last.shape[1]
        pages = scores[:, :begin:PAGE].topk(-(-wanted // PAGE), dim=1).indices
        others = (pages[:, :, None] * PAGE + torch.arange(PAGE, device=scores.device)).flatten(1)
        return torch.cat((others[:, :wanted], last), dim=1)
