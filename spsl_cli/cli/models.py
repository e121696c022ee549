"""`spsl models list`, `show` and `pull`: the models on this machine, and how they get there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from spsl_cli.cli.options import AsJson, Debug, Plain, Quiet
from spsl_cli.config import Settings, resolve_settings
from spsl_cli.environment import unknown_variables
from spsl_cli.errors import UsageError
from spsl_cli.events import Event, Notice, Progress
from spsl_cli.render import Streams, make_reporter, render_table, write_json

models = typer.Typer(help="Models on this machine.", rich_markup_mode=None)
FIELDS = ("id", "path", "revision", "license", "context_length")

Model = Annotated[str | None, typer.Argument(metavar="[MODEL]", help="Id, folder or GGUF; else the default.")]
Revision = Annotated[str | None, typer.Option("--revision", help="Revision of a Hub model.")]


@models.command("list")
def list_models(*, as_json: AsJson = False, debug: Debug = False) -> None:  # noqa: ARG001 read by main()
    """List the models that can be loaded without fetching anything.

    Example: spsl models list
    """
    from spsl_cli.models import installed  # noqa: PLC0415 seconds

    streams = Streams.detect()
    found = [{**asdict(model), "path": str(model.path)} for model in installed()]
    if as_json:
        write_json(streams, {"schema": "spsl.models/1", "models": found})
    else:
        render_table(streams, "models on this machine", FIELDS, [[model[name] for name in FIELDS] for model in found])


@models.command("show")
def show_model(
    model: Model = None,
    *,
    revision: Revision = None,
    offline: Annotated[bool, typer.Option("--offline", help="Use only what is on this machine.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    plain: Plain = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
) -> None:
    """Show one model, fetching it first if need be: where it lies, its licence, its context length, why it is taken.

    Example: spsl models show --json
    """
    settings = resolve_settings({"model": model, "revision": revision, "offline": offline or None})
    streams = Streams.detect(plain=plain)
    with make_reporter(streams, quiet=quiet, plain=plain) as report:
        facts = _facts(settings, report)
    _write(streams, facts, as_json=as_json)


@models.command("pull")
def pull_model(
    model: Model = None,
    *,
    revision: Revision = None,
    offline: Annotated[bool, typer.Option("--offline", hidden=True)] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    plain: Plain = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
) -> None:
    """Fetch a model completely, or its newer state, so that runs with --offline can use it; tell where it lies.

    Example: spsl models pull Qwen/Qwen3-4B-Instruct-2507
    """
    settings = resolve_settings({"model": model, "revision": revision, "offline": offline or None})
    if settings.offline:
        asked = "--offline" if offline else settings.origin["offline"]
        raise UsageError(f"nothing is fetched with {asked}", hint="leave it out, or see 'spsl models show --offline'")
    streams = Streams.detect(plain=plain)
    with make_reporter(streams, quiet=quiet, plain=plain) as report:
        facts = _facts(settings, report, pull=True)
    _write(streams, facts, as_json=as_json)


def _facts(settings: Settings, report: Callable[[Event], None], *, pull: bool = False) -> dict[str, Any]:
    """What is known of the model that `settings` name, once it is here and found fit to run.

    With `pull` the Hub is asked for a newer state, and the tokenizer is tried too: a run without a network must not be
    the first to find it missing.
    """
    from spsl_cli.models import check_supported, context_length, load_config, load_tokenizer, resolve  # noqa: PLC0415

    for warning in unknown_variables(os.environ):
        report(Notice(warning))
    begun: dict[str, float] = {}

    def progress(stage: str, done: float, total: float | None, unit: str) -> None:
        now = time.perf_counter()
        report(Progress(stage, done, total, unit, now - begun.setdefault(stage, now)))

    source = resolve(
        settings.model,
        revision=settings.revision,
        offline=settings.offline,
        device=settings.device,
        refresh=pull,
        progress=progress,
    )
    for warning in source.warnings:
        report(Notice(warning))
    config = load_config(source.path)
    check_supported(config)
    if pull:
        load_tokenizer(source.path)
    return {
        "id": source.id,
        "path": str(source.path),
        "revision": source.revision,
        "license": source.license,
        "context_length": context_length(config),
        "kind": str(source.kind),
        "reason": source.reason,
    }


def _write(streams: Streams, facts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        write_json(streams, {"schema": "spsl.model/1", **facts})
    else:
        render_table(streams, facts["id"], ("fact", "value"), list(facts.items()))
