"""Samples of a task as prompts of a session, in the words of `ask` and `summarize`: prefilled, and read back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from spsl_cli.bench.tasks.base import Sample
from spsl_cli.documents import Collection, Document, Page
from spsl_cli.model_facts import memory_errors
from spsl_cli.request import Request
from spsl_cli.session import Prepared, Session

if TYPE_CHECKING:
    from spsl_cli.decoding.run import DecodingRun


class Prompts(Protocol):
    """Makes runs of samples, and text of their outputs."""

    def prefilled(self, samples: Sequence[Sample], new_tokens: int) -> DecodingRun:
        """The samples as the rows of a batch, in the cache, with room for `new_tokens` behind each."""
        ...

    def answers(self, token_ids: Sequence[Sequence[int]]) -> list[str]:
        """What the rows of the last run say."""
        ...


class SessionPrompts:
    """The prompts of a session made with `baselines`, of its model and settings.

    Asked for what it was asked for last, it has it still: cells that differ in budget alone prefill once.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._prepared: list[Prepared] = []
        self._asked: tuple[tuple[Sample, ...], int] | None = None
        self._run: DecodingRun | None = None

    def prefilled(self, samples: Sequence[Sample], new_tokens: int) -> DecodingRun:
        """As in `Prompts`. Raises PromptTooLongError for a sample that does not fit, and OutOfMemoryError."""
        asked = (tuple(samples), new_tokens)
        if self._run is None or self._asked != asked:
            self._run = None  # its memory is free before another takes its own
            self._run = self._made(samples, new_tokens)
            self._asked = asked
        return self._run

    def _made(self, samples: Sequence[Sample], new_tokens: int) -> DecodingRun:
        from spsl_cli.decoding.run import DecodingRun  # noqa: PLC0415 torch takes seconds

        session = self._session
        origin: Mapping[str, str] = {**session.settings.origin, "max_new_tokens": "suite"}
        session.settings = replace(session.settings, max_new_tokens=new_tokens, origin=origin)
        self._prepared = [session.prepare(Collection((_document(sample),)), _request(sample)) for sample in samples]
        first = self._prepared[0]
        requests = [prepared.run.requests[0] for prepared in self._prepared]
        run = DecodingRun(first.run.target, requests, first.run.config)
        with memory_errors(first.loaded.device, run.capacity):
            session.prefill(run)
        return run

    def answers(self, token_ids: Sequence[Sequence[int]]) -> list[str]:
        """As in `Prompts`, without what a reasoning model thinks."""
        from spsl_cli.prompting.thinking import ThinkingText  # noqa: PLC0415 with the model

        texts = []
        for prepared, ids in zip(self._prepared, token_ids, strict=True):
            text = ThinkingText(prepared.loaded.tokenizer, prepared.stop_ids, prepared.prompt.ids)  # type: ignore[arg-type]  # as in `Session`
            text.push(ids)
            text.flush()
            texts.append(text.text)
        return texts


def _request(sample: Sample) -> Request:
    if sample.wording == "summarize":
        return Request("summarize", cite="none")
    return Request(sample.wording, sample.question, cite="none")


def _document(sample: Sample) -> Document:
    digest = hashlib.sha256(sample.text.encode()).hexdigest()
    return Document(f"{sample.task}-{sample.number}", digest, "text/plain", (Page(1, sample.text),), "utf-8")
