"""The paper's experiments, and those that its claims call for, each as a plan of cells; measured the same way."""

from __future__ import annotations

from spsl_cli.bench.suites.running import run_suite

__all__ = ["run_suite"]
