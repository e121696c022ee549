"""Here the calibrated controller drafts on models so small that it would be right not to."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _cheap_unless_told(request):
    """`real_costs` marks the tests that are about what drafts cost."""
    if "real_costs" not in request.keywords:
        request.getfixturevalue("cheap")
