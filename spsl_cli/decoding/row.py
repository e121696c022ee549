"""One sequence of a decoding: what is asked of it, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spsl_cli.decoding.chooser import Chooser
from spsl_cli.decoding.counters import Counters
from spsl_cli.decoding.lookup import Match, PromptLookup
from spsl_cli.decoding.output import Output


@dataclass(frozen=True)
class RowRequest:
    """A prompt, how its tokens are chosen and where its output ends; made anew for every decoding of the prompt.

    `greedy`: the same tokens come every time.
    """

    prompt_ids: list[int]
    make_chooser: Callable[[], Chooser]
    make_output: Callable[[], Output]
    greedy: bool = True


@dataclass
class Row:
    """One sequence while it is decoded; `sequence` is its place in the cache, `lookup` None where none is wanted."""

    sequence: int
    chooser: Chooser
    output: Output
    counters: Counters
    greedy: bool = True
    lookup: PromptLookup | None = None

    def looked_up(self, tail: Sequence[int] = (), limit: int = 1) -> Match | None:
        """What earlier text has behind the end of this one and `tail`."""
        return None if self.lookup is None else self.lookup.find(tail, limit)

    @property
    def pending(self) -> int:
        """The last token decided; its KV row is not written yet."""
        return self.output.token_ids[-1]

    @property
    def room(self) -> int:
        """How many tokens may be drafted: all that may still come but one, which the verify gives in any case."""
        return self.output.remaining - 1

    @property
    def finished(self) -> bool:
        """Whether the output has ended."""
        return self.output.finish_reason is not None

    def take(self, token_ids: list[int]) -> int:
        """Append what counts of these tokens to the output; returns how many."""
        taken = self.output.take(token_ids)
        new = self.output.token_ids[-taken:]
        self.chooser.note(new)
        if self.lookup is not None:
            self.lookup.note(new)
        return taken
