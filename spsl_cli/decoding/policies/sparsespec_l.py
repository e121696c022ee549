"""SparseSpec-L (arXiv 2607.27735): sink, important and recent positions, one index a KV head, chosen anew every round.

The paper has an index for each query head; here the mass is summed over the query heads that share a KV head, so that a
gathered row is read once for all of them. `per_query_head` is the other way.
"""

from __future__ import annotations

from spsl_cli.decoding.policies.base import IndexPolicy


class SparseSpecL(IndexPolicy):
    """Eq. 4 with one index a KV head: what every policy does unless it says otherwise."""
