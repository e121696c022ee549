"""`spsl models list` and `spsl models show`: the models on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from spsl_cli.cli.options import AsJson, Debug
from spsl_cli.config import resolve_settings
from spsl_cli.render import Streams, render_table, write_json

models = typer.Typer(help="Models on this machine.", rich_markup_mode=None)
FIELDS = ("id", "path", "revision", "license", "context_length")


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
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="Id, folder or GGUF; else the default.")
    ] = None,
    *,
    revision: Annotated[str | None, typer.Option("--revision", help="Revision of a Hub model.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Use only what is on this machine.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
) -> None:
    """Show one model, fetching it first if need be: where it lies, its licence, its context length, why it is taken.

    Example: spsl models show --json
    """
    from spsl_cli.models import check_supported, context_length, load_config, resolve  # noqa: PLC0415 seconds

    settings = resolve_settings({"model": model, "revision": revision, "offline": offline or None})
    source = resolve(settings.model, revision=settings.revision, offline=settings.offline, device=settings.device)
    config = load_config(source.path)
    check_supported(config)
    facts: dict[str, Any] = {
        "id": source.id,
        "path": str(source.path),
        "revision": source.revision,
        "license": source.license,
        "context_length": context_length(config),
        "kind": str(source.kind),
        "reason": source.reason,
    }
    streams = Streams.detect()
    if as_json:
        write_json(streams, {"schema": "spsl.model/1", **facts})
    else:
        render_table(streams, source.id, ("fact", "value"), list(facts.items()))
