"""The tokens of one answer: where they end, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

StopWhen = Callable[[Sequence[int]], bool]
"""Told all new tokens so far, whether the last of them ends the output."""


class Output:
    """New tokens in order. Takes them in blocks and cuts a block where the output ends.

    It ends with the first stop token, with the first token for which `stop_when` is true, or at the length limit.
    """

    def __init__(
        self, max_new_tokens: int, stop_token_ids: Collection[int] = (), stop_when: StopWhen | None = None
    ) -> None:
        self.max_new_tokens = max_new_tokens
        self.stop_token_ids = frozenset(stop_token_ids)
        self.stop_when = stop_when
        self.token_ids: list[int] = []
        self.finish_reason: str | None = None

    @property
    def remaining(self) -> int:
        """How many more tokens may come."""
        return self.max_new_tokens - len(self.token_ids)

    def take(self, token_ids: Sequence[int]) -> int:
        """Append these tokens up to the one that ends the output, itself included; returns how many."""
        taken = 0
        for token in token_ids[: self.remaining]:
            self.token_ids.append(token)
            taken += 1
            if token in self.stop_token_ids or (self.stop_when is not None and self.stop_when(self.token_ids)):
                self.finish_reason = "stop"
                return taken
        if self.remaining == 0:
            self.finish_reason = "length"
        return taken
