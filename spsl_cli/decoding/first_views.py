"""The first sparse views of a run: when they come with the prefill, and how they are made."""

from __future__ import annotations

from collections.abc import Sequence

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.policies import IndexPolicy
from spsl_cli.decoding.refresh import count_mass, refresh_view
from spsl_cli.decoding.row import RowRequest

READ_AT_LEAST = 0.25
"""Of the positions, so many the prefill has to have read itself: views take about as long as reading thirty tokens,
which is nothing beside it then."""


def come_with_prefill(config: DecodeConfig, requests: Sequence[RowRequest], read: float) -> bool:
    """Where the controller has to weigh what a first draft costs, unless it has no times to weigh.

    Where tokens are drawn, these hang on the drafts, and must not on what was read before. `read`: share of the
    positions that this prefill has read.
    """
    return (
        config.speculation
        and config.is_economical
        and read > READ_AT_LEAST
        and all(request.greedy for request in requests)
    )


def make_views(cache: DecoderCache, policy: IndexPolicy) -> None:
    """A view of every sequence, by the attention of its prompt's last queries."""
    for sequence in range(len(cache.lengths)):
        count_mass(cache, sequence, policy)
        refresh_view(cache, sequence, policy)
