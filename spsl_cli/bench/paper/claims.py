"""What the paper claims, held against a report: a verdict for each claim, and why.

Another model on another machine: rates and times are never comparable, nor is the size of a speedup. What can be held
against ours is the shape: which way a figure goes, what is ahead of what, where the best setting lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from spsl_cli.bench.paper import ours
from spsl_cli.bench.paper.figures import PAPER
from spsl_cli.bench.records import Comparison, Interval, Report
from spsl_cli.bench.series import BATCH, BUDGET, CONTEXT, LENGTH

SIZE = "the size of a speedup is the model's, the machine's and the context's"
STABLE = 0.10
"""Acceptance that varies by no more than this is called stable."""
CHANCE = 0.5
NOT_MEASURED = "not measured in this run; the whole suite has it, without --systems and --context"


def compare_with_paper(report: Report) -> tuple[Comparison, ...]:
    """The paper's figures of this suite beside those of the report; nothing for a suite without any."""
    claims = _CLAIMS.get(report.suite)
    return () if claims is None else tuple(claims(report))


def _judged(what: str, paper: float | str, own: float | str | None, holds: bool | None, why: str) -> Comparison:
    """`own` or `holds` None: there is nothing to judge."""
    if own is None or holds is None:
        return Comparison(what, paper, None, "not comparable", NOT_MEASURED)
    return Comparison(what, paper, own, "confirmed" if holds else "not confirmed", why)


def _told(what: str, name: str, own: Interval | None, why: str) -> Comparison:
    """A figure beside ours that is not judged."""
    figure = PAPER[name]
    return Comparison(
        f"{what} ({figure.what})", figure.value, None if own is None else own.median, "not comparable", why
    )


def _above(what: str, name: str, own: Interval | None, bound: float, why: str) -> Comparison:
    """Whether all of an interval lies above a bound."""
    return _judged(
        what, PAPER[name].value, None if own is None else own.median, None if own is None else own.low > bound, why
    )


def _greater(what: str, paper: str, one: Interval | None, other: Interval | None, form: str) -> Comparison:
    """Whether the first figure is greater than the second; where their intervals meet that cannot be said."""
    if one is None or other is None:
        return _judged(what, paper, None, None, "")
    why = "judged is the order" if one.low > other.high or one.high < other.low else "their intervals meet"
    told = f"{one.median:{form}} against {other.median:{form}}"
    return _judged(what, paper, told, one.low > other.high, why)


def _trend(
    what: str, paper: str, points: Mapping[float, Interval], form: str, unit: str, *, rises: bool = True
) -> Comparison:
    """Whether a figure rises (or falls) from the first to the last of the points."""
    if len(points) < 2:  # noqa: PLR2004 a direction has two ends
        return _judged(what, paper, None, None, "")
    (first, begin), *_, (last, end) = points.items()
    told = f"{begin.median:{form}} ({first:g}{unit}) to {end.median:{form}} ({last:g}{unit})"
    lower, upper = (begin, end) if rises else (end, begin)
    apart = lower.high < upper.low or upper.high < lower.low
    return _judged(what, paper, told, lower.high < upper.low, "judged is the direction" if apart else "intervals meet")


def _best(points: Mapping[float, Interval]) -> float | None:
    return max(points, key=lambda x: points[x].median) if len(points) > 1 else None


def _main(report: Report) -> Iterator[Comparison]:
    cell = ours.longest(report)
    own, rival = (None if cell is None else ours.fastest(cell, name) for name in (ours.ADAPTIVE, ours.RIVAL))
    values = (ours.speedup_eager, ours.speedup, ours.acceptance, ours.accepted_length)
    eager, plain, acceptance, accepted = (value(own) for value in values)
    yield _above("speedup over eager attention", "main speedup", eager, 1.0, f"judged is whether it is above 1: {SIZE}")
    yield _told("speedup over our plain loop", "main speedup", plain, "the paper has no baseline with fused attention")
    yield _told("acceptance", "main acceptance", acceptance, "it is that of the draft lengths chosen for a machine")
    yield _greater(
        "accepted a round, against SnapKV", _against("main accepted", "snapkv accepted", ".2f"), accepted,
        ours.accepted_length(rival), ".2f",
    )  # fmt: skip
    yield _greater(
        "speedup over the plain loop, against SnapKV", _against("main speedup", "snapkv speedup", ".2f"), plain,
        ours.speedup(rival), ".2f",
    )  # fmt: skip
    rate = None if own is None else own.tokens_per_s
    yield _told("tokens/s", "main rate infinitebench", rate, "another model and machine")


def _against(one: str, other: str, form: str) -> str:
    return f"{PAPER[one].value:{form}} against {PAPER[other].value:{form}}"


def _generalization(report: Report) -> Iterator[Comparison]:
    speedups = ours.over_cells(report, ours.ADAPTIVE, ours.speedup_eager)
    paper = _range(PAPER["least speedup"].value, PAPER["greatest speedup"].value, ".2f")
    yield _judged(
        "speedup over eager attention, all tasks", paper, _range_of(speedups, ".2f"),
        all(each.low > 1 for each in speedups), f"judged is whether all are above 1: {SIZE}",
    )  # fmt: skip
    least = PAPER["least acceptance"].value
    rates = ours.over_cells(report, ours.ADAPTIVE, ours.acceptance)
    yield _judged(
        "acceptance, all tasks", _range(least, PAPER["greatest acceptance"].value, ".1%"), _range_of(rates, ".1%"),
        all(each.median >= least for each in rates), "judged is whether none is below the paper's least",
    )  # fmt: skip


def _range(low: float, high: float, form: str) -> str:
    return f"{low:{form}} to {high:{form}}"


def _range_of(intervals: list[Interval], form: str) -> str | None:
    medians = [interval.median for interval in intervals]
    return _range(min(medians), max(medians), form) if medians else None


def _speculation_length(report: Report) -> Iterator[Comparison]:
    fixed = (ours.FIXED,)
    yield _trend(
        "acceptance as k grows", _falls("fixed acceptance k4", 4, "fixed acceptance k20", 20),
        ours.along(report, LENGTH, ours.acceptance, fixed), ".1%", "", rises=False,
    )  # fmt: skip
    speeds = ours.along(report, LENGTH, ours.speedup, fixed)
    best = _best(speeds)
    yield _judged(
        "best fixed k (efficiency inversion)", "12, of 4 to 20",
        None if best is None else f"{best:g}, of {min(speeds):g} to {max(speeds):g}",
        None if best is None else best < max(speeds), "judged is whether longer drafts than the best were slower",
    )  # fmt: skip
    yield _trend(
        "SnapKV: acceptance as k grows", _falls("snapkv acceptance", 2, "snapkv acceptance k16", 16),
        ours.along(report, LENGTH, ours.acceptance, (ours.RIVAL,)), ".1%", "", rises=False,
    )  # fmt: skip
    yield _adaptive(report, PAPER["main speedup"].value / PAPER["fixed speedup k12"].value)


def _falls(one: str, k: int, other: str, longer: int) -> str:
    return f"{PAPER[one].value:.1%} (k = {k}) to {PAPER[other].value:.1%} (k = {longer})"


def _adaptive(report: Report, paper: float) -> Comparison:
    lead = ours.lead_over_fixed(report)
    return _judged(
        "adaptive, as a multiple of the best fixed k", round(paper, 3), None if lead is None else lead.median,
        None if lead is None else lead.median >= 1, "judged is whether it is at least as fast, on average",
    )  # fmt: skip


def _context_length(report: Report) -> Iterator[Comparison]:
    speeds = ours.along(report, CONTEXT, ours.speedup_eager)
    yield _trend("speedup over eager attention as context grows", "grows from 10K to 60K", speeds, ".2f", " tokens")
    rates = ours.along(report, CONTEXT, ours.acceptance)
    yield _judged(
        "acceptance as context grows", "stable from 10K to 60K", _range_of(list(rates.values()), ".1%"),
        _varies(rates) <= STABLE if rates else None, f"judged is whether it varies by at most {100 * STABLE:g} points",
    )  # fmt: skip
    cell = ours.longest(report)
    own, rival = (None if cell is None else ours.fastest(cell, name) for name in (ours.ADAPTIVE, ours.RIVAL))
    yield _greater(
        "speedup over the plain loop at the longest, against SnapKV", "ahead (Fig. 4)", ours.speedup(own),
        ours.speedup(rival), ".2f",
    )  # fmt: skip


def _varies(points: Mapping[float, Interval]) -> float:
    medians = [interval.median for interval in points.values()]
    return max(medians) - min(medians)


def _compression(report: Report) -> Iterator[Comparison]:
    speeds = ours.along(report, BUDGET, ours.speedup)
    best, paper = _best(speeds), 100 * PAPER["best budget"].value
    yield _judged(
        "best budget", "about 10%", None if best is None else f"{best:g}%, of {min(speeds):g}% to {max(speeds):g}%",
        None if best is None else paper / 2 <= best <= paper * 2, "judged is whether it is within a factor of two",
    )  # fmt: skip
    rates = ours.along(report, BUDGET, ours.acceptance)
    yield _trend("acceptance as the budget grows", "grows", rates, ".1%", "%")


def _batch(report: Report) -> Iterator[Comparison]:
    speeds = ours.along(report, BATCH, ours.speedup)
    paper = ", ".join(f"{PAPER[f'batch {size}'].value:.2f} ({size})" for size in (1, 2, 4))
    yield _trend("speedup over the plain loop as the batch grows", paper, speeds, ".2f", "")
    for cell in report.cells:
        own, rival = (ours.fastest(cell, name) for name in (ours.ADAPTIVE, ours.RIVAL))
        name = f"batch {cell.batch}"
        if name in PAPER:
            yield _greater(
                f"speedup over the plain loop, against SnapKV, {name}", _against(name, f"magicdec {name}", ".2f"),
                ours.speedup(own), ours.speedup(rival), ".2f",
            )  # fmt: skip


def _entropy(report: Report) -> Iterator[Comparison]:
    auc = ours.exact(report.findings.get("auc"))
    why = f"judged is whether it tells more than chance ({CHANCE})"
    yield _above("AUC of negative draft entropy for acceptance", "entropy auc", auc, CHANCE, why)
    shares = [ours.exact(part["accepted"]) for part in report.findings.get("bins", ()) if part["tokens"]]
    low, high = (shares[0], shares[-1]) if len(shares) > 1 else (None, None)
    yield _greater(
        "accepted at low entropy and at high", _against("entropy low", "entropy high", ".1%"), low, high, ".1%"
    )


def _refresh_cost(report: Report) -> Iterator[Comparison]:
    cell = ours.longest(report)
    own = None if cell is None else ours.fastest(cell, ours.ADAPTIVE)
    rounds = 0 if own is None or own.speculation is None else own.speculation["rounds"]
    refresh = 1000 * own.phases["refresh"] / rounds if own and rounds and "refresh" in own.phases else None
    yield _told("refresh a round, ms", "refresh", ours.exact(refresh), "another model and machine")
    share, bound = None if own is None else ours.phase_share(own, "controller"), PAPER["controller share"].value
    yield _judged(
        "the controller's share of the time", f"below {bound:.1%}", None if share is None else f"{share:.2%}",
        None if share is None else share < bound, "judged is whether it is below the same bound",
    )  # fmt: skip


def _controller_regret(report: Report) -> Iterator[Comparison]:
    yield _adaptive(report, PAPER["main rate infinitebench"].value / PAPER["fixed rate infinitebench"].value)
    adaptive = ours.over_cells(report, ours.ADAPTIVE, ours.acceptance)
    fixed = [ours.acceptance(found) for cell in report.cells if (found := cell.system("fixed-k10"))]
    yield _greater(
        "acceptance, against fixed k = 10", _against("niah adaptive acceptance", "niah fixed acceptance", ".1%"),
        ours.mean(adaptive), ours.mean(fixed), ".1%",
    )  # fmt: skip


_CLAIMS: dict[str, Callable[[Report], Iterator[Comparison]]] = {
    "main": _main,
    "generalization": _generalization,
    "speculation-length": _speculation_length,
    "context-length": _context_length,
    "compression": _compression,
    "batch": _batch,
    "entropy": _entropy,
    "refresh-cost": _refresh_cost,
    "controller-regret": _controller_regret,
}
