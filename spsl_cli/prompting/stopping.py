"""End an output at a string: for the `stop_when` of the decoder, which itself knows token ids only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_MARGIN = 12
"""Tokens decoded before those that can hold the string, so that characters of several tokens are whole."""


class StopStrings:
    """True for the first token with which the text of the new tokens holds one of these strings.

    That token stays in the output, with what of its text stands behind the string, as Hugging Face's `stop_strings`
    has it. The prompt does not count. Raises ValueError for no string or an empty one.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, strings: Sequence[str] | str) -> None:
        self.strings = (strings,) if isinstance(strings, str) else tuple(strings)
        if not all(self.strings) or not self.strings:
            raise ValueError("give at least one stop string, none of them empty")
        self._tokenizer = tokenizer
        # A token has at least one byte, so so many tokens hold any of the strings.
        self._tail = max(len(string.encode()) for string in self.strings) + _MARGIN

    def __call__(self, token_ids: Sequence[int]) -> bool:
        """Whether the output ends with the last of `token_ids`, all new tokens so far."""
        text = self._tokenizer.decode(
            list(token_ids[-self._tail :]), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return any(string in text for string in self.strings)
