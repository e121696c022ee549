"""An answer or a summary, from one prompt or in parts, with what became of its quotes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from spsl_cli.answer import Answer
from spsl_cli.citing.citations import Status, cite
from spsl_cli.documents import Collection
from spsl_cli.errors import PromptTooLongError, SpslError
from spsl_cli.request import Request
from spsl_cli.session import Session
from spsl_cli.workflows.in_parts import answer_in_parts
from spsl_cli.workflows.one_prompt import answer_once


@dataclass(frozen=True)
class Sources:
    """What texts were made of, and how many tokens each of these documents took."""

    collection: Collection
    tokens: tuple[int, ...]


def answer(session: Session, collection: Collection, request: Request, sources: Sources | None = None) -> Answer:
    """Answer from all documents; what does not fit into one prompt is answered in parts if the settings say so.

    `sources`: what the documents were made of, if not they themselves: quotes are looked up there, and they are named.
    Raises PromptTooLongError if they do not, and KeyboardInterrupt for Ctrl-C before the first token.
    """
    begun = session.begin_answer()
    try:
        given = answer_once(session, collection, request, begun)
    except PromptTooLongError as why:
        if session.settings.overflow != "map-reduce":
            raise
        given = answer_in_parts(session, collection, request, why, begun)
    structured = None if request.schema is None else _structured(session, given, request.schema)
    citations = cite(given.text, (sources.collection if sources else collection).documents)
    for citation in citations:
        session.notice(citation.told(), warning=citation.status is Status.UNVERIFIED)
    if sources is not None:
        given = replace(given, collection=sources.collection, document_tokens=sources.tokens)
    return replace(given, citations=citations, structured=structured, warnings=tuple(session.warnings))


def _structured(session: Session, given: Answer, schema: dict[str, Any]) -> Any:
    """The answer's JSON. Raises SpslError for one that does not follow the schema, unless it was cut by Ctrl-C."""
    from spsl_cli.structured import check  # noqa: PLC0415 only where a schema is given

    reason = check(given.text, schema)
    if reason is None and given.finish_reason == "length" and given.text[-1:].isdigit():
        reason = "the number at its end may have been cut"
    if reason is None:
        return json.loads(given.text)
    if given.finish_reason == "interrupted":
        session.notice("interrupted: the answer is not JSON of the schema")
        return None
    hint = "give more --max-new-tokens" if given.finish_reason == "length" else "make the schema simpler"
    raise SpslError(f"the answer does not follow the schema: {reason}", hint=hint)
