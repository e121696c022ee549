"""Text measured in tokens by a tokenizer of the `tokenizers` library. Knows nothing of models and control tokens."""

from __future__ import annotations

from dataclasses import dataclass

from tokenizers import Tokenizer


@dataclass(frozen=True)
class TokenizerRuler:
    """A `Ruler`; `backend` is best one without control tokens (`prompting.plain_tokenizer`), as documents are data."""

    backend: Tokenizer

    def count(self, text: str) -> int:
        """How many tokens the text has."""
        return len(self.backend.encode_batch_fast([text], add_special_tokens=False)[0])

    def cut(self, text: str, tokens: int) -> str:
        """The beginning that the first `tokens` tokens spell, without a character that they spell only in part."""
        if tokens <= 0:
            return ""
        offsets = self.backend.encode(text, add_special_tokens=False).offsets
        if tokens >= len(offsets):
            return text
        return text[: min(offsets[tokens - 1][1], offsets[tokens][0])]
