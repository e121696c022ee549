"""Which charts a report has: panels of lines, bars or stacks as plain values. Knows no drawing; `plots` draws them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from spsl_cli.bench.paper import PAPER
from spsl_cli.bench.records import CellRecord, Interval, Report, SystemRecord
from spsl_cli.bench.series import BATCH, BUDGET, CONTEXT, LENGTH, Axis, base_name, lines
from spsl_cli.bench.theory import Curve

_BASELINES = ("ar", "hf-eager")


@dataclass(frozen=True)
class Line:
    """Points in order, with intervals where there are. paper: figures of the paper, drawn dashed."""

    label: str
    xs: tuple[float, ...]
    ys: tuple[Interval, ...]
    paper: bool = False


@dataclass(frozen=True)
class Bar:
    """One bar. noisy: its height cannot be told from 1."""

    label: str
    y: Interval
    noisy: bool = False


@dataclass(frozen=True)
class Mark:
    """A dashed line across the panel at `y` (or down it, at `x`) for a figure of the paper or a calculation."""

    label: str
    y: float | None = None
    x: float | None = None


@dataclass(frozen=True)
class Panel:
    """One chart: `lines` over x, or `bars`, or `stacks` by name of parts with their sizes.

    percent: y is a share. text: a figure that belongs to the whole chart.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...] = ()
    bars: tuple[Bar, ...] = ()
    stacks: tuple[tuple[str, dict[str, float]], ...] = ()
    marks: tuple[Mark, ...] = ()
    percent: bool = False
    text: str = ""


def panels(report: Report) -> list[Panel]:
    """The charts of a suite, at most four; those for which the report has nothing are left out."""
    found = _PANELS.get(report.suite, _by_system)(report)
    return [panel for panel in found if panel.lines or panel.bars or panel.stacks][:4]


def _by_system(report: Report) -> Iterator[Panel]:
    yield _speedup_bars(report, "speedup over ar", lambda system: system.speedup, ())
    mark = (_paper("main speedup"),) if report.suite in ("main", "generalization") else ()
    yield _speedup_bars(report, "speedup over eager attention", lambda system: system.speedup_eager, mark)
    yield _positions(report)
    yield _phases(report)


def _context(report: Report) -> Iterator[Panel]:
    yield _over(report, CONTEXT, "speedup over eager attention", lambda system: system.speedup_eager)
    yield _over(report, CONTEXT, "speedup over ar", lambda system: system.speedup)
    yield _acceptance(report, CONTEXT, ("main acceptance",))
    yield _phases(report)


def _length(report: Report) -> Iterator[Panel]:
    speedup = _over(report, LENGTH, "speedup over ar", lambda system: system.speedup)
    yield _with_paper(
        replace(speedup, marks=(*speedup.marks, *_adaptive(report, lambda system: system.speedup))),
        _paper_line("paper: best fixed k", {12: "fixed speedup k12"}),
        _paper_line("paper: SnapKV", {2: "snapkv speedup", 16: "snapkv speedup k16"}),
    )
    acceptance = _acceptance(report, LENGTH)
    yield _with_paper(
        replace(acceptance, marks=_adaptive(report, _exact_acceptance)),
        _paper_line("paper: fixed", {4: "fixed acceptance k4", 20: "fixed acceptance k20"}),
        _paper_line("paper: SnapKV", {2: "snapkv acceptance", 16: "snapkv acceptance k16"}),
    )
    yield _positions(report)
    yield _phases(report)


def _adaptive(report: Report, value: Callable[[SystemRecord], Interval | None]) -> tuple[Mark, ...]:
    """The adaptive system has no place on the axis: it is a line across, of the last cell."""
    system = report.cells[-1].system("sparsespec-l") if report.cells else None
    figure = None if system is None else value(system)
    return () if figure is None else (Mark(f"{figure.median:.3g}: sparsespec-l, adaptive", figure.median),)


def _budget(report: Report) -> Iterator[Panel]:
    best = Mark("10%: paper, best budget", x=100 * PAPER["best budget"].value)
    yield _over(report, BUDGET, "speedup over ar", lambda system: system.speedup, marks=(best,))
    yield _acceptance(report, BUDGET)
    yield _phases(report)


def _batch(report: Report) -> Iterator[Panel]:
    sizes = (1, 2, 4)
    yield _with_paper(
        _over(report, BATCH, "speedup over ar", lambda system: system.speedup),
        _paper_line("paper", {size: f"batch {size}" for size in sizes}),
        _paper_line("paper: MagicDec", {size: f"magicdec batch {size}" for size in sizes}),
    )
    yield _acceptance(report, BATCH)
    yield _phases(report)


def _entropy(report: Report) -> Iterator[Panel]:
    bins = [part for part in report.findings.get("bins", ()) if part["tokens"]]
    bars = tuple(
        Bar(f"{part['low']:.2f}-{part['high']:.2f}\n{part['tokens']:,}", _exact(part["accepted"])) for part in bins
    )
    auc = report.findings.get("auc")
    yield Panel(
        "acceptance by draft entropy", "entropy (nats), and tokens in the bin", "accepted", bars=bars,
        marks=(_paper("entropy low"), _paper("entropy high")), percent=True,
        text="" if auc is None else f"AUC {auc:.3f} (paper {PAPER['entropy auc'].value})",
    )  # fmt: skip
    yield _positions(report)


def _refresh(report: Report) -> Iterator[Panel]:
    yield _phases(report, every_cell=True)
    panel = _over(report, CONTEXT, "refresh of the index", _refresh_ms, ("refresh",))
    yield replace(panel, y_label="time a round (ms)")


def _refresh_ms(system: SystemRecord) -> Interval | None:
    rounds, seconds = (system.speculation or {}).get("rounds", 0), system.phases.get("refresh", 0.0)
    return _exact(1000 * seconds / rounds) if rounds and seconds else None  # plain decoding has no index


_PANELS: dict[str, Callable[[Report], Iterator[Panel]]] = {
    "context-length": _context,
    "speculation-length": _length,
    "compression": _budget,
    "batch": _batch,
    "entropy": _entropy,
    "refresh-cost": _refresh,
}


def _exact(value: float) -> Interval:
    return Interval(value, value, value)


def _paper(name: str) -> Mark:
    figure = PAPER[name]
    value = f"{figure.value:.1%}" if figure.unit == "share" else f"{figure.value:g} {figure.unit}"
    return Mark(f"{value}: paper, {figure.what}", figure.value)


def _over(
    report: Report,
    axis: Axis,
    title: str,
    value: Callable[[SystemRecord], Interval | None],
    paper: tuple[str, ...] = (),
    marks: tuple[Mark, ...] = (),
) -> Panel:
    """A figure of every system along an axis."""
    drawn = []
    for label, places in lines(report, axis).items():
        points = [(place.x, y) for place in places if (y := value(place.system)) is not None]
        if points:
            xs, ys = zip(*points, strict=True)
            drawn.append(Line(label, xs, ys))
    even = Mark("1: as fast", 1.0) if title.startswith("speedup") else None
    dashed = (*([even] if even else []), *map(_paper, paper), *marks)
    percent = title == "acceptance"
    y_label = "accepted of those drafted" if percent else "speedup (x)"
    return Panel(title, axis.label, y_label, tuple(drawn), marks=dashed, percent=percent)


def _paper_line(label: str, points: dict[int, str]) -> Line:
    """Points of the paper by where they stand on the axis."""
    return Line(label, tuple(points), tuple(_exact(PAPER[name].value) for name in points.values()), paper=True)


def _with_paper(panel: Panel, *theirs: Line) -> Panel:
    """The panel with lines of the paper; an empty one stays empty."""
    return replace(panel, lines=(*panel.lines, *theirs)) if panel.lines else panel


def _acceptance(report: Report, axis: Axis, paper: tuple[str, ...] = ()) -> Panel:
    return _over(report, axis, "acceptance", _exact_acceptance, paper)


def _exact_acceptance(system: SystemRecord) -> Interval | None:
    return None if system.acceptance is None else _exact(system.acceptance)


def _speedup_bars(
    report: Report, title: str, value: Callable[[SystemRecord], Interval | None], marks: tuple[Mark, ...]
) -> Panel:
    several = len(report.cells) > 1
    bars = tuple(
        Bar(
            f"{system.name}, {cell.name}" if several else system.name,
            interval,
            noisy=system.noisy and interval is system.speedup,
        )
        for cell in report.cells
        for system in cell.systems
        if system.name not in _BASELINES and (interval := value(system)) is not None
    )
    return Panel(title, "", "speedup (x)", bars=bars, marks=(Mark("1: as fast", 1.0), *marks))


def _positions(report: Report) -> Panel:
    """Of the last cell, which is the largest; of systems that differ in draft length only, that of the longest."""
    longest: dict[str, SystemRecord] = {}
    for system in report.cells[-1].systems if report.cells else ():
        known = longest.get(base_name(system))
        if len(system.by_position) > (0 if known is None else len(known.by_position)):
            longest[base_name(system)] = system
    drawn = tuple(
        Line(each.name, tuple(range(1, len(each.by_position) + 1)), tuple(map(_exact, each.by_position)))
        for each in longest.values()
    )
    return Panel("acceptance by position in the draft", "position (tokens)", "accepted", drawn, percent=True)


def _phases(report: Report, *, every_cell: bool = False) -> Panel:
    """Time a new token by part of the work: of the last cell, or of every cell by its context."""
    stacks = tuple(
        (
            f"{system.name}\n{cell.context:,}" if every_cell else system.name,
            {part: 1000 * seconds / _timed_tokens(cell, system) for part, seconds in system.phases.items()},
        )
        for cell in (report.cells if every_cell else report.cells[-1:])
        for system in cell.systems
        if system.phases
    )
    return Panel("where the time goes", "", "time a new token (ms)", stacks=stacks)


def _timed_tokens(cell: CellRecord, system: SystemRecord) -> int:
    """New tokens that the phases are of: all samples of a cell, without the first of each, which prefills give."""
    counts = system.speculation or {}
    return counts.get("accepted", 0) + counts.get("bonus", 0) or max(1, cell.new_tokens)


def theory_panel(curve: Curve, title: str) -> Panel:
    """Speedup against k, with k* and the inversion point."""
    xs, ys = zip(*((point.k, _exact(point.speedup)) for point in curve.points), strict=True)
    best, turn = curve.best, curve.inversion
    marks = [Mark("1: plain decoding", 1.0), Mark(f"k* = {best.k}, {best.speedup:.2f}x", x=best.k)]
    if turn is not None:
        marks.append(Mark(f"inversion from k = {turn.k}", x=turn.k))
    label = f"Eq. 1, alpha {curve.alpha:g}, gamma {curve.costs.relative_draft_cost:.2f}"
    return Panel(title, "draft length k (tokens)", "speedup (x)", (Line(label, xs, ys),), marks=tuple(marks))
