"""`spsl bench main` and the other suites: one command each, all with the same options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from spsl_cli.bench.records import SuiteOptions, report_json
from spsl_cli.cli.bench_files import CsvFile, MarkdownFile, PlotFiles, ReportFiles, write_tables
from spsl_cli.cli.options import AsJson, Debug, Plain, Quiet, settings_without
from spsl_cli.cli.output import checked_target
from spsl_cli.config import Settings
from spsl_cli.errors import ExitCode, UsageError
from spsl_cli.render import Streams, make_reporter, write_json
from spsl_cli.render.answer import json_text
from spsl_cli.session import Session
from spsl_cli.storage.atomic import write_whole

SUITES = {
    "main": "Systems side by side on one task, as in Table 1.",
    "generalization": "The method on every kind of task, as in Table 2.",
    "speculation-length": "Fixed draft lengths and adaptive ones: Table 3.",
    "context-length": "What a longer context changes: Figure 4, left.",
    "compression": "What a larger budget changes: Figure 4, right.",
    "batch": "Several prompts decoded together.",
    "entropy": "How well draft entropy tells acceptance.",
    "refresh-cost": "What index and controller cost a round.",
    "controller-regret": "Adaptive drafts against the best fixed length.",
}
"""Every suite, and its line in the help."""

DECIDED = (
    "k", "controller", "index", "lookup", "speculation", "temperature", "top_p", "top_k", "seed", "max_new_tokens",
    "system", "compare_ar", "overflow", "show_thinking", "prompt_template",
)  # fmt: skip
"""Settings that a suite varies itself."""


def add_suites(group: typer.Typer) -> None:
    """A command for each suite."""
    suite_settings = settings_without(DECIDED)
    for name, what in SUITES.items():
        group.command(name, help=f"{what}\n\nExample: spsl bench {name} --quick")(suite_settings(_command(name)))


def _command(name: str) -> Callable[..., None]:
    def suite(
        dash: Annotated[str | None, typer.Argument(metavar="-", hidden=True)] = None,
        *,
        quick: Annotated[bool, typer.Option("--quick", help="The short form: minutes on two cores.")] = False,
        repeats: Annotated[
            int | None, typer.Option("--repeats", metavar="N", min=1, help="Counted repeats of each system.")
        ] = None,
        contexts: Annotated[
            list[int] | None, typer.Option("--context", metavar="N", min=1, help="Tokens of text; may repeat.")
        ] = None,
        systems: Annotated[
            list[str] | None, typer.Option("--systems", metavar="NAME,...", help="Only these systems; may repeat.")
        ] = None,
        tasks: Annotated[
            list[str] | None, typer.Option("--task", metavar="NAME", help="Only this task; may repeat.")
        ] = None,
        data: Annotated[
            list[str] | None,
            typer.Option("--data", metavar="PATH", help="Texts of yours, or a local file of a benchmark; may repeat."),
        ] = None,
        csv: CsvFile = None,
        markdown: MarkdownFile = None,
        plots: PlotFiles = None,
        output: Annotated[
            str | None, typer.Option("-o", "--output", metavar="FILE", help="Write the report as JSON: see 'show'.")
        ] = None,
        as_json: AsJson = False,
        quiet: Quiet = False,
        plain: Plain = False,
        debug: Debug = False,  # noqa: ARG001 read by main()
        settings: Settings,
    ) -> None:
        if dash is not None and (dash != "-" or not as_json):
            raise UsageError(f"bench {name} takes no {dash!r}", hint="give texts of yours with --data")
        _check(name, settings)
        options = SuiteOptions(
            quick=quick,
            repeats=repeats,
            contexts=tuple(contexts or ()),
            systems=tuple(word for given in systems or () for word in given.replace(",", " ").split()),
            tasks=tuple(tasks or ()),
            data=tuple(data or ()),
        )
        target = None if output is None else checked_target(output)
        files = ReportFiles.checked(csv, markdown, plots, as_json=as_json)
        _run(name, settings, options, files, Streams.detect(plain=plain),
             target=target, as_json=as_json, quiet=quiet, plain=plain)  # fmt: skip

    return suite


def _check(name: str, settings: Settings) -> None:
    given = [setting for setting in DECIDED if settings.origin[setting] == "option"]
    if given:
        raise UsageError(
            f"bench {name} decides --{given[0].replace('_', '-')} itself",
            hint="leave it out, or use spsl bench PATH...",
        )


def _run(
    name: str,
    settings: Settings,
    options: SuiteOptions,
    files: ReportFiles,
    streams: Streams,
    *,
    target: Path | None,
    as_json: bool,
    quiet: bool,
    plain: bool,
) -> None:
    """Measure, then write; what an interrupted suite has finished is written as well, and the code is 130."""
    from spsl_cli.bench.suites import run_suite  # noqa: PLC0415 seconds

    with make_reporter(streams, quiet=quiet, plain=plain) as reporter:
        session = Session(settings, reporter, baselines=True)
        report = run_suite(name, session, options, session.report)
    if target is not None:
        write_whole(target, json_text(report_json(report)) + "\n")
    files.write(streams, report)
    if as_json:
        write_json(streams, report_json(report))
    else:
        write_tables(streams, report, files.plots)
    if not report.complete:
        raise typer.Exit(ExitCode.INTERRUPTED)
