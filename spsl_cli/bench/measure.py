"""A benchmark as a run of the session: built-in text or documents, one prompt, all systems on its prefill."""

from __future__ import annotations

from spsl_cli.answer import ModelFacts
from spsl_cli.bench.runner import BenchResult, run_bench
from spsl_cli.bench.text import builtin_document
from spsl_cli.documents import Collection
from spsl_cli.events import Finished, Progress
from spsl_cli.model_facts import memory_errors
from spsl_cli.session import Report, Request, Session


def builtin(session: Session, tokens: int) -> Collection:
    """The built-in text, cut to about `tokens` tokens of the session's model."""
    tokenizer = session.load().tokenizer
    return Collection((builtin_document(tokenizer, tokens),))  # type: ignore[arg-type]  # as in `Session`


def measure(session: Session, collection: Collection, repeats: int, report: Report) -> tuple[BenchResult, ModelFacts]:
    """Summarize `collection` with every system, `repeats` times each."""
    prepared = session.prepare(collection, Request("summarize"))
    with memory_errors(prepared.loaded.device, prepared.run.capacity):
        session.prefill(prepared.run)
        result = run_bench(
            prepared.run,
            repeats,
            compare=session.settings.compare_ar,
            tell=lambda name, done, total: report(Progress(f"measure {name}", done, total, "repeats")),
        )
    for system in result.systems:
        if system.stats is not None and system.stats.enabled:
            report(Finished(result.finish_reason, system.stats))
    return result, prepared.facts
