"""Recording a static step as a CUDA graph, and why it cannot be.

Knows nothing of tokens or caches: a step is something to call, whose tensors stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from spsl_cli.decoding.graphs.static_step import StepOutput
from spsl_cli.decoding.target import TargetModel

Call = Callable[[], StepOutput]
"""One step, run as it is or replayed."""

Recorder = Callable[[Call], Call]
"""Makes of a step what replays it; runs it some times before. RuntimeError where it cannot be recorded."""

WARM_UPS = 2
"""Calls before the one that is recorded: libraries take their workspaces then, and kernels are compiled."""


def devices_of(target: TargetModel) -> list[str]:
    """Where the model's weights are, each place once."""
    return sorted({str(tensor.device) for tensor in target.model.parameters()})


class GraphRecorder:
    """Records steps of one CUDA device, on one stream and into one pool of memory.

    Graphs that share a pool write over each other's temporary tensors; so the output of a replay holds until the next
    replay of any of them. What steps read and write besides lies outside the pool.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        with torch.cuda.device(device):
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, step: Call) -> Call:
        """Warm up on a stream of its own, record there, and return what replays it on the stream that is current.

        RuntimeError if something in the step waits for the device, or does what a graph cannot hold.
        """
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(self._device):
            current = torch.cuda.current_stream()
            self._stream.wait_stream(current)
            try:
                with torch.cuda.stream(self._stream):
                    for _ in range(WARM_UPS):
                        step()
                # Other threads may allocate meanwhile: what they do is no part of the graph and must not spoil it.
                with torch.cuda.graph(graph, self._pool, self._stream, capture_error_mode="thread_local"):
                    output = step()
            finally:
                torch.cuda.set_stream(current)  # a capture that fails leaves its own behind
            self._stream.synchronize()

        def replay() -> StepOutput:
            with torch.cuda.device(self._device):
                graph.replay()
            return output

        return replay


def told(error: BaseException) -> str:
    """The first line of an error, or of the one behind it: a capture that was broken ends in an error of its own."""
    error = error.__context__ if isinstance(error.__context__, RuntimeError) else error
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
