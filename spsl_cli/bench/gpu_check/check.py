"""All of the check, within its time: bandwidth, kernels, and cells of two models; it says what was left out."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import transformers

from spsl_cli.bench.gpu_check.cell import Cell, free_memory
from spsl_cli.bench.gpu_check.eager import EagerStep
from spsl_cli.bench.gpu_check.floors import Bytes
from spsl_cli.bench.gpu_check.kernels import check_kernels
from spsl_cli.bench.gpu_check.shapes import LLAMA, QWEN, TINY, Shape, build, to_4bit, why_not_4bit
from spsl_cli.bench.gpu_check.targets import verdicts
from spsl_cli.bench.gpu_check.timing import copy_bandwidth
from spsl_cli.decoding.target import TargetModel
from spsl_cli.model_shape import layer_shapes

SCHEMA = "spsl.gpu-check/1"
COPIED = 2**30
EAGER_COPIES = 2.3
"""The cache, and of it what eager Hugging Face holds beside: its own copy, and repeated heads of one layer."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Scale:
    """Which models, at which lengths and batches, and how many bytes are copied for the bandwidth."""

    shapes: tuple[Shape, ...]
    lengths: tuple[int, ...]
    batches: tuple[int, ...]
    dtype: torch.dtype
    copied: int


FULL = Scale((LLAMA, QWEN), (32_768, 65_536, 131_072), (1, 4), torch.bfloat16, COPIED)
SMALL = Scale((TINY,), (256, 512), (1, 2), torch.float32, 2**22)


class Check:
    """The stages and what they found. `seconds`: after so long no further cell is begun."""

    def __init__(self, device: torch.device, scale: Scale, seconds: float, tell: Tell) -> None:
        self.device, self.scale, self.seconds, self.tell = device, scale, seconds, tell
        self.begun = time.perf_counter()
        self.cells: list[dict[str, Any]] = []
        self.left_out: list[dict[str, Any]] = []
        self.bandwidth = copy_bandwidth(device, scale.copied)
        tell(f"copies run at {self.bandwidth / 1e9:,.0f} GB/s")

    @property
    def elapsed(self) -> float:
        """Seconds since the check began."""
        return time.perf_counter() - self.begun

    def run(self) -> None:
        """Every model in 16 bits and in 4, so that one after the other is in memory; batch 1 before others."""
        stages = [(shape, few) for shape in self.scale.shapes for few in (False, True)]
        model = None
        for number, (shape, few) in enumerate(stages):
            name = "4bit" if few else str(self.scale.dtype).removeprefix("torch.")
            reason = why_not_4bit(self.device) if few else None
            if reason is None and self.elapsed > self.seconds:
                reason = "no time was left"
            if reason is not None:
                self._leave(reason, model=shape.name, weights=name)
                continue
            try:
                if few and model is not None:
                    to_4bit(model)
                else:
                    model = None  # the one before goes first
                    model = build(shape, self.device, self.scale.dtype)
                share = self.seconds * (number + 1) / len(stages)
                self._cells(TargetModel(model), shape.name, name, until=share)
            except (torch.OutOfMemoryError, RuntimeError, ImportError) as error:
                self._leave(f"{type(error).__name__}: {_first_line(error)}", model=shape.name, weights=name)

    def _cells(self, target: TargetModel, model: str, weights: str, *, until: float) -> None:
        """Of one model. Batches beyond the first are measured only in this stage's share of the time."""
        for batch in self.scale.batches:
            for length in self.scale.lengths:
                where = {"model": model, "weights": weights, "length": length, "batch": batch}
                needed, free = self._needed(target, length, batch), free_memory(self.device)
                limit = self.seconds if batch == self.scale.batches[0] else min(self.seconds, until)
                if self.elapsed > limit:
                    self._leave("no time was left", **where)
                elif free is not None and needed > free:
                    self._leave(f"it takes {needed / 1e9:.1f} GB, and {free / 1e9:.1f} are free", **where)
                else:
                    self._cell(target, where, has_room=free is None or EAGER_COPIES * needed < free)

    def _cell(self, target: TargetModel, where: dict[str, Any], *, has_room: bool) -> None:
        begun = time.perf_counter()
        try:
            cell = Cell(target, where["length"], where["batch"])
            found = cell.measure(self.bandwidth, EagerStep if has_room else None)
        except (torch.OutOfMemoryError, RuntimeError) as error:
            self._leave(f"{type(error).__name__}: {_first_line(error)}", **where)
            return
        taken = time.perf_counter() - begun
        self.cells.append({**where, **found, "took_s": taken})
        self.tell(f"{where['model']} {where['weights']}, {where['length']:,} x {where['batch']}: {taken:.0f} s")

    def _needed(self, target: TargetModel, length: int, batch: int) -> int:
        """Bytes of cache and view, with a quarter for mass and what forwards hold."""
        shapes = layer_shapes(target.model.config)
        kv = target.dtype.itemsize * sum(shape.position_size for shape in shapes) * length * batch
        return int(1.25 * (Bytes(0, kv, 0).plain + kv // 10))

    def _leave(self, reason: str, **where: Any) -> None:
        self.left_out.append({**where, "reason": reason})
        self.tell(f"left out {' '.join(map(str, where.values()))}: {reason}")


def run_check(device: torch.device, *, tiny: bool, seconds: float, tell: Tell) -> dict[str, Any]:
    """Everything, as the object of the JSON line (schema `spsl.gpu-check/1`); times in seconds, sizes in bytes.

    tiny: one small model and short lengths. seconds: after so long nothing further is begun. tell: progress, a line.
    """
    check = Check(device, SMALL if tiny else FULL, seconds, tell)
    kernels, no_kernels = check_kernels(device, tiny=tiny)
    tell(f"kernels: {no_kernels or f'{len(kernels)} comparisons with float64'}")
    check.run()
    return {
        "schema": SCHEMA,
        "machine": _machine(device),
        "tiny": tiny,
        "bandwidth_bytes_per_s": check.bandwidth,
        "kernels": kernels,
        "no_kernels": no_kernels,
        "cells": check.cells,
        "left_out": check.left_out,
        "targets": verdicts(check.cells),
        "seconds": check.elapsed,
    }


def _machine(device: torch.device) -> dict[str, Any]:
    is_cuda = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if is_cuda else f"cpu ({platform.machine()})",
        "memory_bytes": torch.cuda.get_device_properties(device).total_memory if is_cuda else None,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
    }


def _first_line(error: BaseException) -> str:
    lines: Sequence[str] = str(error).strip().splitlines()
    return lines[0][:200] if lines else "no reason told"
