"""One answer with all that is known of how it came about, and its JSON form (schema `spsl.answer/1`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from spsl_cli.citing.citations import Citation
from spsl_cli.citing.passages import LookedAt
from spsl_cli.documents.document import Collection
from spsl_cli.documents.wording import ranges
from spsl_cli.events import Comparison, SpeculationStats

SCHEMA = "spsl.answer/1"

_SUMMED = (
    "new_tokens", "rounds", "drafted", "accepted", "bonus", "lookup_drafted", "lookup_accepted",
    "prefill_s", "decode_s", "draft_s", "verify_s", "mass_s", "refresh_s", "sequences",
)  # fmt: skip


@dataclass(frozen=True)
class ModelFacts:
    """What decoded: the contract's `model`."""

    id: str
    revision: str
    dtype: str
    device: str
    quantization: str | None


@dataclass(frozen=True)
class Timing:
    """Seconds by stage; `ttft_s` from the start of the run to the first token."""

    load_s: float
    ingest_s: float
    prefill_s: float
    decode_s: float
    ttft_s: float
    total_s: float


@dataclass(frozen=True)
class Answer:
    """An answer or a summary.

    `token_ids` are the new tokens as decoded, `prompt_ids` what they followed; `reused` of those were read before.
    `parts`: what the documents' parts said, where they did not fit into one prompt; `steps` every other decoding that
    went before this one's tokens. `thinking` is what a reasoning model wrote before the text, `structured` the text's
    JSON where a schema was given; `looked_at` are passages that its tokens attended to, which prove nothing.
    """

    command: str
    question: str | None
    text: str
    finish_reason: str
    model: ModelFacts
    collection: Collection
    document_tokens: tuple[int, ...]
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    timing: Timing
    stats: SpeculationStats
    comparison: Comparison | None
    warnings: tuple[str, ...]
    reused: int = 0
    citations: tuple[Citation, ...] = ()
    parts: tuple[Answer, ...] = ()
    steps: tuple[Answer, ...] = ()
    thinking: str = ""
    structured: Any = None
    looked_at: tuple[LookedAt, ...] = ()

    @property
    def covers(self) -> tuple[str, ...]:
        """The documents in words, with the pages that were read of them where they have pages."""
        told = []
        for document in self.collection.documents:
            numbers = [page.number for page in document.pages]
            told.append(f"{document.path}, {_pages(numbers)}" if document.paged else document.path)
        return tuple(told)


def _pages(numbers: Sequence[int]) -> str:
    return f"page{'s' if len(numbers) > 1 else ''} {ranges(numbers)}"


def answer_json(answer: Answer) -> dict[str, Any]:
    """The object that `ask --json` and `summarize --json` print."""
    return {
        "schema": SCHEMA,
        "command": answer.command,
        "question": answer.question,
        "answer": answer.text,
        "finish_reason": answer.finish_reason,
        "model": asdict(answer.model),
        "documents": documents_json(answer.collection, answer.document_tokens),
        "skipped": skipped_json(answer.collection),
        "citations": [_citation_json(citation) for citation in answer.citations],
        "looked_at": [_looked_at_json(passage) for passage in answer.looked_at],
        "usage": _usage([*answer.steps, answer]),
        "timing": asdict(answer.timing),
        "speculation": speculation_json(summed([*(step.stats for step in answer.steps), answer.stats])),
        "comparison": None if answer.comparison is None else asdict(answer.comparison),
        "warnings": list(answer.warnings),
        "thinking": answer.thinking or None,
        "structured": answer.structured,
        "parts": [_part_json(part) for part in answer.parts] or None,
        "token_ids": list(answer.token_ids),
        "prompt_token_ids": list(answer.prompt_ids),
    }


def _usage(answers: Sequence[Answer]) -> dict[str, int]:
    prompt, reused = sum(len(answer.prompt_ids) for answer in answers), sum(answer.reused for answer in answers)
    return {
        "prompt_tokens": prompt,
        "cached_tokens": reused,
        "prefilled_tokens": prompt - reused,
        "new_tokens": sum(len(answer.token_ids) for answer in answers),
    }


def _part_json(part: Answer) -> dict[str, Any]:
    return {
        "of": list(part.covers),
        "answer": part.text,
        "finish_reason": part.finish_reason,
        "usage": _usage([part]),
    }


def summed(decodings: Sequence[SpeculationStats]) -> SpeculationStats:
    """Decodings one after the other as one; several have no plain step in common, and so no estimated speedup."""
    last = decodings[-1]
    if len(decodings) == 1:
        return last
    sums = {name: sum(getattr(stats, name) for stats in decodings) for name in _SUMMED}
    histogram = sum((Counter(stats.k_histogram) for stats in decodings), Counter[int]())
    return replace(last, **sums, k_histogram=dict(sorted(histogram.items())), plain_step_s=None)


def _looked_at_json(passage: LookedAt) -> dict[str, Any]:
    place = passage.place
    return {
        "path": passage.path,
        "page": place.page,
        "label": place.label,
        "line": place.line,
        "text": passage.text,
        "weight": passage.weight,
    }


def _citation_json(citation: Citation) -> dict[str, Any]:
    place = citation.place
    return {
        "quote": citation.quote,
        "path": citation.path,
        "page": place.page if place else None,
        "label": place.label if place else None,
        "line": place.line if place else None,
        "status": citation.status.value,
        "source": citation.source,
    }


def answers_json(objects: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One answer's object as itself, several as `spsl.answers/1`."""
    return objects[0] if len(objects) == 1 else {"schema": "spsl.answers/1", "answers": list(objects)}


def documents_json(collection: Collection, tokens: Sequence[int | None]) -> list[dict[str, Any]]:
    """The contract's `documents`: facts, not text."""
    return [
        {
            "path": document.path,
            "sha256": document.sha256,
            "media_type": document.media_type,
            "pages": len(document.pages),
            "characters": document.characters,
            "tokens": count,
            "warnings": list(document.notices),
        }
        for document, count in zip(collection.documents, tokens, strict=True)
    ]


def skipped_json(collection: Collection) -> list[dict[str, str]]:
    """The contract's `skipped`."""
    return [{"path": skip.path, "reason": skip.reason} for skip in collection.skipped]


def read_json(collection: Collection) -> dict[str, Any]:
    """The object that `read --json` prints (schema `spsl.documents/1`)."""
    return {
        "schema": "spsl.documents/1",
        "documents": [
            {
                "path": document.path,
                "sha256": document.sha256,
                "media_type": document.media_type,
                "encoding": document.encoding,
                "warnings": list(document.warnings),
                "pages": [
                    {
                        "number": page.number,
                        "label": page.label,
                        "text": page.text,
                        "warnings": list(page.warnings),
                        "left_out": [{"line": left_out.line, "text": left_out.text} for left_out in page.left_out],
                    }
                    for page in document.pages
                ],
            }
            for document in collection.documents
        ],
        "skipped": skipped_json(collection),
    }


def speculation_json(stats: SpeculationStats) -> dict[str, Any]:
    """The contract's `speculation`. `bonus` and `mass_s` are more than it names: with them the sums come out."""
    return {
        "enabled": stats.enabled,
        "controller": stats.controller,
        "budget": stats.budget,
        "index": stats.index,
        "rounds": stats.rounds,
        "drafted": stats.drafted,
        "accepted": stats.accepted,
        "bonus": stats.bonus,
        "lookup_drafted": stats.lookup_drafted,
        "lookup_accepted": stats.lookup_accepted,
        "acceptance_rate": stats.acceptance_rate,
        "mean_accepted": stats.mean_accepted,
        "tokens_per_s": stats.tokens_per_s,
        "k_histogram": {str(k): count for k, count in stats.k_histogram.items()},
        "refresh_s": stats.refresh_s,
        "mass_s": stats.mass_s,
        "draft_s": stats.draft_s,
        "verify_s": stats.verify_s,
        "plain_step_s": stats.plain_step_s,
        "estimated_speedup": stats.estimated_speedup,
    }
