"""A long text that every machine has, as a document: the reference topics that come with Python itself."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from spsl_cli.bench.tasks.sources import builtin_texts
from spsl_cli.documents import Document, Page

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PART_CHARACTERS = 50_021
"""Where one part begins behind the one before."""


def builtin_document(tokenizer: PreTrainedTokenizerFast, tokens: int, part: int = 0) -> Document:
    """About `tokens` tokens of Python's language reference (some 120,000 in all), always the same; parts differ."""
    whole = "\n\n".join(builtin_texts())
    begin = part * PART_CHARACTERS % len(whole)
    text = (whole[begin:] + whole[:begin])[: 12 * tokens]
    ids = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    text = text[: ids[min(tokens, len(ids)) - 1][1]]
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Document("pydoc_data.topics", digest, "text/plain", (Page(1, text),), "utf-8")
