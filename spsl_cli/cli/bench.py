"""`spsl bench`: speed and acceptance on this machine; without a suite's name, one quick measurement."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from spsl_cli.cli.bench_reports import add_reports
from spsl_cli.cli.bench_suites import add_suites
from spsl_cli.cli.options import AsJson, Debug, Password, Plain, Quiet, with_selection, with_settings
from spsl_cli.cli.output import leave_with_skips, standard_input
from spsl_cli.config import Settings
from spsl_cli.documents import Selection
from spsl_cli.errors import UsageError
from spsl_cli.render import Streams, make_reporter, render_table, write_json
from spsl_cli.session import Session

DEFAULT_NEW_TOKENS = 64
_MEASURE = "measure"


@with_settings
@with_selection
def bench(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH...]", help="Documents to summarize; else a built-in text.")
    ] = None,
    *,
    context: Annotated[
        int,
        typer.Option(
            "--context", metavar="N", min=1, help="Tokens of built-in text a row; the prompt around it comes on top."
        ),
    ] = 2000,
    batch: Annotated[
        int,
        typer.Option("--batch", metavar="N", min=1, help="Rows decoded together, each a part of the built-in text."),
    ] = 1,
    repeats: Annotated[int, typer.Option("--repeats", metavar="N", min=1, help="Counted repeats of each system.")] = 3,
    password: Password = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    plain: Plain = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
    selection: Selection,
    settings: Settings,
) -> None:
    """Measure decoding: tokens per second, acceptance, and with --compare-ar speedup and identity.

    Example: spsl bench --compare-ar --context 4000

    The commands below are suites that stand beside the paper's, and what is done with their reports. A document that
    is called like one of them is given as ./main.
    """
    from spsl_cli.bench.measure import builtin, measure  # noqa: PLC0415 not needed by other commands
    from spsl_cli.bench.runner import COLUMNS, bench_json, bench_rows, bench_size  # noqa: PLC0415

    if settings.origin["max_new_tokens"] == "default":
        settings = replace(settings, max_new_tokens=DEFAULT_NEW_TOKENS)
    if not settings.speculation:
        raise UsageError("bench measures speculation", hint="leave --no-speculation out")
    if settings.temperature > 0:
        raise UsageError("bench measures greedy decoding", hint="leave --temperature at 0")
    if paths and batch > 1:
        raise UsageError("a batch is made of parts of the built-in text", hint="leave PATH or --batch out")
    streams = Streams.detect(plain=plain)
    with make_reporter(streams, quiet=quiet, plain=plain) as reporter:
        session = Session(settings, reporter, baselines=True)
        if paths:
            collections = [session.read(paths, standard_input(), password, selection)]
        else:
            collections = builtin(session, context, batch)
        result, model = measure(session, collections, repeats, session.report)
    collection = collections[0]
    if as_json:
        write_json(streams, bench_json(result, asdict(model), collection))
        leave_with_skips(collection)
        return
    title = (
        f"{model.id}, {model.device} {model.dtype}: {bench_size(result)}, median (least-greatest) of {result.repeats}"
    )
    render_table(streams, title, COLUMNS, list(bench_rows(result)))
    leave_with_skips(collection)


class BenchGroup(TyperGroup):
    """A group with a command of its own: `spsl bench PATH... --options` is `bench` where no command's name is first."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.default = self.commands.pop(_MEASURE)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Of the default command, under the group's own name, where no command is named and no help is asked for."""
        completing = extra.get("resilient_parsing", False) and not args
        if completing or (args and (args[0] in self.commands or args[0] == "--help")):
            return super().make_context(info_name, args, parent, **extra)
        return self.default.make_context(info_name, args, parent, **extra)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Commands, or options of the default command."""
        if incomplete.startswith("-"):
            return list(self.default.shell_complete(ctx, incomplete))
        return list(super().shell_complete(ctx, incomplete))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The options of the default command, then the commands."""
        self.default.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


benchmarks = typer.Typer(
    cls=BenchGroup, help=bench.__doc__, subcommand_metavar="[PATH... | COMMAND]", rich_markup_mode=None
)
benchmarks.command(_MEASURE)(bench)
add_suites(benchmarks)
add_reports(benchmarks)
