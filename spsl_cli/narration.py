"""Decoder events with token ids -> events with text, for whoever shows them. Only this file puts the two together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from spsl_cli.events import Draft, Event, Piece, RoundEvent, SpeculationStats, TextEvent, TokenKind, Tokens
from spsl_cli.prompting.detokenize import piece
from spsl_cli.prompting.thinking import Part, ThinkingText

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class Narrator:
    """Tells one decoding; `stop_ids` are never shown.

    A reasoning model's thinking is kept apart from the answer, and told as text only with `show_thinking`.
    `prompt_ids` are the prompt, or its end: it may have opened the block of thinking already.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        stop_ids: frozenset[int],
        *,
        prompt_ids: Sequence[int] = (),
        show_thinking: bool = False,
    ) -> None:
        self._tokenizer = tokenizer
        self._stop_ids = stop_ids
        self._text = ThinkingText(tokenizer, stop_ids, prompt_ids)
        self._show_thinking = show_thinking
        self._last: Part | None = None
        self._draft: Draft | None = None
        self._told = 0

    @property
    def text(self) -> str:
        """The answer so far, without thinking."""
        return self._text.text

    @property
    def thinking(self) -> str:
        """The thinking so far; empty for models that mark none."""
        return self._text.thinking

    @property
    def thinking_open(self) -> bool:
        """Whether the model is still thinking; after `finish`, that the output ended before the thinking did."""
        return self._text.inside

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
        yield from self._tell(self._text.flush())

    def _push(self, token_ids: Sequence[int]) -> Iterator[Event]:
        self._told += len(token_ids)
        yield from self._tell(self._text.push(token_ids))

    def _tell(self, parts: Sequence[Part]) -> Iterator[Event]:
        for part in parts:
            if part.thinking and not self._show_thinking:
                continue
            changed = self._last is not None and self._last.thinking is not part.thinking
            yield TextEvent(f"\n\n{part.text}" if changed else part.text)
            self._last = part
