"""A suite from its plan to its report: samples, cells, journal, what is found, and the paper's figures beside it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from spsl_cli import __version__
from spsl_cli.bench.cell import Cell, measure_cell
from spsl_cli.bench.cells import measure_cells
from spsl_cli.bench.journal import Journal
from spsl_cli.bench.paper import compare_with_paper
from spsl_cli.bench.prompts import SessionPrompts
from spsl_cli.bench.records import CellRecord, Report, SuiteOptions
from spsl_cli.bench.runner import machine_facts
from spsl_cli.bench.suites.findings import entropy_findings, regret_findings
from spsl_cli.bench.suites.plans import Form, Plan, plan_of
from spsl_cli.bench.suites.progress import SuiteProgress
from spsl_cli.bench.systems.catalogue import check_names
from spsl_cli.bench.tasks.base import Task
from spsl_cli.bench.tasks.catalogue import make_task
from spsl_cli.bench.tasks.local_files import LocalFile
from spsl_cli.bench.tasks.ruler import TokenizerRuler
from spsl_cli.bench.tasks.sources import own_source
from spsl_cli.errors import NoReadableInputError, UsageError
from spsl_cli.events import Event
from spsl_cli.prompting.plain_tokenizer import plain_tokenizer
from spsl_cli.session import Session

SEED = 1
PROMPT_AROUND = 256
"""Tokens that a prompt has beside the text of its sample, at most."""

Tell = Callable[[Event], None]


def run_suite(name: str, session: Session, options: SuiteOptions, tell: Tell) -> Report:
    """Measure a suite with the session's model, or what of it was not measured before it was interrupted.

    session: made with `baselines`. Ctrl-C gives the report of the cells that are done. Raises UsageError for a suite,
    system or task that there is none of, and what loading the model and reading data raise.
    """
    plan = plan_of(name)
    form = _asked(plan.form(quick=options.quick), options)
    systems = options.systems or plan.systems
    check_names(systems)
    if plan.budgets and session.settings.origin["budget"] == "option":
        raise UsageError(f"bench {name} decides --budget itself", hint="leave it out")
    tasks = list(_tasks(form, options, session.notice))
    cells = list(_cells(plan, form, systems, session, tasks))
    settings = {
        **asdict(form), "quick": options.quick, "systems": list(systems), "data": list(options.data), "seed": SEED,
        "budget": session.settings.budget,
    }  # fmt: skip
    model, machine = asdict(session.facts), machine_facts()
    journal = Journal({"suite": name, "settings": settings, "model": model, "machine": machine, "version": __version__})
    progress, prompts = SuiteProgress(cells, tell, session.notice), SessionPrompts(session)

    def measure(cell: Cell) -> CellRecord:
        record = measure_cell(cell, prompts, progress.of(cell))
        progress.ended(cell)
        return record

    measured = measure_cells(cells, measure, journal)
    notes = []
    if measured.resumed:
        notes.append(f"{measured.resumed} of {len(cells)} cells were measured in an earlier run that was interrupted")
    if not measured.complete:
        session.notice(f"interrupted: {len(measured.cells)} of {len(cells)} cells are done; the same command goes on")
    report = Report(
        suite=name,
        title=plan.title,
        command=f"spsl {' '.join(sys.argv[1:])}",
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        model=model,
        machine=machine,
        settings=settings,
        cells=measured.cells,
        findings=_findings(plan, measured.cells),
        notes=tuple(notes),
        complete=measured.complete,
    )
    return replace(report, comparisons=compare_with_paper(report))


def _asked(form: Form, options: SuiteOptions) -> Form:
    return replace(
        form,
        contexts=options.contexts or form.contexts,
        tasks=options.tasks or form.tasks,
        repeats=options.repeats or form.repeats,
    )


@dataclass(frozen=True)
class _Asked:
    """A task, and the file of the user's that it is about, if it is about one."""

    task: Task
    data: str | None = None

    @property
    def name(self) -> str:
        return self.task.name if self.data is None else f"{self.task.name} {self.data}"

    @property
    def settings(self) -> dict[str, Any]:
        return {"task": self.task.name} if self.data is None else {"task": self.task.name, "data": self.data}


def _tasks(form: Form, options: SuiteOptions, notice: Callable[[str], None]) -> Iterator[_Asked]:
    """The tasks, on the text of every file or folder named, or the samples that a file of a benchmark holds."""
    if not options.data:
        yield from (_Asked(make_task(name)) for name in form.tasks)
    for path in dict.fromkeys(options.data):
        if Path(path).suffix not in (".json", ".jsonl"):
            source = own_source(path, notice)
            yield from (_Asked(make_task(name, source), path) for name in form.tasks)
        elif options.tasks:
            raise UsageError(f"{path} holds tasks of its own", hint="leave --task out, or give it texts")
        elif not Path(path).is_file():
            raise NoReadableInputError(f"{path} is no file")
        else:
            yield _Asked(LocalFile(Path(path), notice), path)


def _cells(plan: Plan, form: Form, systems: Sequence[str], session: Session, tasks: Sequence[_Asked]) -> Iterator[Cell]:
    """All cells, from short contexts to long ones; a context that the model has no room for is told and left out."""
    loaded = session.load()
    ruler = TokenizerRuler(plain_tokenizer(loaded.tokenizer).backend)  # type: ignore[arg-type]  # as in `Session`
    room = loaded.context_length - form.new_tokens - PROMPT_AROUND
    contexts = [tokens for tokens in sorted(form.contexts) if tokens <= room]
    left_out = [tokens for tokens in sorted(form.contexts) if tokens > room]
    if left_out:
        told = ", ".join(f"{tokens:,}" for tokens in left_out)
        session.notice(f"contexts left out: {told} tokens; {loaded.id} has room for {room:,}")
    if not contexts:
        raise UsageError(f"no context of this suite fits into {loaded.id}", hint=f"give --context, at most {room}")
    for tokens, asked in product(contexts, tasks):
        samples = tuple(asked.task.samples(ruler, tokens, max(form.samples, *plan.batches), SEED))
        for budget, batch in product(plan.budgets or (None,), plan.batches):
            whole = len(samples) - len(samples) % batch
            if not whole:
                session.notice(f"{asked.name} has {len(samples)} samples of {tokens:,} tokens, too few for {batch}")
                continue
            varied: dict[str, Any] = {"budget": budget} if budget is not None else {}
            varied |= {"batch": batch} if len(plan.batches) > 1 else {}
            yield Cell(
                name=" ".join([asked.name, f"{tokens:,}", *(f"{what} {value}" for what, value in varied.items())]),
                settings={**asked.settings, "context": tokens, **varied},
                samples=samples[:whole],
                systems=tuple(systems),
                new_tokens=min(form.new_tokens, asked.task.new_tokens),
                repeats=form.repeats,
                batch=batch,
                config=session.config if budget is None else replace(session.config, budget=budget),
            )


def _findings(plan: Plan, cells: Sequence[CellRecord]) -> dict[str, Any]:
    found = {"entropy": entropy_findings, "regret": regret_findings}.get(plan.wants)
    return found(cells) if found else {}
