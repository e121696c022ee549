"""What a caller may choose about a decoding: frozen values, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

K_MAX = 16
"""The longest draft: the largest candidate of the draft-length controller and of a fixed k."""

STRICT_ROWS = 32
"""Rows of every forward behind the prompt in strict mode: room for the longest draft and its pending token.

And whole tiles of the CPU's kernels: with 17 rows, the last of them were seen to be rounded in another way.
"""

STRICT_BLOCK = 512
"""Keys that attention reads together in strict mode: what the CPU's fused kernel takes at a time.

With blocks of 64 to 256, rounding was seen to change where a sequence grew into the next.
"""

Controller = Literal["calibrated", "entropy", "disco", "adaedl", "svip", "lookup-only", "fixed"]
Index = Literal[
    "sparsespec-l", "per-query-head", "vegas", "pillar", "snapkv", "streaming", "quest", "h2o", "pyramidkv"
]  # fmt: skip
INDEXES: tuple[str, ...] = get_args(Index)

DEFAULT_BUDGET = 0.10
"""Share of the committed positions that a draft may read; the paper finds its optimum near 10 %."""


@dataclass(frozen=True)
class SamplingConfig:
    """How a token is chosen from the logits.

    temperature: 0 is greedy; above, tokens are drawn from the softmax of logits / temperature.
    top_k: of the likeliest tokens only so many (0: all). top_p: the fewest whose probability reaches this much.
    repetition_penalty: divides positive and multiplies negative logits of tokens that the sequence holds, the prompt
    included; 1 is none, and it applies to greedy decoding too. seed: the same seed gives the same tokens; from 0 on,
    below 2**62.

    Raises ValueError for a value outside its range.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        penalty = self.repetition_penalty
        for name, fits, wanted in (
            ("temperature", is_real(self.temperature) and 0 <= self.temperature < float("inf"), "at least 0"),
            ("top_p", is_real(self.top_p) and 0 < self.top_p <= 1, "in (0, 1]"),
            ("top_k", is_whole(self.top_k) and self.top_k >= 0, "a whole number of at least 0"),
            ("repetition_penalty", is_real(penalty) and 0 < penalty < float("inf"), "above 0"),
            ("seed", is_whole(self.seed) and 0 <= self.seed < 2**62, "a whole number of at least 0, below 2**62"),
        ):
            if not fits:
                raise ValueError(f"{name} must be {wanted}, got {getattr(self, name)!r}")


@dataclass(frozen=True)
class DecodeConfig:
    """How SparseSpec-L decodes.

    budget: positions a draft may read: a share of the committed positions (float in (0, 1]) or a number (int).
    sink, recent: how many first and last positions are always among them (fewer where the budget is smaller).
    window: W of Eq. 3, how many committed queries the importance looks back over.
    k: draft length, 1 to `K_MAX`, or "auto" for the controller.
    controller: "calibrated" (rates from measured costs and a learned chance of acceptance; plain decoding is one of its
    choices), "entropy" (Eq. 6-8 of the paper), a published stopping rule ("disco", "adaedl", "svip"; see
    `spsl_cli.decoding.controllers`) or "fixed" (follows from an integer `k`).
    lookup: whether earlier text is looked up for drafts; None: with the controllers "calibrated" and "lookup-only".
    index: which positions a draft reads: "sparsespec-l" or another published design, see `spsl_cli.decoding.policies`.
    importance: "window" sums the mass of exactly the last W queries; "decayed" forgets 1/W of the sum with every query
    (of the indexes that count committed queries; the others sum theirs anew).
    refresh_every: sparse drafts from one refresh of the view to the next; between, what is committed joins the view.
    counted: how many of the queries committed since the last refresh count, the last ones; None: all (and at first).
    speculation: False is plain autoregressive decoding on the same buffers.
    strict: every forward behind the prompt has the same shape, `STRICT_ROWS` rows, so that rounding does not depend on
    what was drafted, nor on other rows of a batch; slower. Meant for 16-bit types.
    prefill_chunk: prompt positions a forward; None chooses by device.
    graphs: whether forwards behind the prompt have fixed shapes, replayed as CUDA graphs; None: on one CUDA device;
    True: elsewhere too, run as they are, which is slower.

    Raises ValueError for a value outside its range.
    """

    budget: float | int = DEFAULT_BUDGET
    sink: int = 4
    recent: int = 32
    window: int = 16
    k: Literal["auto"] | int = "auto"
    controller: Controller = "calibrated"
    lookup: bool | None = None
    index: Index = "sparsespec-l"
    importance: Literal["window", "decayed"] = "decayed"
    refresh_every: int = 1
    counted: int | None = None
    speculation: bool = True
    strict: bool = False
    prefill_chunk: int | None = None
    graphs: bool | None = None

    def __post_init__(self) -> None:
        self._check_budget()
        if self.k != "auto" and not (is_whole(self.k) and 1 <= self.k <= K_MAX):
            raise ValueError(f"k must be 'auto' or a whole number in 1..{K_MAX}, got {self.k!r}")
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value not in allowed or is_whole(value):
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
        if self.controller == "fixed" and self.k == "auto":
            raise ValueError("controller 'fixed' needs a draft length: give k")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not (is_whole(value) and value >= least) and (value is not None or name not in _MAY_BE_NONE):
                raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")

    def _check_budget(self) -> None:
        if isinstance(self.budget, float):
            if not 0.0 < self.budget <= 1.0:
                raise ValueError(f"budget as a share must lie in (0, 1], got {self.budget}")
        elif not (is_whole(self.budget) and self.budget >= 1):
            raise ValueError(f"budget must be a share (float) or at least 1 position (int), got {self.budget!r}")

    @property
    def controller_name(self) -> str:
        """The controller in force: an integer `k` fixes the draft length."""
        return self.controller if self.k == "auto" else "fixed"

    @property
    def is_economical(self) -> bool:
        """Whether plain steps come between drafts: then what a draft behind them costs decides whether it comes."""
        return self.controller_name == "calibrated"

    @property
    def looks_up(self) -> bool:
        """Whether earlier text is looked up."""
        return self.controller_name in ("calibrated", "lookup-only") if self.lookup is None else self.lookup


def is_whole(value: object) -> bool:
    """An int, and not a bool that only counts as one."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """A number that can be compared, and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


_LEAST = {"window": 1, "refresh_every": 1, "counted": 1, "sink": 0, "recent": 0, "prefill_chunk": 1}
_MAY_BE_NONE = ("counted", "prefill_chunk")
_CHOICES: dict[str, tuple[object, ...]] = {
    "controller": get_args(Controller),
    "lookup": (None, True, False),
    "index": INDEXES,
    "importance": ("window", "decayed"),
    "speculation": (True, False),
    "strict": (True, False),
    "graphs": (None, True, False),
}
