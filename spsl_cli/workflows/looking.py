"""Passages that an answer's tokens looked at, for answers without a quote that holds. They prove nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spsl_cli.citing.citations import Status, cite
from spsl_cli.citing.passages import LookedAt, looked_at
from spsl_cli.documents import Collection
from spsl_cli.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spsl_cli.session import Prepared


def passages_looked_at(
    prepared: Prepared, collection: Collection, request: Request, text: str, token_ids: Sequence[int]
) -> tuple[LookedAt, ...]:
    """Up to three, the most telling first; `token_ids` are the answer whose text is `text`.

    Nothing where they are not wanted: for summaries, parts, answers by a schema, with `--cite none`. Takes about two
    verifies of sixteen tokens, and one for each sixteen tokens of the answer.
    """
    wanted = request.task == "ask" and request.cite != "none" and request.stage == "whole" and request.schema is None
    if (
        not wanted
        or not text
        or any(quote.status is not Status.UNVERIFIED for quote in cite(text, collection.documents))
    ):
        return ()
    from spsl_cli.decoding.attribution import attribution  # noqa: PLC0415 seconds
    from spsl_cli.prompting.offsets import token_offsets  # noqa: PLC0415

    prompt, tokenizer = prepared.prompt, prepared.loaded.tokenizer
    weights = attribution(prepared.run, token_ids, prompt.spans, prompt.ends[-1]).tolist()
    offsets = token_offsets(tokenizer, prompt.ids, prompt.spans, collection.documents)  # type: ignore[arg-type]  # as in `Request.prompt`
    return looked_at(weights, offsets, collection.documents)
