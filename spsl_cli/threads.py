"""How many threads to compute on: one for each core that other programs leave.

Threads of one operation wait for each other many times a step. Where others hold a core, every wait lasts until they
let go of it: on a busy machine of two cores, two threads decoded up to 30 times slower than one (docs/log.md).
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")
_IDLE = (3, 4)
"""Which of a processor's times are idle ones: idle, and waiting for input or output."""


@dataclass(frozen=True)
class Moment:
    """Clock ticks of the processors that this process may use, busy and in all, and this process's own seconds."""

    busy: int
    total: int
    own_s: float
    cores: int


def now() -> Moment | None:
    """Read the clocks; None where the system does not say."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    cores = os.sched_getaffinity(0)
    try:
        lines = [line.split() for line in STAT.read_text(encoding="ascii").splitlines()]
    except OSError:
        return None
    times = [[int(word) for word in words[1:9]] for words in lines if words[0] in {f"cpu{core}" for core in cores}]
    if len(times) != len(cores):
        return None
    idle = sum(each[place] for each in times for place in _IDLE)
    total = sum(map(sum, times))
    return Moment(total - idle, total, time.process_time(), len(cores))


def held_by_others(since: Moment | None, until: Moment | None) -> float:
    """How many cores other programs held between two moments, on average; 0 where it cannot be told."""
    if since is None or until is None or until.total <= since.total or since.cores != until.cores:
        return 0.0
    elapsed = (until.total - since.total) / since.cores
    own = (until.own_s - since.own_s) * os.sysconf("SC_CLK_TCK")
    return min(max(until.busy - since.busy - own, 0.0) / elapsed, float(since.cores))


def threads_beside(others: float, threads: int) -> int:
    """Of so many threads as there are cores, those that others leave room for; one at least."""
    return max(1, min(threads, round(threads - others)))


def leave_cores_to_others(since: Moment | None) -> str | None:
    """Let torch compute on fewer threads if others have held cores `since` then; in words what was done, or None.

    A user who has set `OMP_NUM_THREADS` has said how many.
    """
    if "OMP_NUM_THREADS" in os.environ:
        return None
    import torch  # noqa: PLC0415 seconds

    others, before = held_by_others(since, now()), torch.get_num_threads()
    count = threads_beside(others, before)
    if count == before:
        return None
    torch.set_num_threads(count)
    return f"computing on {count} of {before} threads: other programs hold {others:.1f} cores"
