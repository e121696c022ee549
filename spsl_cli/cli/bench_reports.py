"""`spsl bench show`, `compare`, `theory` and `gpu-check`: what needs no suite to be run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spsl_cli.cli.bench_files import CsvFile, MarkdownFile, PlotFiles, Plots, ReportFiles, write_tables
from spsl_cli.cli.options import Debug, Plain
from spsl_cli.config import parse_budget
from spsl_cli.errors import UsageError
from spsl_cli.render import Streams, render_table, write_answer

if TYPE_CHECKING:
    from spsl_cli.bench.theory import Curve

ReportFile = Annotated[str, typer.Argument(metavar="FILE", help="A report: what spsl bench SUITE -o FILE wrote.")]
A40_BANDWIDTH = 696.0
"""GB/s of the paper's GPU."""
THEORY_COLUMNS = ("k", "accepted a round", "tokens/s", "speedup", "")


def add_reports(group: typer.Typer) -> None:
    """The commands of this file."""
    group.command("show")(show)
    group.command("compare")(compare)
    group.command("theory")(theory)
    group.command("gpu-check")(gpu_check)


def show(
    file: ReportFile,
    *,
    csv: CsvFile = None,
    markdown: MarkdownFile = None,
    plots: PlotFiles = None,
    plain: Plain = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
) -> None:
    """Show a report again; make files or plots of it.

    Example: spsl bench show main.json --plot main.png
    """
    from spsl_cli.bench.report.show import load_report  # noqa: PLC0415 not needed by other commands

    files = ReportFiles.checked(csv, markdown, plots)
    report = load_report(Path(file))
    streams = Streams.detect(plain=plain)
    files.write(streams, report)
    write_tables(streams, report, files.plots)


def compare(
    first: ReportFile,
    second: ReportFile,
    *,
    plain: Plain = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
) -> None:
    """Compare two reports figure by figure.

    Figures agree or differ by their intervals; where another model, machine or prompt makes them incomparable, it says
    so.

    Example: spsl bench compare before.json after.json
    """
    from spsl_cli.bench.report.compare import COLUMNS, compare_reports, pair_rows  # noqa: PLC0415
    from spsl_cli.bench.report.show import load_report  # noqa: PLC0415

    pairs = compare_reports(load_report(Path(first)), load_report(Path(second)))
    streams = Streams.detect(plain=plain)
    render_table(streams, f"{first} and {second}: median (interval)", COLUMNS, pair_rows(pairs))
    counts = Counter(pair.verdict for pair in pairs)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("agree", "differ", "not comparable"))
    write_answer(streams, f"\nOf {len(pairs)} figures: {told}.")


def theory(
    *,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME|PATH", help="A well-known name, or a model on this machine.")
    ] = "llama-3.1-8b",
    bits: Annotated[str, typer.Option("--bits", metavar="32|16|8|4", help="Bits a weight.")] = "16",
    context: Annotated[int, typer.Option("--context", metavar="N", min=1, help="Tokens in the cache.")] = 65_536,
    batch: Annotated[int, typer.Option("--batch", metavar="N", min=1, help="Prompts decoded together.")] = 1,
    alpha: Annotated[
        float | None,
        typer.Option("--alpha", min=0.0, max=1.0, help="Chance that one more drafted token is accepted [0.9]."),
    ] = None,
    budget: Annotated[str, typer.Option("--budget", metavar="SHARE|N", help="Positions that a draft reads.")] = "0.1",
    bandwidth: Annotated[
        float, typer.Option("--bandwidth", metavar="GB/S", min=0.001, help="Of memory; the paper's GPU has 696.")
    ] = A40_BANDWIDTH,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Costs and acceptance measured by a suite instead."),
    ] = None,
    plots: PlotFiles = None,
    plain: Plain = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
) -> None:
    """Calculate the speedup of every draft length.

    By Eq. 1 of the paper, with the best length k* and the point from which longer drafts lose. Costs are those of a
    machine that only reads memory, or measured ones with --report. Nothing is run or fetched.

    Example: spsl bench theory --model llama-3.1-8b --context 131072 --batch 4 --plot -
    """
    from spsl_cli.bench.report.charts import theory_panel  # noqa: PLC0415

    checked = Plots.checked(plots)
    if report is not None:
        curve, title, measured = _measured(report, alpha)
    else:
        curve, title = _calculated(model, bits, context, batch, bandwidth, 0.9 if alpha is None else alpha, budget)
        measured = {}
    streams = Streams.detect(plain=plain)
    columns = (*THEORY_COLUMNS, "measured") if measured else THEORY_COLUMNS
    rows = _rows(curve, measured)
    panels = [theory_panel(curve, "Eq. 1: speedup by draft length")]
    checked.save(panels, title)
    render_table(streams, title, columns, rows)
    write_answer(streams, "\n" + _told(curve))
    checked.show(streams, panels)


def _calculated(
    model: str, bits: str, context: int, batch: int, bandwidth: float, alpha: float, budget: str
) -> tuple[Curve, str]:
    from spsl_cli.bench.shapes import find_dimensions  # noqa: PLC0415
    from spsl_cli.bench.theory import theory as calculate  # noqa: PLC0415

    try:
        share = parse_budget(budget)
    except ValueError as error:
        raise UsageError(
            f"--budget {budget!r} is not understood", hint="use a share such as 0.1, or a number"
        ) from error
    shape = find_dimensions(model).shape(model, bits)
    try:
        curve = calculate(shape, context, batch, bandwidth * 1e9, alpha, share)
    except ValueError as error:
        raise UsageError(str(error), hint="see spsl bench theory --help") from error
    title = (
        f"{model}, {bits} bits a weight, {context:,} tokens, batch {batch}, drafts read {budget}, {bandwidth:g} GB/s, "
        f"alpha {alpha:g}"
    )
    return curve, title


def _measured(report: str, alpha: float | None) -> tuple[Curve, str, dict[int, str]]:
    """The curve of the longest context that has drafts of fixed length, and their measured speedups by k."""
    from spsl_cli.bench.report.show import load_report  # noqa: PLC0415
    from spsl_cli.bench.theory import cell_costs, fitted_alpha, make_curve, predictions  # noqa: PLC0415

    cells = sorted(load_report(Path(report)).cells, key=lambda cell: -cell.context)
    for cell in cells:
        costs = cell_costs(cell)
        found = [each for each in predictions([cell]) if each.system.startswith("fixed")]
        if costs is None or not found:
            continue
        longest = max(found, key=lambda each: each.k)
        fitted = fitted_alpha(longest.accepted, longest.k) if alpha is None else alpha
        measured = {each.k: "-" if each.measured is None else f"{each.measured:.2f}" for each in found}
        title = f"{cell.name}: costs measured with k = {', '.join(map(str, sorted(measured)))}, alpha {fitted:.3f}"
        return make_curve(costs, fitted, cell.batch), title, measured
    raise UsageError(f"{report} has no drafts of fixed length beside 'ar'", hint="make it with speculation-length")


def _rows(curve: Curve, measured: dict[int, str]) -> list[tuple[str, ...]]:
    marks = {curve.best.k: "k*"}
    if curve.inversion is not None:
        marks[curve.inversion.k] = "inversion"
    return [
        (
            str(point.k), f"{point.accepted:.2f}", f"{point.speedup * curve.plain_tokens_per_s:.1f}",
            f"{point.speedup:.2f}", marks.get(point.k, ""), *([measured.get(point.k, "-")] if measured else []),
        )
        for point in curve.points
    ]  # fmt: skip


def _told(curve: Curve) -> str:
    best, turn, gamma = curve.best, curve.inversion, curve.costs.relative_draft_cost
    end = "no longer draft loses" if turn is None else f"from k = {turn.k} on longer drafts lose"
    told = "drafting does not pay" if best.k == 0 else f"k* = {best.k}: {best.speedup:.2f}x"
    plain = f"{curve.plain_tokens_per_s:.1f} tokens/s"
    return f"{told}; {end}. A draft step costs {gamma:.2f} of a plain one; plain decoding makes {plain}."


def gpu_check(
    *,
    tiny: Annotated[bool, typer.Option("--tiny", help="A tiny model, on the CPU where there is no GPU.")] = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
) -> None:
    """Check the GPU: kernels, and times of steps.

    With models of random weights, in less than six minutes.

    Example: spsl bench gpu-check
    """
    from spsl_cli.bench.gpu_check import main  # noqa: PLC0415

    code = main(["--tiny"] if tiny else [])
    if code:
        raise typer.Exit(code)
