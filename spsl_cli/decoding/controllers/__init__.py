"""How long to draft, and from where: controllers of one engine."""

from __future__ import annotations

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.controllers.base import Controller, Drafted, Evidence, Plan, Source
from spsl_cli.decoding.controllers.calibrated import CalibratedController
from spsl_cli.decoding.controllers.entropy import EntropyController
from spsl_cli.decoding.controllers.fixed import FixedController
from spsl_cli.decoding.costs import StepCosts

__all__ = ["Controller", "Drafted", "Evidence", "Plan", "Source", "make_controller"]


def make_controller(config: DecodeConfig, costs: StepCosts) -> Controller:
    """The controller that the configuration names; an integer k fixes the length."""
    if config.k != "auto":
        return FixedController(config.k)
    return CalibratedController(costs) if config.controller == "calibrated" else EntropyController(costs)
