"""What a run says while it goes: frozen values, no behaviour. Whoever renders them decides what a person sees.

Decoder events carry token ids; the session adds text to them (`TextEvent`, `RoundEvent`) because only it knows the
tokenizer. Times are seconds. Nothing here imports torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Event:
    """Anything a run says."""


class TokenKind(StrEnum):
    """How a token came about: `PLAIN` by an ordinary step (or the prefill), the others in a speculative round."""

    PLAIN = "plain"
    ACCEPTED = "accepted"
    BONUS = "bonus"
    REJECTED = "rejected"


# ---- from the decoder; `sequence` tells the rows of a batch apart --------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prefill(Event):
    """`done` of `total` prompt positions are in the cache after `seconds`."""

    done: int
    total: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Draft(Event):
    """A draft is complete: its tokens, the entropy (nats) of the distribution each came from, and the k* aimed at."""

    token_ids: tuple[int, ...]
    entropies: tuple[float, ...]
    k_star: int
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class Verify(Event):
    """A draft has been checked: `accepted` of the `drafted` tokens stand, then `bonus_id` (None if cut before it)."""

    drafted: int
    accepted: int
    bonus_id: int | None
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class Tokens(Event):
    """New output tokens, in order, each with the way it came about (never `REJECTED`)."""

    token_ids: tuple[int, ...]
    kinds: tuple[TokenKind, ...]
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class SpeculationStats:
    """The counters of one decoding, of one sequence or of the `sequences` of a batch together.

    `enabled` is False for plain decoding. `controller`, `budget` (a share of the positions, or a number of them) and
    `index` are what was asked for. Of `rounds` (of every sequence) `k_histogram` says how many drafted how many tokens;
    of `drafted` tokens `accepted` entered the output, of those that lookup gave straight to the verify
    `lookup_accepted` of `lookup_drafted`. `new_tokens == sequences + accepted + bonus`: the first tokens come from the
    prefill.

    Times are seconds. `draft_s`, `verify_s`, `mass_s` and `refresh_s` are the shares of `decode_s`: drafting, verifying
    over the whole cache, attention mass of the committed queries (Eq. 3), index and gather (Eq. 4, 5). `plain_step_s`
    is the median of the timed plain steps, None when there was none.
    """

    enabled: bool
    controller: str
    budget: float | int
    index: str = "sparsespec-l"
    new_tokens: int = 0
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    bonus: int = 0
    lookup_drafted: int = 0
    lookup_accepted: int = 0
    k_histogram: dict[int, int] = field(default_factory=dict)
    prefill_s: float = 0.0
    decode_s: float = 0.0
    draft_s: float = 0.0
    verify_s: float = 0.0
    mass_s: float = 0.0
    refresh_s: float = 0.0
    plain_step_s: float | None = None
    sequences: int = 1

    @property
    def acceptance_rate(self) -> float:
        """Accepted over drafted tokens (alpha); 0 before anything was drafted."""
        return self.accepted / self.drafted if self.drafted else 0.0

    @property
    def mean_accepted(self) -> float:
        """Accepted draft tokens a round that drafted at least one."""
        drafting = sum(count for k, count in self.k_histogram.items() if k)
        return self.accepted / drafting if drafting else 0.0

    @property
    def tokens_per_s(self) -> float:
        """Tokens decoded after the first ones (which the prefill gives) per second of decoding."""
        return max(0, self.new_tokens - self.sequences) / self.decode_s if self.decode_s > 0 else 0.0

    @property
    def estimated_speedup(self) -> float | None:
        """Against plain steps at their median time; None until one was timed and something drafted."""
        if self.plain_step_s is None or self.decode_s <= 0 or not self.drafted:
            return None
        return self.tokens_per_s * self.plain_step_s / self.sequences


@dataclass(frozen=True, slots=True)
class Done(Event):
    """The decoding has ended: `stop` (a stop token or string), `length`, or `interrupted`."""

    finish_reason: str
    stats: SpeculationStats
    sequence: int = 0


# ---- from the session -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """Something the user should know: a fallback taken, an assumption made, an input skipped. One line."""

    text: str
    warning: bool = True


@dataclass(frozen=True, slots=True)
class Progress(Event):
    """`stage` ("fetch model", "read documents", "prefill", ...) stands at `done` of `total` `unit`s.

    `total` None means that the length is not known; `done == total` ends the stage. `left_s`: about how many seconds
    it will take still, where that can be told.
    """

    stage: str
    done: float
    total: float | None
    unit: str = ""
    seconds: float = 0.0
    left_s: float | None = None


@dataclass(frozen=True, slots=True)
class Started(Event):
    """Everything is known that stays the same for this decoding; the panel's heading."""

    command: str
    model: str
    device: str
    dtype: str
    documents: tuple[str, ...]
    prompt_tokens: int
    max_new_tokens: int
    controller: str
    budget: float | int
    question: str | None = None
    several: bool = False
    """Whether other answers come before or behind it in the same run."""


@dataclass(frozen=True, slots=True)
class TextEvent(Event):
    """New text of the answer, complete characters only."""

    text: str


@dataclass(frozen=True, slots=True)
class Piece:
    """One token as text, and how it came about."""

    text: str
    kind: TokenKind


@dataclass(frozen=True, slots=True)
class RoundEvent(Event):
    """One round as a person sees it: its tokens in order (rejected last), the k* aimed at, the counters so far."""

    pieces: tuple[Piece, ...]
    k_star: int | None
    stats: SpeculationStats
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Comparison(Event):
    """The same prompt decoded by plain autoregressive steps on the same prefill (contract: `comparison`).

    `identical` is None where tokens are drawn: then only the distributions are the same.
    """

    baseline: str
    tokens_per_s: float
    decode_s: float
    speedup: float | None
    identical: bool | None
    first_difference: int | None = None
    top2_margin: float | None = None


@dataclass(frozen=True, slots=True)
class Finished(Event):
    """The end of one answer as the panel tells it: reason, counters, and the comparison if there was one."""

    finish_reason: str
    stats: SpeculationStats
    comparison: Comparison | None = None
