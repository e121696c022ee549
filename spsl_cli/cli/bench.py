"""`spsl bench`: speed and acceptance on this machine, on a built-in text or given documents."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

import typer

from spsl_cli.cli.options import AsJson, Debug, Password, Plain, Quiet, with_selection, with_settings
from spsl_cli.cli.output import leave_with_skips, standard_input
from spsl_cli.config import Settings
from spsl_cli.documents import Selection
from spsl_cli.errors import UsageError
from spsl_cli.render import Streams, make_reporter, render_table, write_json
from spsl_cli.session import Session

DEFAULT_NEW_TOKENS = 64


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
