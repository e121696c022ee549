"""`--dry-run`: what a command would take, and no model is run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from spsl_cli.cli.output import leave_with_skips
from spsl_cli.cli.read import collect
from spsl_cli.config import Settings
from spsl_cli.documents import Collection, Selection
from spsl_cli.environment import unknown_variables
from spsl_cli.errors import NoReadableInputError, SpslError
from spsl_cli.events import Notice
from spsl_cli.planning import Plan, make_plan, plan_json, unplanned_json
from spsl_cli.render import Streams, make_reporter, render_table, write_json
from spsl_cli.render.figures import duration
from spsl_cli.request import Request

MIB = 2**20


def dry_run(
    settings: Settings,
    prompts: Callable[[Collection], Sequence[tuple[Collection, Request]]],
    command: str,
    paths: list[str],
    password: str | None,
    selection: Selection,
    *,
    quiet: bool,
    plain: bool,
    as_json: bool,
) -> None:
    """Read the documents, and tell tokens, memory and what does not fit; leave as the run would, as far as is known.

    `prompts`: what would be asked of the documents read. Raises NoReadableInputError, PromptTooLongError and what
    finding the model raises, the JSON being printed all the same.
    """
    streams = Streams.detect(plain=plain)
    with make_reporter(streams, quiet=quiet, plain=plain) as report:
        for warning in unknown_variables(os.environ):
            report(Notice(warning))
        collection = collect(paths, password, selection, report)
        plan, error = None, None
        if collection.documents:
            try:
                plan = make_plan(settings, collection, prompts(collection))
            except SpslError as failed:
                error = failed
        else:
            error = NoReadableInputError("no readable input", hint="see the reasons above")
        for warning in plan.warnings if plan else ():
            report(Notice(warning))
    if as_json:
        write_json(streams, plan_json(plan) if plan else unplanned_json(command, collection))
    elif plan:
        _show(streams, plan)
    error = error or (plan.error if plan else None)
    if error is not None:
        raise error
    leave_with_skips(collection)


def _show(streams: Streams, plan: Plan) -> None:
    documents = zip(plan.collection.documents, plan.document_tokens, strict=True)
    rows = [(document.path, len(document.pages), f"{count:,}") for document, count in documents]
    render_table(streams, "documents", ("path", "pages", "tokens"), rows)
    tokens = {
        "prompt": plan.prompt_tokens,
        "of these read before": plan.cached_tokens,
        "new tokens at most": plan.new_tokens,
        "context of the model": plan.context_length,
    }
    if plan.longest_context is not None:
        tokens["longest context that fits into memory"] = plan.longest_context
    if plan.excess:
        tokens["too long by"] = plan.excess
    render_table(streams, "tokens", ("what", "tokens"), [(name, f"{count:,}") for name, count in tokens.items()])
    if plan.prefill_s is not None:
        streams.out.write(f"\nreading takes about {duration(plan.prefill_s)}, at the pace of the last runs\n\n")
    memory = plan.memory
    parts = {
        "weights": memory.weights, "keys and values": memory.kv, "draft view": memory.draft_view,
        "importance": memory.importance, "not committed or counted yet": memory.pending,
        f"workspace of {plan.prefill_chunk:,} tokens at a time": memory.workspace, "total": memory.total,
    }  # fmt: skip
    if plan.available is not None:
        parts["free now"] = plan.available
    fits = {True: "it fits", False: "it does not fit", None: "whether it fits is not known"}[plan.fits]
    title = f"memory on {plan.model.device} (MiB): {fits}"
    render_table(streams, title, ("what", "MiB"), [(name, f"{size / MIB:,.0f}") for name, size in parts.items()])
