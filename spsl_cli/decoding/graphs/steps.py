"""What decoding loops call: steps of fixed shape, replayed as CUDA graphs, or run as they are where that is impossible.

Both give the same tokens. `suitability.choose_steps` says whether there are any for a decoding.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from spsl_cli.decoding import kernels
from spsl_cli.decoding.chooser import Choice
from spsl_cli.decoding.config import K_MAX, SamplingConfig
from spsl_cli.decoding.forward_state import Mode, PendingQueries
from spsl_cli.decoding.graphs.capture import WARM_UPS, Call, Recorder, told
from spsl_cli.decoding.graphs.static_cache import attending_statically
from spsl_cli.decoding.graphs.static_step import StaticStep, StepOutput, StepShape
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.target import TargetModel

GREEDY = SamplingConfig()
TOKENS = (1, 2, 3, 5, 9, K_MAX, K_MAX + 1)
"""Tokens of a row for which there are steps that choose nothing; others are filled up to the next of these."""

BUCKETS = 8
"""So many lengths, evenly up to the capacity, for which there are dense steps that read a number of rows under a mask:
at most 1/8 of it is read in vain."""

LEAST_BUCKET = 256


class StaticSteps:
    """The steps of one decoding; `blank` its cache first.

    reason: why steps are not replayed as graphs; None where they are. capture_s: seconds that recording took so far.
    """

    def __init__(
        self, target: TargetModel, cache: DecoderCache, *, record: Recorder | None = None, reason: str | None = None
    ) -> None:
        self.reason = reason
        self.capture_s = 0.0
        self._target, self._cache, self._record = target, cache, record
        # A kernel that reads the length on the device reads no more than that, so one size does for all lengths.
        rows = cache.layers[0].dense
        self._buckets = 1 if kernels.suits(rows.keys, *rows) else BUCKETS
        self._ready: dict[StepShape, tuple[StaticStep, Call]] = {}

    def dense(self, sequences: Sequence[int], tokens: Sequence[Sequence[int]], *, keep: int = 0) -> torch.Tensor:
        """As `TargetModel.dense_forward`: tokens [R][q] behind the committed ones -> logits [R, q, V].

        The logits hold until the next step.
        """
        count, lines = len(tokens[0]), _filled_up(tokens)
        output = self._run(self._dense_shape(sequences, len(lines[0])), lines)
        if keep:
            self._keep(sequences, output, slice(count - keep, count), count)
        return output.logits[:, :count]

    def sparse(self, sequences: Sequence[int], tokens: Sequence[Sequence[int]], depths: Sequence[int]) -> torch.Tensor:
        """As `TargetModel.draft_forward`: tokens [R][q] from these depths of the drafts on -> logits [R, q, V].

        The logits hold until the next step.
        """
        lines = _filled_up(tokens)
        return self._run(self._sparse_shape(sequences, len(lines[0])), lines, depths).logits[:, : len(tokens[0])]

    def one_by_one(self, sequences: Sequence[int], tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """What `dense` gives, [R, q, V], by a step of one token for each of the q."""
        shape, rows = self._dense_shape(sequences, 1, len(tokens[0])), len(sequences)
        steps = [
            self._run(shape, [line[i : i + 1] for line in tokens], [i] * rows).logits.clone()
            for i in range(len(tokens[0]))
        ]
        return torch.cat(steps, 1)

    def plain(
        self,
        sequences: Sequence[int],
        tokens: Sequence[int],
        steps: int = 1,
        sampling: SamplingConfig = GREEDY,
        uniforms: Sequence[Sequence[float]] = (),
    ) -> list[list[Choice]]:
        """Run each row's token and `steps - 1` chosen behind it over the whole cache: the choices [R][steps].

        The device is waited for once. Nothing is committed. Rows of `uniforms` as in `draft`.
        """
        shape = self._dense_shape(sequences, 1, steps, sampling)
        self._run(shape, [[token] for token in tokens], steps=steps, uniforms=uniforms)
        return self._read(shape, steps)

    def draft(
        self,
        sequences: Sequence[int],
        tokens: Sequence[int],
        depths: Sequence[int],
        steps: int,
        sampling: SamplingConfig = GREEDY,
        uniforms: Sequence[Sequence[float]] = (),
    ) -> list[list[Choice]]:
        """Draft `steps` tokens behind each row's token at that depth of its draft, over the sparse view.

        uniforms: for each step a throw of the dice for every row, where tokens are drawn. The device is waited for
        once. Returns the choices [R][steps].
        """
        shape = self._sparse_shape(sequences, 1, sampling)
        self._run(shape, [[token] for token in tokens], depths, steps, uniforms)
        return self._read(shape, steps)

    def _dense_shape(
        self, sequences: Sequence[int], tokens: int, steps: int = 1, sampling: SamplingConfig | None = None
    ) -> StepShape:
        longest = max(self._cache.lengths[sequence] for sequence in sequences) + tokens + steps + WARM_UPS
        return StepShape(Mode.DENSE, tuple(sequences), tokens, bucket(longest, self._capacity, self._buckets), sampling)

    def _sparse_shape(self, sequences: Sequence[int], tokens: int, sampling: SamplingConfig | None = None) -> StepShape:
        slots = self._cache.drafting_layers[0].view.rows.keys.shape[1] if self._cache.drafting_layers else 0
        shifted = any(shift for row in self._shifts(sequences) for shift in row)
        return StepShape(Mode.DRAFT, tuple(sequences), tokens, slots, sampling, shifted=shifted)

    def _shifts(self, sequences: Sequence[int]) -> list[list[int]]:
        return [[layer.shifts[sequence] for sequence in sequences] for layer in self._cache.drafting_layers]

    @property
    def _capacity(self) -> int:
        return self._cache.layers[0].sizes.capacity

    def _run(
        self,
        shape: StepShape,
        tokens: Sequence[Sequence[int]],
        depths: Sequence[int] = (),
        steps: int = 1,
        uniforms: Sequence[Sequence[float]] = (),
    ) -> StepOutput:
        """Replay the step of this shape; it is made when it is first needed."""
        cache, depths = self._cache, depths or [0] * len(shape.sequences)
        starts = [cache.lengths[sequence] + depth for sequence, depth in zip(shape.sequences, depths, strict=True)]
        slots = [cache.sparse_sizes[sequence] + depth for sequence, depth in zip(shape.sequences, depths, strict=True)]
        lasts = [cache.ends[sequence] - 1 for sequence in shape.sequences]
        ahead = max(steps, 1 + WARM_UPS) if shape.sampling is not None else shape.tokens
        # A write behind the buffers would not raise on a GPU, but break the device's context.
        if not 0 < steps <= K_MAX or max(starts) + ahead > self._capacity:
            raise ValueError(f"{steps} steps from position {max(starts)} on: there is room for {self._capacity}")
        shifts = self._shifts(shape.sequences) if shape.shifted else []
        last = max(slots) + max((shift for row in shifts for shift in row), default=0)
        if shape.mode is Mode.DRAFT and cache.drafting_layers and last + ahead > shape.keys:
            raise ValueError(f"{steps} steps from slot {last} on: the view has {shape.keys}")
        if shape not in self._ready:
            step = StaticStep(self._target, cache, shape)
            step.state.enter(tokens, starts, slots, lasts, uniforms, shifts)
            self._ready[shape] = (step, self._recorded(step))
        step, call = self._ready[shape]
        step.state.enter(tokens, starts, slots, lasts, uniforms, shifts)
        for _ in range(steps - 1):
            call()
        return call()

    def _recorded(self, step: StaticStep) -> Call:
        """What replays the step, or runs it where it cannot be recorded: then no other is tried."""

        def eager() -> StepOutput:
            with attending_statically(self._target):
                return step()

        if self._record is None:
            return eager
        begun = time.perf_counter()
        try:
            with attending_statically(self._target):
                return self._record(step)
        except RuntimeError as error:
            self._record, self.reason = None, f"the step cannot be recorded ({told(error)})"
            return eager
        finally:
            self.capture_s += time.perf_counter() - begun

    def _read(self, shape: StepShape, steps: int) -> list[list[Choice]]:
        """What the steps have chosen: the only place where the host waits."""
        state = self._ready[shape][0].state
        record, distributions = state.record[:steps].tolist(), state.distributions
        drawn_from = None if distributions is None else distributions[:steps].cpu()
        return [
            [
                Choice(int(token), entropy, margin, None if drawn_from is None else drawn_from[i, row], probability)
                for i, (token, entropy, margin, probability) in enumerate(line[row] for line in record)
            ]
            for row in range(len(shape.sequences))
        ]

    def _keep(self, sequences: Sequence[int], output: StepOutput, rows: slice, count: int) -> None:
        """Queries wanted later, out of the way of the next replay."""
        layers = self._cache.drafting_layers
        for layer, (query, lse) in zip(layers, output.kept, strict=True):
            for i, sequence in enumerate(sequences):
                end = self._cache.lengths[sequence] + count
                layer.kept[sequence] = PendingQueries(query[i, :, rows].clone(), lse[i, :, :, rows].clone(), end)


def _filled_up(tokens: Sequence[Sequence[int]]) -> list[list[int]]:
    """Lines of the next length there is, their last token repeated."""
    count = len(tokens[0])
    filled = next(size for size in TOKENS if size >= count)
    return [[*line, *[line[-1]] * (filled - count)] for line in tokens]


def bucket(length: int, capacity: int, buckets: int = BUCKETS) -> int:
    """How many rows are attended to for that many positions."""
    step = max(LEAST_BUCKET, -(-capacity // buckets))
    return min(-(-length // step) * step, capacity)
