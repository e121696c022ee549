"""Summaries of several documents: one of each, and then one of all of them, made from those.

What was summarised before in the same way is taken from where it was kept, so that a run that was cut short goes on.
"""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass, replace
from typing import Any, Protocol

from spsl_cli import __version__
from spsl_cli.answer import Answer, answer_json
from spsl_cli.documents import Collection, Document, Page
from spsl_cli.errors import PromptTooLongError
from spsl_cli.request import Request
from spsl_cli.session import Session
from spsl_cli.workflows.answering import Sources, answer

OUTPUT_SETTINGS = ("system", "max_new_tokens", "temperature", "top_p", "top_k", "seed", "overflow", "prompt_template")
"""Settings on which the words of a summary depend, besides the model's."""


@dataclass(frozen=True)
class Summary:
    """What was said of one document, or of all of them (`document` None), and its JSON object.

    `made` is None where it was kept from an earlier run.
    """

    document: Document | None
    facts: dict[str, Any]
    made: Answer | None = None

    @property
    def text(self) -> str:
        """The summary itself."""
        return str(self.facts["answer"])


class Kept(Protocol):
    """Where summaries are kept, by document and by a key that tells how they are made."""

    def find(self, document: Document | None, key: str) -> dict[str, Any] | None:
        """The JSON object that was kept under this key."""
        ...

    def keep(self, document: Document | None, key: str, facts: dict[str, Any]) -> None:
        """Keep it, in place of what was there."""
        ...


def summarize(session: Session, collection: Collection, request: Request, kept: Kept | None = None) -> list[Summary]:
    """A summary of every document and, where there are several, one of all, which is the last.

    Ctrl-C ends it with what there is: raised as KeyboardInterrupt if there is nothing. Raises PromptTooLongError,
    before anything is decoded, naming the documents that do not fit, if they are not to be summarised in parts.
    """
    single = each_alone(collection)
    if session.settings.overflow != "map-reduce":
        _check_all_fit(session, single, request)
    made: list[Summary] = []
    many = len(single) > 1
    for number, one in enumerate(single, start=1):
        document = one.documents[0]
        asked = replace(request, note=f"document {number} of {len(single)}") if many else request
        made += _summary(session, one, asked, document, kept, (document.sha256,))
        if session.interrupts.seen:
            break
    if many and session.interrupts.seen:
        session.notice(f"interrupted: {len(made)} of {len(single)} documents have a summary")
    elif many:
        made += _of_all(session, collection, request, made, kept)
    if not made:
        raise KeyboardInterrupt
    return made


def each_alone(collection: Collection) -> list[Collection]:
    """A collection for every document."""
    return [Collection((document,), collection.skipped) for document in collection.documents]


def _summary(
    session: Session,
    collection: Collection,
    request: Request,
    document: Document | None,
    kept: Kept | None,
    made_of: tuple[str, ...],
    sources: Sources | None = None,
) -> list[Summary]:
    """One summary, kept or made; nothing if Ctrl-C came before its first token."""
    key = _key(session, request, made_of)
    facts = kept.find(document, key) if kept is not None else None
    if facts is not None:
        session.notice(f"{document.path if document else 'all documents'}: summarised before, kept", warning=False)
        return [Summary(document, facts)]
    try:
        made = answer(session, collection, request, sources)
    except KeyboardInterrupt:
        return []
    facts = answer_json(made)
    if kept is not None:
        if made.finish_reason == "interrupted":
            session.notice(f"{document.path if document else 'the last summary'}: interrupted, not written")
        else:
            kept.keep(document, key, facts)
    return [Summary(document, facts, made)]


def _of_all(
    session: Session, collection: Collection, request: Request, summaries: list[Summary], kept: Kept | None
) -> list[Summary]:
    texts = [
        Document(summary.document.path, "", "text/plain", (Page(1, summary.text),))
        for summary in summaries
        if summary.document is not None
    ]
    merging = replace(request, stage="merge", note="all documents")
    made_of = tuple(summary.text for summary in summaries)
    sources = Sources(collection, tuple(summary.facts["documents"][0]["tokens"] for summary in summaries))
    return _summary(session, Collection(tuple(texts), collection.skipped), merging, None, kept, made_of, sources)


def _check_all_fit(session: Session, single: list[Collection], request: Request) -> None:
    """PromptTooLongError for all that do not fit, before the first is read."""
    too_long: list[tuple[str, PromptTooLongError]] = []
    for one in single:
        try:
            session.check_fits(one, request)
        except PromptTooLongError as error:
            too_long.append((one.documents[0].path, error))
    if len(single) > 1 and too_long:
        path, worst = max(too_long, key=lambda pair: pair[1].excess)
        more = f" (and {len(too_long) - 1} more documents are too long)" if len(too_long) > 1 else ""
        raise PromptTooLongError(f"{path}: {worst.what}{more}", excess=worst.excess, hint=worst.hint)
    if too_long:
        raise too_long[0][1]


def _key(session: Session, request: Request, made_of: tuple[str, ...]) -> str:
    """Differs where the summary might."""
    settings = [getattr(session.settings, name) for name in OUTPUT_SETTINGS]
    wanted = (request.task, request.focus, request.length, request.stage, request.template, request.schema)
    parts = (__version__, astuple(session.facts), settings, wanted, made_of)
    return hashlib.sha256(repr(parts).encode()).hexdigest()
