"""How long to draft, and from where: controllers of one engine."""

from __future__ import annotations

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.controllers.adaedl import AdaEdlController
from spsl_cli.decoding.controllers.base import Controller, Drafted, Evidence, Plan, Source
from spsl_cli.decoding.controllers.calibrated import CalibratedController
from spsl_cli.decoding.controllers.disco import ConfidenceController
from spsl_cli.decoding.controllers.entropy import EntropyController
from spsl_cli.decoding.controllers.fixed import FixedController
from spsl_cli.decoding.controllers.lookup_only import LookupOnlyController
from spsl_cli.decoding.controllers.stopping import StoppingRule
from spsl_cli.decoding.controllers.svip import SvipController
from spsl_cli.decoding.costs import StepCosts

__all__ = ["Controller", "Drafted", "Evidence", "Plan", "Source", "make_controller"]

RULES: dict[str, type[StoppingRule]] = {
    "disco": ConfidenceController,
    "adaedl": AdaEdlController,
    "svip": SvipController,
}
"""Published stopping rules, which know no costs."""


def make_controller(config: DecodeConfig, costs: StepCosts) -> Controller:
    """The controller that the configuration names; an integer k fixes the length."""
    if config.k != "auto":
        return FixedController(config.k)
    if config.controller == "lookup-only":
        return LookupOnlyController()
    if config.controller in RULES:
        return RULES[config.controller]()
    return CalibratedController(costs) if config.controller == "calibrated" else EntropyController(costs)
