"""What every test runs under: no user settings, no network but pip's, one thread for tiny models."""

from __future__ import annotations

import os

import pytest

for name in [
    name for name in os.environ if name.startswith("SPSL_") and name not in ("SPSL_CACHE_DIR", "SPSL_TEST_DOCUMENTS")
]:
    del os.environ[name]
os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Threads only get in each other's way at these sizes, most of all on a busy machine."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
