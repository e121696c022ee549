"""The tokens of one answer: where they end, and why."""

from __future__ import annotations

from collections.abc import Collection, Sequence


class Output:
    """New tokens in order. Takes them in blocks and cuts a block at the first stop token or at the length limit."""

    def __init__(self, max_new_tokens: int, stop_token_ids: Collection[int]) -> None:
        self.max_new_tokens = max_new_tokens
        self.stop_token_ids = frozenset(stop_token_ids)
        self.token_ids: list[int] = []
        self.finish_reason: str | None = None

    @property
    def remaining(self) -> int:
        """How many more tokens may come."""
        return self.max_new_tokens - len(self.token_ids)

    def take(self, token_ids: Sequence[int]) -> int:
        """Append what counts of these tokens (a stop token counts, what follows it does not); returns how many."""
        taken = 0
        for token in token_ids[: self.remaining]:
            self.token_ids.append(token)
            taken += 1
            if token in self.stop_token_ids:
                self.finish_reason = "stop"
                return taken
        if self.remaining == 0:
            self.finish_reason = "length"
        return taken
