"""What every test runs under: no user settings, no network but pip's, one thread for tiny models."""

from __future__ import annotations

import os

import pytest

for name in [name for name in os.environ if name.startswith("SPSL_")]:
    if name != "SPSL_CACHE_DIR" and not name.startswith("SPSL_TEST_"):
        del os.environ[name]
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["SPSL_HISTORY"] = "off"
os.environ["SPSL_CACHE"] = "off"  # nothing of a test is left in the user's cache, and nothing of it is used


def pytest_make_parametrize_id(val, argname):
    """Files made for a test may hold the time of day: their names must be the same in every worker."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Threads only get in each other's way at these sizes, most of all on a busy machine."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)


@pytest.fixture
def cheap(monkeypatch):
    """Drafts seem cheap, and what they lose on tiny models is not held against them: every proposer has its turn."""
    from spsl_cli.decoding import engine  # noqa: PLC0415 torch is not for every test
    from spsl_cli.decoding.controllers.calibrated import CalibratedController  # noqa: PLC0415

    monkeypatch.setattr(engine, "StepCosts", cheap_costs)
    monkeypatch.setattr(CalibratedController, "account", lambda *_: None)


@pytest.fixture
def draft_from_the_start(monkeypatch):
    """No plain steps first: outputs here are so short that they would be all."""
    from spsl_cli.decoding import engine  # noqa: PLC0415

    monkeypatch.setattr(engine, "PLAIN_STEPS", 0)


def cheap_costs(*_, **__):
    """Costs that no measured draft changes."""
    from spsl_cli.decoding.costs import StepCosts  # noqa: PLC0415
    from tests.models import CHEAP  # noqa: PLC0415

    costs = StepCosts(CHEAP, settled=True)
    costs.observe_verify = costs.observe_draft = costs.observe_refresh = lambda *_, **__: None
    return costs
