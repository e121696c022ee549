"""Reports made by hand, for whatever reads them."""

from __future__ import annotations

from spsl_cli.bench.records import CellRecord, Comparison, Interval, Report, SystemRecord

MODEL = {"id": "tiny", "revision": "1", "dtype": "float32", "device": "cpu", "quantization": None}
MACHINE = {"system": "Linux", "processor": "x86_64", "cores": 2, "threads": 2, "gpu": None, "python": "3.11",
           "torch": "2.13", "transformers": "5.24"}  # fmt: skip
COUNTS = {"enabled": True, "controller": "fixed", "budget": 0.1, "index": "sparsespec-l", "rounds": 10, "drafted": 40,
          "accepted": 30, "bonus": 10, "lookup_drafted": 0, "lookup_accepted": 0, "acceptance_rate": 0.75,
          "mean_accepted": 3.0, "tokens_per_s": 10.0, "k_histogram": {"4": 10}, "refresh_s": 0.1, "mass_s": 0.1,
          "draft_s": 1.0, "verify_s": 2.0, "plain_step_s": None, "estimated_speedup": None,
          "drafts": [{"accepted": 1, "entropies": [0.2, 1.5]}]}  # fmt: skip


def interval(median, spread=0.05):
    return Interval(median - spread, median, median + spread)


def system(name, rate=20.0, speedup=None, eager=None, speculation=None, acceptance=None, **more):
    """Repeats of a system; `ar` and Hugging Face's speculate nothing, whatever else drafts as `COUNTS` says."""
    drafts = name != "ar" and not name.startswith("hf-")
    return SystemRecord(
        name,
        rates=(rate - 1, rate, rate + 1),
        tokens_per_s=interval(rate, 1.0),
        speedup=None if speedup is None else interval(speedup),
        speedup_eager=None if eager is None else interval(eager),
        identical=True,
        acceptance=acceptance,
        speculation={**COUNTS, **(speculation or {})} if drafts else None,
        **more,
    )


def cell(name, systems, settings=None, *, context=2000, batch=1, **more):
    chosen = {"task": "qa", "context": context, **(settings or {})}
    return CellRecord(name, chosen, batch, context * batch, 64, 3, 1.5, tuple(systems), **more)


def report(suite="main", cells=(), **more):
    if not cells:
        cells = (main_cell(),)
    given = {"title": "Table 1: systems on one task", "command": f"spsl bench {suite} --quick", "date": "2026-12-01",
             "settings": {"repeats": 3}, "notes": ("a busy machine",), **more}  # fmt: skip
    return Report(suite=suite, model=MODEL, machine=MACHINE, cells=tuple(cells), **given)


PHASES = {"draft": 1.0, "verify": 2.0, "refresh": 0.5, "controller": 0.01, "other": 0.2}


def main_cell():
    """Six systems: both baselines, ours, two rivals, one that cannot run."""
    return cell(
        "qa, 2000",
        [
            system("ar", rate=20.0, eager=3.3, quality=0.5),
            system("hf-eager", rate=6.0, quality=0.5),
            system("sparsespec-l", rate=26.0, speedup=1.3, eager=4.3, acceptance=0.81, accepted_length=3.1,
                   by_position=(0.95, 0.9, 0.8), phases=PHASES, quality=0.5, peak_bytes=2**30),
            system("snapkv", rate=18.0, speedup=0.9, eager=3.0, acceptance=0.62, accepted_length=1.2,
                   by_position=(0.8, 0.5), phases={**PHASES, "verify": 3.0}),
            SystemRecord("streaming", rates=(19.0,), tokens_per_s=interval(19.0, 0.0), identical=False,
                         first_difference=17, top2_margin=1e-5, acceptance=0.4),
            SystemRecord("eagle-3", unavailable="needs trained weights | name them"),
        ],
    )  # fmt: skip


COMPARISONS = (Comparison("speedup over eager", 2.79, 4.3, "confirmed", "above 1; the size is another machine's"),)


def sweep(suite, axis, values, figures):
    """Cells along an axis; `figures`: system -> (speedup, speedup over eager, acceptance) for every value."""
    cells = []
    for at, value in enumerate(values):
        systems = [system("ar"), system("hf-eager", rate=5.0)]
        for name, each in figures.items():
            speedup, eager, acceptance = each[at]
            systems.append(
                system(name, rate=20 * speedup, speedup=speedup, eager=eager, acceptance=acceptance,
                       accepted_length=3.0, phases=PHASES)
            )  # fmt: skip
        place = {axis: value} if axis in ("context", "batch") else {}
        cells.append(cell(f"{axis} {value}", systems, {axis: value}, **place))
    return report(suite, cells)
