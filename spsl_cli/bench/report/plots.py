"""Panels drawn with matplotlib to PNG or SVG, readable without colour: lines differ by marker, bars by hatching.

matplotlib is an optional extra and is imported here only when something is drawn; no window is opened.
"""

from __future__ import annotations

import importlib.util
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spsl_cli.bench.report.charts import Panel
from spsl_cli.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE, DPI = (12.0, 8.0), 100
"""Inches and dots an inch: 1200 x 800."""
FORMATS = (".png", ".svg")
# The palette of Okabe and Ito, which differs in lightness as well; then again with other markers.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo")
DASHES = ("--", ":", "-.")
MOST_TICKS, SIDE_BY_SIDE, FEWEST_BARS = 9, 64, 3


def check_plot_file(path: Path) -> None:
    """Raises UsageError for a name that says no format we draw, and where matplotlib is missing."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"--plot {path}: the name tells no format", hint=f"end it in {' or '.join(FORMATS)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("--plot needs matplotlib", hint="pip install 'spsl[plots]'")


def plot_bytes(panels: Sequence[Panel], title: str, suffix: str) -> bytes:
    """An image file of all panels. `suffix`: one of `FORMATS`."""
    import matplotlib as mpl  # noqa: PLC0415

    # A fixed salt and no date: the same report makes the same SVG.
    with mpl.rc_context({"svg.hashsalt": "spsl", "svg.fonttype": "none", "font.size": 10}):
        metadata = {"Date": None} if suffix == ".svg" else {}
        file = io.BytesIO()
        draw(panels, title).savefig(file, format=suffix.removeprefix("."), dpi=DPI, metadata=metadata)
    return file.getvalue()


def draw(panels: Sequence[Panel], title: str) -> Figure:
    """A figure with a grid of panels. Raises UsageError if there are none."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    if not panels:
        raise UsageError("there is nothing to plot in this report", hint="leave --plot out")
    figure = Figure(figsize=SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(_literal(title))
    rows = 1 if len(panels) == 1 else 2
    labels_of = dict.fromkeys(line.label for panel in panels for line in panel.lines)
    styles = {label: at for at, label in enumerate(labels_of)}
    grid: Any = figure.subfigures(rows, math.ceil(len(panels) / rows), squeeze=False)
    for place, panel in zip(grid.flat, panels, strict=False):
        axes = place.subplots()
        _draw_panel(axes, panel, styles)
        handles, labels = axes.get_legend_handles_labels()
        if handles:
            place.legend(handles, labels, fontsize=8, ncols=3, loc="outside lower center")
    return figure


def _literal(text: str) -> str:
    """Text that names no formula: matplotlib would read one between dollar signs."""
    return text.replace("$", r"\$")


def _draw_panel(axes: Axes, panel: Panel, styles: Mapping[str, int]) -> None:
    """`styles`: a number for each line by its label, so that a system looks the same in every panel."""
    axes.set_title(_literal(panel.title))
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    if panel.lines:
        _draw_lines(axes, panel, styles)
    elif panel.bars:
        _draw_bars(axes, panel)
    else:
        _draw_stacks(axes, panel)
    for at, mark in enumerate(panel.marks):
        style: dict[str, Any] = {
            "linestyle": DASHES[at % len(DASHES)], "color": "0.25", "linewidth": 1.3, "label": _literal(mark.label)
        }  # fmt: skip
        if mark.x is not None:
            axes.axvline(mark.x, **style)
        elif mark.y is not None:
            axes.axhline(mark.y, **style)
    if panel.percent:
        axes.set_ylim(0, 1.05)
        axes.yaxis.set_major_formatter("{x:.0%}")
    else:
        axes.margins(y=0.1)
        axes.set_ylim(bottom=0)
    if panel.text:
        box = {"facecolor": "white", "alpha": 0.9}
        axes.text(0.98, 0.95, _literal(panel.text), transform=axes.transAxes, ha="right", va="top", bbox=box)


def _draw_lines(axes: Axes, panel: Panel, styles: Mapping[str, int]) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    for line in panel.lines:
        at = styles[line.label]
        middles = [y.median for y in line.ys]
        errors = [[y.median - y.low for y in line.ys], [y.high - y.median for y in line.ys]]
        axes.errorbar(
            line.xs, middles, yerr=errors if any(map(any, errors)) else None, label=_literal(line.label), capsize=3,
            marker=MARKERS[at % len(MARKERS)], color=COLOURS[at % len(COLOURS)], markersize=5, linewidth=1.5,
            linestyle="--" if line.paper else "-", fillstyle="none" if line.paper else "full",
        )  # fmt: skip
    xs = sorted({x for line in panel.lines for x in line.xs})
    if len(xs) <= MOST_TICKS:
        axes.set_xticks(xs, [f"{x:,.0f}" if x.is_integer() else f"{x:g}" for x in map(float, xs)])
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_bars(axes: Axes, panel: Panel) -> None:
    values = [bar.y for bar in panel.bars]
    errors = [[y.median - y.low for y in values], [y.high - y.median for y in values]]
    drawn = axes.bar(
        range(len(values)), [y.median for y in values], yerr=errors if any(map(any, errors)) else None, capsize=3,
        color="#9ecae1", edgecolor="black",
    )  # fmt: skip
    noisy = [patch for patch, bar in zip(drawn.patches, panel.bars, strict=True) if bar.noisy]
    for at, patch in enumerate(noisy):
        patch.set(facecolor="white", hatch="..", label="cannot be told from 1" if at == 0 else "_")
    axes.bar_label(drawn, [f"{y.median:.0%}" if panel.percent else f"{y.median:.2f}" for y in values], fontsize=8,
                   label_type="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})  # fmt: skip
    _name_bars(axes, [bar.label for bar in panel.bars])


def _draw_stacks(axes: Axes, panel: Panel) -> None:
    names = [name for name, _ in panel.stacks]
    parts = list(dict.fromkeys(part for _, stack in panel.stacks for part in stack))
    heights = [0.0] * len(names)
    for at, part in enumerate(parts):
        sizes = [stack.get(part, 0.0) for _, stack in panel.stacks]
        axes.bar(
            range(len(names)), sizes, bottom=heights, label=_literal(part), color=COLOURS[at % len(COLOURS)],
            edgecolor="white", hatch=HATCHES[at % len(HATCHES)],
        )  # fmt: skip
        heights = [height + size for height, size in zip(heights, sizes, strict=True)]
    _name_bars(axes, names)


def _name_bars(axes: Axes, names: Sequence[str]) -> None:
    """Side by side where they fit into half of the width, else slanted; many of them upright."""
    wide = sum(max(map(len, name.split("\n"))) for name in names) > SIDE_BY_SIDE
    rotation = 0 if not wide else 30 if len(names) <= MOST_TICKS else 90
    axes.set_xticks(
        range(len(names)), [_literal(name) for name in names], fontsize=8, rotation=rotation,
        ha="right" if rotation == 30 else "center",  # noqa: PLR2004
    )  # fmt: skip
    room = max(0, FEWEST_BARS - len(names)) / 2  # bars do not become wider than those of three
    axes.set_xlim(-0.7 - room, len(names) - 0.3 + room)
