"""Decoder events with token ids -> events with text, for whoever shows them. Only this file puts the two together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from spsl_cli.events import Draft, Event, Piece, RoundEvent, SpeculationStats, TextEvent, TokenKind, Tokens
from spsl_cli.prompting.detokenize import IncrementalText, piece

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class Narrator:
    """Tells one decoding. `text` is what has been told of the answer so far; `stop_ids` are never shown."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, stop_ids: frozenset[int]) -> None:
        self._tokenizer = tokenizer
        self._stop_ids = stop_ids
        self._text = IncrementalText(tokenizer, skip_ids=stop_ids)
        self._draft: Draft | None = None
        self._told = 0

    @property
    def text(self) -> str:
        """The answer so far."""
        return self._text.text

    def tell(self, event: Event, stats: Callable[[], SpeculationStats], elapsed_s: float) -> Iterator[Event]:
        """What one decoder event amounts to for a reader: new text, and the round it came from."""
        if isinstance(event, Draft):
            self._draft = event
        if not isinstance(event, Tokens):
            return
        yield from self._push(event.token_ids)
        pieces = [
            Piece(piece(self._tokenizer, token), kind)
            for token, kind in zip(event.token_ids, event.kinds, strict=True)
            if token not in self._stop_ids
        ]
        draft, self._draft = self._draft, None
        if draft is not None:
            kept = event.kinds.count(TokenKind.ACCEPTED)
            rejected = draft.token_ids[kept:]
            pieces += [Piece(piece(self._tokenizer, token), TokenKind.REJECTED) for token in rejected]
        yield RoundEvent(tuple(pieces), None if draft is None else draft.k_star, stats(), elapsed_s)

    def finish(self, token_ids: Sequence[int]) -> Iterator[Event]:
        """The text of all of `token_ids`, the whole answer: what Ctrl-C kept from being told, what was held back."""
        yield from self._push(token_ids[self._told :])
        text = self._text.flush()
        if text:
            yield TextEvent(text)

    def _push(self, token_ids: Sequence[int]) -> Iterator[Event]:
        self._told += len(token_ids)
        text = self._text.push(token_ids)
        if text:
            yield TextEvent(text)
