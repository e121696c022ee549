"""One self-contained check of the GPU path: models of random weights, timed against what memory allows.

`python -m spsl_cli.bench.gpu_check` prints a table and, last, one JSON line. Needs no network and no model's files.
Importing this package does not import torch.
"""

from __future__ import annotations

from spsl_cli.bench.gpu_check.command import main

__all__ = ["main"]
