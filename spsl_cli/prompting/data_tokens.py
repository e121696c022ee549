"""Text that is data -> token ids, none of which is a control token.

Data is whatever the user or a document brought: page text, file names, questions. This file does not know what the
ids will stand between, and it changes the text only where the tokenizer leaves no other way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spsl_cli.prompting.plain_tokenizer import PlainTokenizer, plain_tokenizer

if TYPE_CHECKING:
    from tokenizers import Encoding
    from transformers import PreTrainedTokenizerFast

# An encoding takes about 150 bytes a character for as long as it lives: long texts go through in groups of chunks.
_CHUNK_CHARACTERS = 65_536
_CHUNKS_AT_ONCE = 8

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# What stands in for a character that is a control token by itself, and for that substitute in turn.
_SUBSTITUTES = {"\ufffd": "?", "?": ""}


class DataEncoder:
    """`encode_data` for many texts on one tokenizer. `control_ids` are the ids that never come out."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self._plain: PlainTokenizer = plain_tokenizer(tokenizer)
        self.control_ids = self._plain.control_ids

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, in time that grows about as its length."""
        chunks = list(_chunks(_LONE_SURROGATE.sub("\ufffd", text)))
        ids: list[int] = []
        for start in range(0, len(chunks), _CHUNKS_AT_ONCE):
            ids += self._encode_group(chunks[start : start + _CHUNKS_AT_ONCE])
        return ids

    def _encode_group(self, texts: list[str]) -> list[int]:
        """Encode, cut whatever gave a control token, encode the pieces, until no text is left to encode."""
        parts: list[str | list[int]] = list(texts)
        while pending := list(dict.fromkeys(part for part in parts if isinstance(part, str))):
            pieces = dict(zip(pending, map(self._cut, pending, self._plain.encode_batch(pending)), strict=True))
            parts = [piece for part in parts for piece in (pieces[part] if isinstance(part, str) else [part])]
        return [token for part in parts if not isinstance(part, str) for token in part]

    def _cut(self, text: str, encoding: Encoding) -> list[str | list[int]]:
        """`text` as ids if none is a control token, else as shorter texts that lie side by side."""
        ids = self._plain.model_ids(encoding)
        if self.control_ids.isdisjoint(ids):
            return [ids]
        hits = [span for token, span in zip(ids, encoding.offsets, strict=True) if token in self.control_ids]
        if not any(start < end for start, end in hits):
            # These stand for no character (the normaliser made them up), so leaving them out loses nothing.
            return [[token for token in ids if token not in self.control_ids]]
        pieces: list[str | list[int]] = []
        done = 0
        for start, end in hits:
            begin = max(start, done)
            if end - begin > 1:
                middle = (begin + end) // 2
                pieces.append(text[done:middle])
                done = middle
            elif end - begin == 1:
                pieces.append(text[done:begin] + _SUBSTITUTES.get(text[begin], "\ufffd"))
                done = end
        return [piece for piece in (*pieces, text[done:]) if piece]


def encode_data(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    """The token ids of `text` as data.

    No id of the tokenizer's added-token table comes out, except those of entries that are white space only. Every
    character is kept that the tokenizer can represent; a character that is a control token by itself, and a lone
    surrogate, become U+FFFD. Raises UnsupportedModelError for a tokenizer that is not of the `tokenizers` library.
    """
    return DataEncoder(tokenizer).encode(text)


def _chunks(text: str) -> Iterator[str]:
    """`text` in pieces of bounded length, cut after a line or before a word, where tokens end anyway."""
    start = 0
    while len(text) - start > _CHUNK_CHARACTERS:
        end = start + _CHUNK_CHARACTERS
        cut = text.rfind("\n", start, end) + 1
        if cut <= start:
            cut = text.rfind(" ", start + 1, end)
        if cut <= start:
            cut = end
        yield text[start:cut]
        start = cut
    yield text[start:]
