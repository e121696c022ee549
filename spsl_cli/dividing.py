"""Documents too long for one prompt -> the parts that are asked instead, each seen to fit. Asks nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from spsl_cli.config import Settings
from spsl_cli.documents import Collection, Document, Page
from spsl_cli.errors import PromptTooLongError
from spsl_cli.request import Request

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from spsl_cli.prompting.layout import Prompt

SMALLER = 0.85
"""What is left of a part's limit when one of the parts turns out not to fit after all."""

LEAST_LIMIT = 64
"""Tokens: with less room for documents there is no use in asking."""

BETWEEN = 2
"""Tokens that may stand between two pieces of a text, besides those of the pieces."""


def room_behind(prompt: Prompt, settings: Settings, context: int) -> int:
    """How many tokens may follow the prompt, of a model that takes `context` tokens in all.

    Raises PromptTooLongError if it does not fit.
    """
    from spsl_cli.prompting.budget import check_fits  # noqa: PLC0415 seconds

    explicit = settings.origin.get("max_new_tokens", "default") != "default"
    return check_fits(len(prompt.ids), settings.max_new_tokens, context, explicit=explicit)


def fitting_prompt(
    tokenizer: PreTrainedTokenizerBase, collection: Collection, request: Request, settings: Settings, context: int
) -> tuple[Prompt, int]:
    """The prompt, and `room_behind` it. Raises what that and building the prompt raise."""
    prompt = request.prompt(tokenizer, collection, settings.system)
    return prompt, room_behind(prompt, settings, context)


def divide(
    tokenizer: PreTrainedTokenizerBase,
    collection: Collection,
    request: Request,
    settings: Settings,
    context: int,
    why: PromptTooLongError,
) -> list[Collection]:
    """As few parts as there can be, of documents that do not fit into one prompt by `why`.

    `request`: as it is asked of each; the other arguments as for `fitting_prompt`. Raises `why` again, with what can be
    done, where there is no room for parts.
    """
    nothing = replace(collection.documents[0], pages=(Page(1, ""),))
    frame = request.prompt(tokenizer, Collection((nothing,)), settings.system)
    limit = context - settings.max_new_tokens - len(frame.ids)
    while limit >= LEAST_LIMIT:
        parts = [Collection(documents) for documents in _split(tokenizer, collection.documents, limit)]
        try:
            for part in parts:
                fitting_prompt(tokenizer, part, request, settings, context)
        except PromptTooLongError:
            limit = int(limit * SMALLER)
        else:
            return parts
    raise PromptTooLongError(
        why.what, excess=why.excess, hint="there is no room for parts: give less --max-new-tokens, or another model"
    ) from why


def _split(tokenizer: PreTrainedTokenizerBase, documents: Sequence[Document], limit: int) -> list[tuple[Document, ...]]:
    from spsl_cli.prompting.data_tokens import DataEncoder  # noqa: PLC0415 seconds
    from spsl_cli.prompting.parts import split  # noqa: PLC0415

    encoder = DataEncoder(tokenizer)  # type: ignore[arg-type]  # as in `Request.prompt`
    names = [PurePath(document.path).name for document in documents]
    overhead = max(len(encoder.encode(f"Document 100: {name}\n[page 1000]\n\n")) for name in names)
    return split(documents, lambda text: len(encoder.encode(text)) + BETWEEN, limit, overhead)
