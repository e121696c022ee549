"""How much memory was in use at most while something ran: on a GPU what torch took, else what the process held."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

_CLEAR, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
_RESET_PEAK = "5"
"""What sets a Linux process's peak back to what it holds now."""


class PeakMemory:
    """Bytes at most since `reset`, on a device as torch names it. All that systems share is part of it."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._known = False

    def reset(self) -> None:
        """From now on."""
        if self._device.startswith("cuda"):
            import torch  # noqa: PLC0415

            torch.cuda.reset_peak_memory_stats(self._device)
            self._known = True
            return
        self._known = False
        with contextlib.suppress(OSError):  # not Linux, or not allowed: then no peak is told
            _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
            self._known = True

    def read(self) -> int | None:
        """None where the system cannot tell the peak of a part of a process's life."""
        if not self._known:
            return None
        if self._device.startswith("cuda"):
            import torch  # noqa: PLC0415

            return int(torch.cuda.max_memory_allocated(self._device))
        stated = re.search(r"^VmHWM:\s*(\d+) kB", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
        return int(stated[1]) * 1024 if stated else None
