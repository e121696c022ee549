"""What a run would take, before anything but the tokenizer is loaded: tokens by document, memory, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from spsl_cli.answer import ModelFacts, documents_json, skipped_json
from spsl_cli.config import Settings
from spsl_cli.dividing import divide, room_behind
from spsl_cli.documents import Collection
from spsl_cli.errors import PromptTooLongError
from spsl_cli.outlook import Outlook, make_outlook
from spsl_cli.request import Request
from spsl_cli.reuse import key_of, kv_store
from spsl_cli.run_history import prefill_rate

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from spsl_cli.models import MemoryPlan
    from spsl_cli.prompting.layout import Prompt

SCHEMA = "spsl.plan/1"
_IN_PARTS = "the documents are {:,} tokens too long for one prompt: they would be asked in {:,} parts"


@dataclass(frozen=True)
class Plan:
    """The longest of the prompts wanted, `new_tokens` behind it, and the memory of both together.

    `cached_tokens` were read before; `prefill_s` is what the others would take at the pace of the last runs, if any.
    `excess`: the tokens by which it all exceeds `context_length`; `error` says so, unless it would be asked
    in `parts`, counted of all prompts that are too long; 0 where none is, or none would be.
    `available`: free bytes, None where the system does not tell, and then `longest_context`, the most positions that
    fit into them, is None too. `prefill_chunk`: tokens of the prompt that one forward takes.
    """

    command: str
    model: ModelFacts
    collection: Collection
    document_tokens: tuple[int, ...]
    prompt_tokens: int
    cached_tokens: int
    new_tokens: int
    context_length: int
    memory: MemoryPlan
    longest_context: int | None
    prefill_chunk: int
    available: int | None
    prefill_s: float | None
    excess: int
    parts: int
    error: PromptTooLongError | None
    warnings: tuple[str, ...] = ()

    @property
    def fits(self) -> bool | None:
        """Whether it fits into the free memory; None where that is not known."""
        return None if self.available is None else self.memory.fits(self.available)


def plan_json(plan: Plan) -> dict[str, Any]:
    """The object that `--dry-run --json` prints."""
    return {
        "schema": SCHEMA,
        "command": plan.command,
        "model": asdict(plan.model),
        "documents": documents_json(plan.collection, plan.document_tokens),
        "skipped": skipped_json(plan.collection),
        "usage": {
            "prompt_tokens": plan.prompt_tokens,
            "cached_tokens": plan.cached_tokens,
            "prefilled_tokens": plan.prompt_tokens - plan.cached_tokens,
            "new_tokens": plan.new_tokens,
            "context_length": plan.context_length,
            "excess": plan.excess,
            "parts": plan.parts,
        },
        "timing": {"prefill_s": plan.prefill_s},
        "plan": {
            **asdict(plan.memory), "total": plan.memory.total, "available": plan.available, "fits": plan.fits,
            "longest_context": plan.longest_context, "prefill_chunk": plan.prefill_chunk,
        },
        "warnings": list(plan.warnings),
    }  # fmt: skip


def unplanned_json(command: str, collection: Collection) -> dict[str, Any]:
    """The same where there is no document or no model to plan with; tokens are not known then."""
    documents = documents_json(collection, (None,) * len(collection.documents))
    return {
        "schema": SCHEMA,
        "command": command,
        "documents": documents,
        "skipped": skipped_json(collection),
        "plan": None,
    }


def make_plan(settings: Settings, collection: Collection, wanted: Sequence[tuple[Collection, Request]]) -> Plan:
    """Plan for these requests, each of some of the documents. What is to be asked in parts may be too long.

    Raises what finding the model and building the prompt raise.
    """
    from spsl_cli import models  # noqa: PLC0415 seconds

    outlook = make_outlook(settings)
    tokenizer = models.load_tokenizer(outlook.source.path)
    prompts = [request.prompt(tokenizer, of, settings.system) for of, request in wanted]
    longest = max(prompts, key=lambda prompt: len(prompt.ids))
    limit, count, excess, parts, error = outlook.context_length, len(longest.ids), 0, 0, None
    try:
        new = room_behind(longest, settings, limit)
    except PromptTooLongError as too_long:
        new, excess, error = settings.max_new_tokens, too_long.excess, too_long
    if error is not None and settings.overflow == "map-reduce":
        try:
            parts, error = _parts(settings, wanted, prompts, tokenizer, limit), None
        except PromptTooLongError as no_room:
            error = no_room
    positions = min(count + new, limit)
    cached = _cached(settings, outlook, longest, positions) if settings.cache else 0
    rate = prefill_rate(outlook.facts)
    warnings = (
        *outlook.source.warnings,
        *longest.notes,
        *([_IN_PARTS.format(excess, parts)] if parts else []),
    )
    return Plan(
        command=wanted[0][1].task,
        model=outlook.facts,
        collection=collection,
        document_tokens=_tokens(collection, wanted, prompts),
        prompt_tokens=count,
        cached_tokens=cached,
        new_tokens=new,
        context_length=limit,
        memory=outlook.plan(positions),
        longest_context=outlook.longest_context,
        prefill_chunk=outlook.chunk(positions),
        available=outlook.available,
        prefill_s=None if rate is None else (count - cached) / rate,
        excess=excess,
        parts=parts,
        error=error,
        warnings=warnings,
    )


def _parts(
    settings: Settings,
    wanted: Sequence[tuple[Collection, Request]],
    prompts: Sequence[Prompt],
    tokenizer: PreTrainedTokenizerBase,
    context: int,
) -> int:
    """In how many parts what does not fit would be asked. Raises PromptTooLongError where there is no room for them."""
    parts = 0
    for (of, request), prompt in zip(wanted, prompts, strict=True):
        try:
            room_behind(prompt, settings, context)
        except PromptTooLongError as why:
            asked = replace(request, stage="part", schema=None)
            parts += len(divide(tokenizer, of, asked, settings, context, why))
    return parts


def _tokens(
    collection: Collection, wanted: Sequence[tuple[Collection, Request]], prompts: Sequence[Prompt]
) -> tuple[int, ...]:
    """What each document takes."""
    counts: dict[str, int] = {}
    for (of, _), prompt in zip(wanted, prompts, strict=True):
        counts |= {document.path: count for document, count in zip(of.documents, prompt.document_tokens, strict=True)}
    return tuple(counts[document.path] for document in collection.documents)


def _cached(settings: Settings, outlook: Outlook, prompt: Prompt, positions: int) -> int:
    """How many tokens of the prompt are stored; files are not checked for damage."""
    from spsl_cli.decoding.prefix import saved_positions  # noqa: PLC0415 seconds
    from spsl_cli.storage import kv_file  # noqa: PLC0415

    key, chunk = key_of(outlook.facts), outlook.chunk(positions)
    return max(
        (
            saved_positions(
                kv_file.token_ids(header), header.splits, prompt.ids, chunk=chunk, wanted=(prompt.documents_end,)
            )
            for header in kv_store(settings.cache_size, lambda _: None).headers()
            if header.key == key
        ),
        default=0,
    )
