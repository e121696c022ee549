"""The check as a command: its options, its exit code, and where its output goes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from spsl_cli.errors import ModelUnavailableError, SpslError

SECONDS = 330.0
"""Measuring stops after five and a half minutes; what is under way is finished."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check; returns the exit code: 0, 1 where a kernel is wrong, 5 where there is no GPU to check.

    arguments: those of the command line, None takes the process's own.
    """
    parser = argparse.ArgumentParser(prog="python -m spsl_cli.bench.gpu_check", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="a tiny model, on the CPU where there is no GPU")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="stop measuring after so long [330]")
    options = parser.parse_args(arguments)
    try:
        report = _checked(tiny=options.tiny, seconds=options.seconds)
    except SpslError as error:
        sys.stderr.write(f"spsl: error: {error}\n")
        return int(error.exit_code)
    return 0 if all(kernel["ok"] for kernel in report["kernels"]) else 1


def _checked(*, tiny: bool, seconds: float) -> dict[str, Any]:
    import torch  # noqa: PLC0415 seconds

    from spsl_cli.bench.gpu_check.check import run_check  # noqa: PLC0415
    from spsl_cli.bench.gpu_check.report import show  # noqa: PLC0415

    if not (tiny or torch.cuda.is_available()):
        raise ModelUnavailableError(
            "the GPU check needs a CUDA device, and torch sees none", hint="--tiny runs it small, on the CPU"
        )
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    report = run_check(device, tiny=tiny, seconds=seconds, tell=_tell)
    show(report)
    sys.stdout.write(json.dumps(report, allow_nan=False) + "\n")
    return report


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
