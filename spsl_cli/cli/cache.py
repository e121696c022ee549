"""`spsl cache list` and `spsl cache clear`: what was read and is kept for the next question."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import typer

from spsl_cli.cli.options import AsJson, Debug
from spsl_cli.config import resolve_settings
from spsl_cli.errors import SpslError
from spsl_cli.render import Streams, render_table, write_json
from spsl_cli.reuse import kv_store
from spsl_cli.run_history import history_file
from spsl_cli.storage.kv_file import Header
from spsl_cli.storage.kv_store import KvStore

cache = typer.Typer(help="Documents read before, kept for the next question.", rich_markup_mode=None)


@cache.command("list")
def list_stored(*, as_json: AsJson = False, debug: Debug = False) -> None:  # noqa: ARG001 read by main()
    """List what is stored: the documents, the model, tokens, bytes, and when it was used last.

    Example: spsl cache list
    """
    streams = Streams.detect()
    store, warnings = _store()
    entries = [_entry(header) for header in store.headers()]
    if as_json:
        write_json(streams, {"schema": "spsl.cache/1", "folder": str(store.folder), "limit": store.limit,
                             "entries": entries, "warnings": warnings})  # fmt: skip
        return
    for warning in warnings:
        streams.err.write(f"spsl: {warning}\n")
    rows = [
        [
            _named(each["documents"]),
            each["model"],
            f"{each['tokens']:,}",
            f"{each['bytes'] / 1e6:,.0f} MB",
            each["used"],
        ]
        for each in entries
    ]
    render_table(streams, f"stored in {store.folder}", ("documents", "model", "tokens", "size", "used"), rows)


@cache.command("clear")
def clear(*, debug: Debug = False) -> None:  # noqa: ARG001 read by main()
    """Remove the stored keys and values, so that documents are read anew. The history of runs is kept.

    Example: spsl cache clear
    """
    store, _ = _store()
    try:
        count = store.clear()
    except OSError as error:
        raise SpslError(f"cannot clear {store.folder}: {error.strerror or error}", hint="remove it by hand") from error
    streams = Streams.detect()
    streams.err.write(f"removed {count} stored file{'' if count == 1 else 's'}")
    if (kept := history_file()).exists():
        streams.err.write(f"; questions and answers are remembered in {kept}, which you may delete")
    streams.err.write("\n")


def _entry(header: Header) -> dict[str, Any]:
    used = datetime.fromtimestamp(header.path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    return {
        "path": str(header.path), "model": header.model, "documents": list(header.documents),
        "tokens": header.tokens, "bytes": header.size, "used": used,
    }  # fmt: skip


def _named(documents: list[str]) -> str:
    """The first of them, and how many more."""
    if not documents:
        return "-"
    return documents[0] if len(documents) == 1 else f"{documents[0]} and {len(documents) - 1} more"


def _store() -> tuple[KvStore, list[str]]:
    warnings: list[str] = []
    return kv_store(resolve_settings({}).cache_size, warnings.append), warnings
