"""What this machine offers: processor, free memory, a folder for caches. torch is imported inside functions only."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_name() -> str:
    """As its maker calls it, where the system tells; else its kind."""
    try:
        told = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:  # not Linux
        told = None
    return told[1].strip() if told else platform.processor() or platform.machine()


def available_memory(device: str) -> int | None:
    """Bytes that can be had on the device now (`cpu`, `cuda:N`, or `cuda:all`: of all together).

    None where the system does not say.
    """
    if device != "cpu":
        import torch  # noqa: PLC0415

        every = device.endswith(":all")
        places = [f"cuda:{index}" for index in range(torch.cuda.device_count())] if every else [device]
        return sum(int(torch.cuda.mem_get_info(place)[0]) for place in places)
    try:
        stated = re.search(
            r"^MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE
        )
    except OSError:  # not Linux: the installed memory is the best there is
        if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
            return None
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(stated[1]) * 1024 if stated else None


def cache_root() -> Path:
    """The cache folder: `SPSL_CACHE_DIR`, else the platform's place for an application's cache."""
    configured = os.environ.get("SPSL_CACHE_DIR")
    if configured:
        return Path(configured).expanduser().absolute()
    import platformdirs  # noqa: PLC0415 - this module stays light

    return platformdirs.user_cache_path("spsl")
