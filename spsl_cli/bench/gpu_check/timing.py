"""How long work takes on a device: median seconds of several repeats, and the host's own share of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import torch

REPEATS = 7
WARM_UPS = 2


@dataclass(frozen=True)
class Timing:
    """Seconds from the first to the last of the work's kernels, and until the host had handed them all over."""

    seconds: float
    host: float


def timed(work: Callable[[], object], device: torch.device, before: Callable[[], object] | None = None) -> Timing:
    """Time `work`, by events on the device on CUDA; `before` runs untimed before each repeat."""
    taken, host = [], []
    for turn in range(-WARM_UPS, REPEATS):
        if before is not None:
            before()
        seconds, own = _once(work, device)
        if turn >= 0:
            taken.append(seconds)
            host.append(own)
    return Timing(median(taken), median(host))


def _once(work: Callable[[], object], device: torch.device) -> tuple[float, float]:
    if device.type != "cuda":
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        return seconds, seconds
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    torch.cuda.synchronize(device)
    start = time.perf_counter()
    begin.record()
    work()
    host = time.perf_counter() - start
    end.record()
    torch.cuda.synchronize(device)
    return begin.elapsed_time(end) / 1000, host


def busy_seconds(work: Callable[[], object], device: torch.device) -> float | None:
    """Seconds that the kernels of `work` run; None on a CPU, and where the profiler sees none."""
    if device.type != "cuda":
        return None
    from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415

    work()
    torch.cuda.synchronize(device)
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        work()
        torch.cuda.synchronize(device)
    return sum(event.self_device_time_total for event in profiler.key_averages()) / 1e6 or None


def copy_bandwidth(device: torch.device, size: int) -> float:
    """Bytes a second that a copy of `size` bytes reads and writes, both counted."""
    source = torch.empty(size, dtype=torch.uint8, device=device).fill_(1)
    target = torch.empty_like(source)
    return 2 * size / timed(lambda: target.copy_(source), device).seconds
