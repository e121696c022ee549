"""`spsl doctor`: what this machine can run, with which versions, and where each setting comes from."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from spsl_cli.cli.options import AsJson, Debug, with_settings
from spsl_cli.config import NAMES, Settings, config_file
from spsl_cli.decoder_settings import decode_config
from spsl_cli.environment import unknown_variables
from spsl_cli.errors import ModelUnavailableError
from spsl_cli.machine import available_memory
from spsl_cli.outlook import Outlook, make_outlook
from spsl_cli.render import Streams, render_table, write_json, write_warning
from spsl_cli.session import cpu_kernels

PACKAGES = ("spsl", "torch", "transformers", "accelerate", "safetensors", "pypdf", "rich", "typer")
PLAN_LENGTHS = (2_048, 8_192, 32_768, 131_072)
MIB = 2**20


@with_settings
def doctor(
    *,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
    settings: Settings,
) -> None:
    """Show the device, versions, every setting with its origin, and a memory plan by context length.

    Example: spsl doctor --json
    """
    from spsl_cli import models  # noqa: PLC0415 seconds

    decode_config(settings)
    models.check_quantization(settings.quantize)
    device = models.pick_device(settings.device)
    dtype = models.pick_dtype(settings.dtype, device)
    try:
        outlook = make_outlook(settings)
        device, model, plan = outlook.facts.device, _model(outlook), _plan(outlook)
    except ModelUnavailableError as error:  # the rest is worth knowing all the same
        model, plan = {"error": str(error)}, []
    report: dict[str, Any] = {
        "schema": "spsl.doctor/1",
        "device": device,
        "dtype": dtype,
        "available_memory": available_memory(device),
        "cpu_kernels": cpu_kernels(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "settings": {name: {"value": getattr(settings, name), "origin": settings.origin[name]} for name in NAMES},
        "config_file": str(config_file()),
        "model": model,
        "plan": plan,
        "warnings": unknown_variables(os.environ),
    }
    streams = Streams.detect()
    for warning in report["warnings"]:
        write_warning(streams, warning)
    if as_json:
        write_json(streams, report)
    else:
        _show(streams, report)


def _model(outlook: Outlook) -> dict[str, Any]:
    """Facts of the model that would be used."""
    source = outlook.source
    return {
        "id": source.id,
        "path": str(source.path),
        "reason": source.reason,
        "context_length": outlook.context_length,
        "longest_context": outlook.longest_context,
    }


def _plan(outlook: Outlook) -> list[dict[str, Any]]:
    """What the model takes in memory by context length, in bytes; at last the longest that fits, if not all do."""
    limit, longest = outlook.context_length, outlook.longest_context
    lengths = {*(length for length in PLAN_LENGTHS if length < limit), limit, longest or limit}
    plan = []
    for length in sorted(lengths):
        parts = outlook.plan(length)
        fits = None if outlook.available is None else parts.fits(outlook.available)
        plan.append({**asdict(parts), "total": parts.total, "fits": fits, "prefill_chunk": outlook.chunk(length)})
    return plan


def _show(streams: Streams, report: dict[str, Any]) -> None:
    free = report["available_memory"]
    machine = {
        "device": f"{report['device']}, {report['dtype']}",
        "CPU kernels": report["cpu_kernels"],
        "free memory": "-" if free is None else f"{free / MIB:,.0f} MiB",
        "model": report["model"].get("error") or f"{report['model']['id']} ({report['model']['reason']})",
        "longest context that fits": _count(report["model"].get("longest_context")),
        **report["versions"],
    }
    render_table(streams, "machine", ("what", "value"), list(machine.items()))
    settings = [(name, entry["value"], entry["origin"]) for name, entry in report["settings"].items()]
    render_table(streams, f"settings (file: {report['config_file']})", ("name", "value", "from"), settings)
    parts = ("weights", "kv", "draft_view", "importance", "pending", "workspace", "total")
    rows = [
        (
            f"{plan['tokens']:,}",
            *(f"{plan[part] / MIB:,.0f}" for part in parts),
            f"{plan['prefill_chunk']:,}",
            {True: "yes", False: "no"}.get(plan["fits"], "-"),
        )
        for plan in report["plan"]
    ]
    render_table(streams, "memory by context length (MiB)", ("tokens", *parts, "chunk", "fits"), rows)


def _count(tokens: int | None) -> str:
    return "-" if tokens is None else f"{tokens:,} tokens"
