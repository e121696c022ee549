"""What each suite varies and which systems it compares, in its full and in its short form. Measures nothing.

The short form is made for a small model on two cores: one sample of a few thousand tokens, short outputs. The full form
asks for what the model's context holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spsl_cli.bench.systems.catalogue import AR, EAGER
from spsl_cli.errors import UsageError

_BASE = (AR, EAGER)
_ADAPTIVE = ("sparsespec-l", "auto")
_LENGTHS = (1, 2, 4, 6, 8, 12, 16)
EVERYTHING = (
    *_BASE, "hf-sdpa", "hf-prompt-lookup", "hf-assisted", "hf-early-exit", *_ADAPTIVE, "fixed-k4", "fixed-k8",
    "streaming-k4", "snapkv-k2", "vegas-k4", "pillar-k8", "quest-k4", "h2o-k4", "pyramidkv-k4", "disco", "adaedl",
    "svip", "lookup", "two-level-k8", "eagle3", "medusa", "rapid", "layerskip",
)  # fmt: skip


@dataclass(frozen=True)
class Form:
    """How much is measured: tokens of text, samples of each task, counted repeats, new tokens at most."""

    contexts: tuple[int, ...]
    tasks: tuple[str, ...]
    samples: int
    repeats: int
    new_tokens: int


@dataclass(frozen=True)
class Plan:
    """A suite. `budgets`, `batches`: what else varies between cells; () leaves it as it is set."""

    title: str
    systems: tuple[str, ...]
    quick: Form
    full: Form
    budgets: tuple[float, ...] = ()
    batches: tuple[int, ...] = (1,)
    wants: str = field(default="", repr=False)
    """What is found across its cells: "entropy", "regret", or nothing."""

    def form(self, *, quick: bool) -> Form:
        """The short or the full one."""
        return self.quick if quick else self.full


def _lengths(name: str, lengths: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"{name}-k{k}" for k in lengths)


_QUESTIONS = ("qa",)
_KINDS = ("qa", "niah", "niah-multikey", "summary", "copying", "writing")

PLANS: dict[str, Plan] = {
    "main": Plan(
        "Systems side by side (Table 1)",
        EVERYTHING,
        quick=Form((3000,), ("summary",), 1, 5, 64),
        full=Form((7000,), ("qa", "summary"), 3, 3, 128),
    ),
    "generalization": Plan(
        "One method, several kinds of task (Table 2)",
        (*_BASE, *_ADAPTIVE),
        quick=Form((2000,), _KINDS, 1, 5, 64),
        full=Form((7000,), _KINDS, 3, 3, 128),
    ),
    "speculation-length": Plan(
        "Draft length (Table 3, Figure 2)",
        (*_BASE, *_ADAPTIVE, *_lengths("fixed", _LENGTHS), *_lengths("snapkv", (2, 4, 8, 16)),
         *_lengths("streaming", (2, 4, 8, 16))),
        quick=Form((3000,), ("summary",), 1, 5, 64),
        full=Form((7000,), ("summary",), 3, 3, 128),
    ),
    "context-length": Plan(
        "Context length (Figure 4, left)",
        (*_BASE, *_ADAPTIVE, "fixed-k4", "snapkv-k2", "snapkv-k10", "streaming-k2"),
        quick=Form((500, 1000, 2000, 4000), ("summary",), 1, 5, 64),
        full=Form((1000, 2000, 4000, 7000, 14000, 28000, 56000), ("summary",), 3, 3, 128),
    ),
    "compression": Plan(
        "Budget of the drafts (Figure 4, right)",
        (*_BASE, "sparsespec-l", "fixed-k4", "snapkv-k2", "snapkv-k10", "streaming-k2"),
        quick=Form((3000,), ("summary",), 1, 5, 64),
        full=Form((7000,), ("summary",), 3, 3, 128),
        budgets=(0.02, 0.05, 0.1, 0.2, 0.4),
    ),
    "batch": Plan(
        "Several prompts together (batch scaling)",
        (*_BASE, *_ADAPTIVE, "fixed-k4", "snapkv-k2"),
        quick=Form((1000,), ("summary",), 4, 4, 48),
        full=Form((7000,), ("summary",), 4, 3, 128),
        batches=(1, 2, 4),
    ),
    "entropy": Plan(
        "What draft entropy tells of acceptance",
        (AR, "sparsespec-l", "fixed-k8"),
        quick=Form((2000,), ("qa", "summary"), 6, 1, 96),
        full=Form((7000,), ("qa", "summary"), 6, 1, 128),
        wants="entropy",
    ),
    "refresh-cost": Plan(
        "What index and controller cost",
        (AR, "sparsespec-l", "auto", "fixed-k4"),
        quick=Form((1000, 2000, 4000), ("summary",), 1, 5, 64),
        full=Form((2000, 7000, 14000, 28000), ("summary",), 3, 3, 128),
    ),
    "controller-regret": Plan(
        "Adaptive drafts against the best fixed length",
        (AR, *_ADAPTIVE, "disco", "adaedl", "svip", *_lengths("fixed", (1, 2, 4, 6, 8, 10, 12, 16))),
        quick=Form((2000,), ("niah", "summary", "writing"), 1, 5, 64),
        full=Form((7000,), _KINDS, 3, 3, 128),
        wants="regret",
    ),
}  # fmt: skip


def plan_of(name: str) -> Plan:
    """The suite of that name. Raises UsageError, with the choices, for an unknown one."""
    if name not in PLANS:
        raise UsageError(f"there is no suite '{name}'", hint=f"choose one of {', '.join(PLANS)}")
    return PLANS[name]
