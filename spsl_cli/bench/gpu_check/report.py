"""The check as tables on standard output. Knows the object of the JSON line and nothing of how it was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

STEPS = ("ar", "draft", "verify_4", "verify_8", "verify_16", "refresh")


def show(report: Mapping[str, Any]) -> None:
    """Print what was measured, what was wrong, what was left out."""
    console = Console()
    machine = report["machine"]
    bandwidth = report["bandwidth_bytes_per_s"] / 1e9
    _print(console, f"{machine['device']}, torch {machine['torch']}, copies at {bandwidth:,.0f} GB/s")
    if machine["device"].startswith("cpu"):
        _print(console, "a CPU: that the check runs is all that its times and targets tell")
    _print(console, _kernels_line(report))
    _table(console, "milliseconds a step (share of the bandwidth floor)", ["", *STEPS], map(_times, report["cells"]))
    _table(
        console,
        "rates",
        ["", "launch gap", "host AR/draft ms", "at 0.90: k, x AR, x HF", "at 0.95: k, x AR, x HF"],
        map(_rates, report["cells"]),
    )
    _table(console, "targets", ["what", "limit", "worst", "met"], map(_target, report["targets"]))
    for left in report["left_out"]:
        where = " ".join(str(value) for name, value in left.items() if name != "reason")
        _print(console, f"left out: {where}: {left['reason']}")
    _print(console, f"{report['seconds']:.0f} s")


def _kernels_line(report: Mapping[str, Any]) -> str:
    kernels = report["kernels"]
    if not kernels:
        return f"kernels: not checked: {report['no_kernels']}"
    wrong = [kernel for kernel in kernels if not kernel["ok"]]
    told = "; ".join(f"{each['kernel']} {each['dtype']} {each['shape']}: {each['error']:.1e}" for each in wrong)
    return (
        f"kernels: {len(kernels) - len(wrong)} of {len(kernels)} within their limit{f'; wrong: {told}' if told else ''}"
    )


def _name(cell: Mapping[str, Any]) -> str:
    length = f"{cell['length'] // 1024}K" if cell["length"] >= 1024 else cell["length"]  # noqa: PLR2004
    return f"{cell['model']} {cell['weights']} {length} x{cell['batch']}"


def _times(cell: Mapping[str, Any]) -> list[str]:
    verify = {f"verify_{k}": seconds for k, seconds in cell["verify_s"].items()}
    seconds = {"ar": cell["ar_s"], "draft": cell["draft_s"], "refresh": cell["refresh_s"], **verify}
    return [_name(cell), *(f"{1000 * seconds[step]:.2f} ({cell['of_floor'][step]:.0%})" for step in STEPS)]


def _rates(cell: Mapping[str, Any]) -> list[str]:
    gap, host = cell["launch_gap"], cell["host_s"]
    speedups = [cell["speedup_0.90"], cell["speedup_0.95"]]
    return [
        _name(cell),
        "-" if gap is None else f"{gap:.0%}",
        f"{1000 * host['ar']:.2f} / {1000 * host['draft']:.2f}",
        *(f"{each['k']}, {each['over_ar']:.2f}, {_number(each['over_eager_hf'])}" for each in speedups),
    ]


def _target(target: Mapping[str, Any]) -> list[str]:
    met = {True: "yes", False: "no", None: "-"}[target["met"]]
    return [target["target"], _number(target["limit"]), _number(target["worst"]), met]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _print(console: Console, line: str) -> None:
    console.print(Text(line), soft_wrap=True)


def _table(console: Console, title: str, columns: Sequence[str], rows: Any) -> None:
    table = Table(title=Text(title, "bold"), title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
