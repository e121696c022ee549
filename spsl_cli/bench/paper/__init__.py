"""The paper's side: its figures, and which of ours stands against which (arXiv 2607.27735)."""

from __future__ import annotations

from spsl_cli.bench.paper.claims import compare_with_paper
from spsl_cli.bench.paper.figures import PAPER, Figure

__all__ = ["PAPER", "Figure", "compare_with_paper"]
