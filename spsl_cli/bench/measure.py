"""A benchmark as a run of the session: built-in text or documents, a prompt or several, all systems on one prefill."""

from __future__ import annotations

from collections.abc import Sequence

from spsl_cli.answer import ModelFacts
from spsl_cli.bench.runner import BenchResult, run_bench
from spsl_cli.bench.text import builtin_document
from spsl_cli.documents import Collection
from spsl_cli.events import Finished, Progress
from spsl_cli.model_facts import memory_errors
from spsl_cli.request import Request
from spsl_cli.session import Report, Session


def builtin(session: Session, tokens: int, batch: int) -> list[Collection]:
    """`batch` parts of the built-in text, each cut to about `tokens` tokens of the session's model."""
    tokenizer = session.load().tokenizer
    documents = [builtin_document(tokenizer, tokens, part) for part in range(batch)]  # type: ignore[arg-type]  # as in `Session`
    return [Collection((document,)) for document in documents]


def measure(
    session: Session, collections: Sequence[Collection], repeats: int, report: Report
) -> tuple[BenchResult, ModelFacts]:
    """Summarize each of `collections`, all as one batch, with every system, `repeats` times each."""
    first, *others = collections
    prepared = session.prepare(first, Request("summarize"), *others)
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
