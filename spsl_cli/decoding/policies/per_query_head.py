"""SparseSpec-L to the letter (arXiv 2607.27735, Eq. 3-5): every query head has an index, and rows, of its own."""

from __future__ import annotations

from spsl_cli.decoding.policies.sparsespec_l import SparseSpecL


class PerQueryHead(SparseSpecL):
    """As SparseSpec-L, with G times the rows to gather and to read."""

    per_query_head = True
