"""What a step costs on this machine, measured as it runs: C_d (a draft step), C_v (the rest of a round), a plain step.

Knows seconds only. Medians over the last few rounds: one slow step (a page fault, another process) moves nothing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from statistics import median

import torch

RECENT = 15


class StepCosts:
    """Running medians in seconds; None until something was measured."""

    def __init__(self) -> None:
        self._draft: deque[float] = deque(maxlen=RECENT)
        self._fixed: deque[float] = deque(maxlen=RECENT)
        self._plain: deque[float] = deque(maxlen=RECENT)

    def observe_round(self, drafted: int, draft_s: float, fixed_s: float) -> None:
        """A round with a draft: `fixed_s` is all of it but the draft steps (refresh, mass, verify)."""
        self._draft.append(draft_s / drafted)
        self._fixed.append(fixed_s)

    def observe_plain(self, step_s: float) -> None:
        """A step without a draft, the attention mass not counted: what autoregressive decoding would pay."""
        self._plain.append(step_s)

    @property
    def draft_step_s(self) -> float | None:
        """C_d of Eq. 1 and 8."""
        return median(self._draft) if self._draft else None

    @property
    def round_s(self) -> float | None:
        """C_v of Eq. 1 and 8, with what else a round costs whatever its length."""
        return median(self._fixed) if self._fixed else None

    @property
    def plain_step_s(self) -> float | None:
        """One token without speculation."""
        return median(self._plain) if self._plain else None


def clock(device: torch.device) -> Callable[[], float]:
    """A clock that reads seconds once the device has done what it was given."""
    if device.type != "cuda":
        return time.perf_counter

    def synchronised() -> float:
        torch.cuda.synchronize(device)
        return time.perf_counter()

    return synchronised
