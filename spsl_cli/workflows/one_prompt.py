"""One prompt answered: prefill, decoding, and the comparison with plain decoding if that is wanted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spsl_cli.answer import Answer, Timing
from spsl_cli.comparison import compare_with_plain
from spsl_cli.documents import Collection
from spsl_cli.events import Event, Finished
from spsl_cli.model_facts import memory_errors
from spsl_cli.narration import Narrator
from spsl_cli.request import Request
from spsl_cli.session import Session
from spsl_cli.workflows.looking import passages_looked_at

if TYPE_CHECKING:
    from spsl_cli.decoding.run import DecodingRun


def answer_once(session: Session, collection: Collection, request: Request, begun: float) -> Answer:
    """Answer from all documents in one prompt; quotes are not looked up. Raises what the stages raise.

    `begun` is when the answer began, on `time.perf_counter`. Ctrl-C before the first token raises KeyboardInterrupt;
    afterwards it ends the decoding and keeps what there is.
    """
    session.interrupts.allow()
    prepared = session.prepare(collection, request)
    run, loaded, prompt = prepared.run, prepared.loaded, prepared.prompt
    narrator = Narrator(
        loaded.tokenizer,  # type: ignore[arg-type]  # as in `Request.prompt`
        prepared.stop_ids,
        prompt_ids=prompt.ids,
        show_thinking=session.settings.show_thinking,
    )
    with memory_errors(loaded.device, run.capacity):
        session.prefill(run, prompt.ends)
        session.interrupts.defer()  # from here on there is an answer to lose
        first_token_s = time.perf_counter() - begun
        finish_reason = _decode(session, run, narrator)
        token_ids, stats, comparison = tuple(run.output.token_ids), run.stats(), None
        if session.settings.compare_ar and not session.interrupts.seen:
            comparison = compare_with_plain(run, session.report, lambda: session.interrupts.seen)
            if comparison is None:
                session.notice("interrupted: no comparison with autoregressive decoding")
        text = narrator.text.strip()
        looks = not session.interrupts.seen
        looked = passages_looked_at(prepared, collection, request, text, token_ids) if looks else ()
    if narrator.thinking_open:
        session.notice("the answer ended while the model was thinking; give more --max-new-tokens")
    session.report(Finished(finish_reason, stats, comparison))
    for passage in looked:
        session.notice(passage.told(), warning=False)
    if session.reuse is not None:
        if request.stage != "merge":  # nobody asks again about what a model has said of parts
            session.reuse.keep(run, prompt.documents_end, [document.path for document in collection.documents])
        session.reuse.remember(run)
    return Answer(
        command=request.task,
        question=request.question,
        text=text,
        finish_reason=finish_reason,
        model=prepared.facts,
        collection=collection,
        document_tokens=prompt.document_tokens,
        prompt_ids=tuple(prompt.ids),
        token_ids=token_ids,
        timing=Timing(
            load_s=session.load_s,
            ingest_s=session.ingest_s,
            prefill_s=run.prefill_s,
            decode_s=stats.decode_s,
            ttft_s=first_token_s,
            total_s=time.perf_counter() - begun,
        ),
        stats=stats,
        comparison=comparison,
        warnings=tuple(session.warnings),
        reused=run.reused,
        thinking=narrator.thinking.strip(),
        looked_at=looked,
    )


def _decode(session: Session, run: DecodingRun, narrator: Narrator) -> str:
    """Decode to the end, or to Ctrl-C; why the answer ends."""
    begun = time.perf_counter()
    for event in run.decode():
        _report_all(session, narrator.tell(event, run.stats, time.perf_counter() - begun))
        if session.interrupts.seen:
            break
    if run.output.finish_reason is None:
        session.notice("interrupted: the answer so far is kept")
    _report_all(session, narrator.finish(run.output.token_ids))
    return run.output.finish_reason or "interrupted"


def _report_all(session: Session, events: Iterator[Event]) -> None:
    for event in events:
        session.report(event)
