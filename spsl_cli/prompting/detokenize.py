"""Token ids, as they come, -> text that can be shown at once: complete characters only, and nothing twice.

The text of a token depends on its neighbours (one character over several tokens, a leading space), so a few tokens
are decoded again with each new one, and only what is new in their text is given out. This file does not know who shows
the text, and does not clean it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_BROKEN = "\ufffd"
# A character has at most four bytes and a token at least one: 12 tokens hold all bytes behind the last three
# characters and enough of those before them for the decoder to be in step again.
_WINDOW = 24
_KEPT = 12
_HELD = 3


class IncrementalText:
    """Detokenises a stream of ids.

    What `push` and `flush` give, put together, equals `tokenizer.decode(ids, skip_special_tokens=True,
    clean_up_tokenization_spaces=False)` of all ids pushed but those in `skip_ids`. One exception: a tokenizer with byte
    fallback spoils a whole run of bytes in that call if one of them is wrong; here the characters before it stay (and
    more than eight U+FFFD in a row, spelled as bytes, are taken for wrong ones).
    A push costs the same however long the text is.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, skip_ids: Collection[int] = ()) -> None:
        self._tokenizer = tokenizer
        special = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
        self._skipped = frozenset(skip_ids) | special
        # The tokens decoded together with the next one. Its first `_given` tokens were there when the text last ended
        # in a whole character; `_shown` characters of the text have been given out.
        self._window: list[int] = []
        self._given = 0
        self._shown = 0
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """Everything given out so far."""
        return "".join(self._parts)

    def push(self, ids: Iterable[int]) -> str:
        """Take the next ids; the text that is complete with them, often empty."""
        new = "".join([self._next(token) for token in ids if token not in self._skipped])
        self._parts.append(new)
        return new

    def flush(self) -> str:
        """What is left at the end of the stream: an unfinished character, as U+FFFD."""
        text = self._decode(self._window)
        rest = text[self._shown :]
        self._shown = max(self._shown, len(text))
        self._parts.append(rest)
        return rest

    def _next(self, token: int) -> str:
        self._window.append(token)
        text = self._decode(self._window)
        # A broken character at the end may be one whose last bytes are still to come.
        whole = len(text.rstrip(_BROKEN))
        if len(self._window) > _WINDOW:
            whole = max(whole, len(text) - _HELD)
        new = text[self._shown : whole]
        self._shown = max(self._shown, whole)
        if len(self._window) > _WINDOW:
            unshown = len(text) - self._shown
            self._window, self._given = self._window[-_KEPT:], 0
            self._shown = max(0, len(self._decode(self._window)) - unshown)
        elif whole == len(text):
            self._forget()
        return new

    def _decode(self, ids: list[int]) -> str:
        return _decode(self._tokenizer, ids, skip_special_tokens=True)

    def _forget(self) -> None:
        """All text of the window has been given out: drop the tokens that had been when this last was so."""
        recent = self._window[self._given :]
        if text := self._decode(recent):
            self._window, self._shown = recent, len(text)
        # Otherwise the older tokens stay: without text before it, a decoder would strip the next token's space.
        self._given = len(self._window)


def piece(tokenizer: PreTrainedTokenizerFast, token: int) -> str:
    """One token as a person may be shown it, its leading space included.

    A control token is its name, an incomplete character U+FFFD, and an id that the tokenizer does not know `[id]`.
    """
    if tokenizer.convert_ids_to_tokens(token) is None:
        return f"[{token}]"
    alone = _decode(tokenizer, [token], skip_special_tokens=False)
    # Behind another token a space is not stripped; the token itself is the one neighbour that is always at hand.
    behind = _decode(tokenizer, [token, token], skip_special_tokens=False)[len(alone) :]
    return behind if behind.strip() == alone.strip() else alone


def _decode(tokenizer: PreTrainedTokenizerFast, ids: list[int], *, skip_special_tokens: bool) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=skip_special_tokens, clean_up_tokenization_spaces=False))
