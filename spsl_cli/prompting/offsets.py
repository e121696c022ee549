"""Which character of which document a token of the prompt stands for.

The ids of a document's span are turned into text again, token by token, and its pages are found there behind the
header and the page marks, which stand for no character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spsl_cli.documents.document import Document
from spsl_cli.prompting.detokenize import IncrementalText
from spsl_cli.prompting.layout import page_marks

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Offset = tuple[int, int]
"""Which document (from 0), and which character of its `text` (from 0)."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def token_offsets(
    tokenizer: PreTrainedTokenizerFast,
    ids: Sequence[int],
    spans: Sequence[tuple[int, int]],
    documents: Sequence[Document],
) -> list[Offset | None]:
    """For every id of a prompt the character it begins with, blanks before a word left out; None outside all documents.

    `spans`: (start, end) of each document in `ids`, as `Prompt` has them. Exact where the tokenizer keeps the text as
    it is, to within a line where it composes characters (NFC). A page that it changes otherwise has no offsets.
    Time grows as the length of the documents, some 30 microseconds a token.
    """
    offsets: list[Offset | None] = [None] * len(ids)
    for number, ((start, end), document) in enumerate(zip(spans, documents, strict=True)):
        text, places = _spelled(tokenizer, ids[start:end])
        sources = _sources(text, document)
        for index, place in enumerate(places, start):
            source = sources[place] if place < len(sources) else -1
            if source >= 0:
                offsets[index] = (number, source)
    return offsets


def _spelled(tokenizer: PreTrainedTokenizerFast, ids: Sequence[int]) -> tuple[str, list[int]]:
    """The text of `ids`, and where in it the first character of each stands that is no blank."""
    stream = IncrementalText(tokenizer)
    places, pieces, length = [], [], 0
    for token in ids:
        piece = stream.push([token])
        blanks = len(piece) - len(piece.lstrip())
        places.append(length + (blanks if blanks < len(piece) else 0))
        pieces.append(piece)
        length += len(piece)
    pieces.append(stream.flush())
    return "".join(pieces), places


def _sources(text: str, document: Document) -> list[int]:
    """For each character of a span's text the character of the document it comes from, -1 for none."""
    sources = [-1] * len(text)
    cursor, begin = text.find("\n") + 1, 0  # a header is one line
    marks = page_marks(document) if document.paged else None
    for number, page in enumerate(document.pages):
        if marks is not None:
            mark = f"{marks[number]}\n"
            cursor = text.find(mark, cursor) + len(mark)
        own = _characters(text, cursor, page.text)
        sources[cursor : cursor + len(own)] = [begin + character for character in own]
        cursor += len(own) + (marks is None)  # a form feed between pages without marks
        begin += len(page.text) + 1
    return sources


def _characters(text: str, cursor: int, page: str) -> Sequence[int]:
    """For each character of a page that stands at `cursor` of `text` as a tokenizer spells it, which of `page` it is.

    Nothing if it stands there otherwise.
    """
    page = _LONE_SURROGATE.sub("\ufffd", page)
    if text.startswith(page, cursor):
        return range(len(page))
    lines = page.split("\n")
    composed = [unicodedata.normalize("NFC", line) for line in lines]
    if not text.startswith("\n".join(composed), cursor):
        return ()
    characters: list[int] = []
    begin = 0
    for line, shorter in zip(lines, composed, strict=True):
        size = len(shorter) + 1  # its end counted
        characters += [begin + place * (len(line) + 1) // size for place in range(size)]
        begin += len(line) + 1
    return characters[:-1]
