"""One cell: a model at one length and batch; every kind of step timed, and what the times come to."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import torch

from spsl_cli.bench.gpu_check.eager import EagerStep
from spsl_cli.bench.gpu_check.filled import filled_cache, some_tokens
from spsl_cli.bench.gpu_check.floors import ACCEPTANCES, Bytes, best_speedup, fraction
from spsl_cli.bench.gpu_check.timing import busy_seconds, timed
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.controllers import Evidence, Source, make_controller
from spsl_cli.decoding.costs import PresumedCosts, StepCosts
from spsl_cli.decoding.engine import MASS_ROWS
from spsl_cli.decoding.graphs.steps import StaticSteps
from spsl_cli.decoding.graphs.suitability import choose_steps
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.policies import make_policy
from spsl_cli.decoding.refresh import count_mass, refresh_view
from spsl_cli.decoding.target import TargetModel

VERIFIED = (0, 4, 8, 16)
DRAFTED = 8
"""Steps of a draft that are timed together, as a round replays them, and shared out."""


class Cell:
    """A filled cache and the steps over it; nothing is committed, so every repeat is the same."""

    def __init__(self, target: TargetModel, length: int, batch: int) -> None:
        self.target, self.length, self.batch = target, length, batch
        self.config = DecodeConfig()
        self.cache: DecoderCache = filled_cache(target, length, batch, self.config)
        self.policy = make_policy(self.config, len(self.cache.drafting_layers))
        self.sequences = tuple(range(batch))
        self.steps: StaticSteps | None
        self.steps, self.no_graphs = choose_steps(target, self.cache)
        if self.steps is not None:  # their making has blanked the views
            self._refresh()

    def measure(
        self, bandwidth: float, eager: Callable[[TargetModel, DecoderCache], EagerStep] | None
    ) -> dict[str, Any]:
        """Seconds of every kind of step, their share of the floor, launch overhead, and speedups."""
        verify = {k: self._time(self._dense, k) for k in VERIFIED}
        plain, draft = verify[0], self._time(self._draft)
        graphs = self._graphs()
        refresh = timed(self._refresh, self.target.device, self._commit).seconds
        controller = controller_seconds()
        best = {**{f"verify_{k}": seconds for k, (seconds, _) in verify.items()}, "draft": draft[0]}
        for name, seconds in graphs.items():
            best[name] = min(best[name], seconds)
        sizes = self._bytes()
        found: dict[str, Any] = {
            "ar_s": best["verify_0"], "draft_s": best["draft"], "refresh_s": refresh, "controller_s": controller,
            "verify_s": {str(k): best[f"verify_{k}"] for k in VERIFIED},
            "without_graphs_s": {"ar": plain[0], "draft": draft[0]},
            "graphs": self.no_graphs or "replayed",
            "host_s": {"ar": plain[1], "draft": draft[1]},
            "launch_gap": self._gap(best["verify_0"]),
            "of_floor": {
                "ar": fraction(sizes.plain, bandwidth, best["verify_0"]),
                "draft": fraction(sizes.draft, bandwidth, best["draft"]),
                **{f"verify_{k}": fraction(sizes.plain, bandwidth, best[f"verify_{k}"]) for k in VERIFIED[1:]},
                "refresh": fraction(sizes.gather, bandwidth, refresh),
            },
            "bytes": {"weights": sizes.weights, "kv": sizes.kv, "view": sizes.view},
        }  # fmt: skip
        lengths = {k: best[f"verify_{k}"] for k in VERIFIED}
        hugging_face = None if eager is None else timed(eager(self.target, self.cache), self.target.device).seconds
        found["eager_hf_s"] = hugging_face
        for acceptance in ACCEPTANCES:
            over_ar = best_speedup(acceptance, best["verify_0"], best["draft"], lengths, refresh + controller)
            found[f"speedup_{acceptance:.2f}"] = {
                "k": over_ar.k,
                "over_ar": over_ar.speedup,
                "over_eager_hf": None if hugging_face is None else over_ar.speedup * hugging_face / best["verify_0"],
            }
        return found

    def _time(self, make: Callable[..., Callable[[], object]], *arguments: int) -> tuple[float, float]:
        """Seconds of a step, and the host's part."""
        timing, steps = timed(make(*arguments), self.target.device), self._steps_in(make)
        return timing.seconds / steps, timing.host / steps

    def _steps_in(self, make: Callable[..., Callable[[], object]]) -> int:
        return DRAFTED if make == self._draft else 1

    def _dense(self, k: int) -> Callable[[], object]:
        """A verify of k drafts, or with none a plain step, as the engine runs them without graphs."""
        ids, keep = some_tokens(self.target, self.batch, k + 1), k + 1 if k else 0
        mass = 0 < keep <= MASS_ROWS
        return lambda: self.target.dense_forward(self.cache, ids, self.sequences, keep=keep, mass=mass)

    def _draft(self) -> Callable[[], object]:
        ids = some_tokens(self.target, self.batch, 1)

        def draft() -> None:
            for depth in range(DRAFTED):
                logits = self.target.draft_forward(self.cache, ids, self.sequences, [depth] * self.batch)
                logits[:, -1].argmax(-1).tolist()  # the next step needs the token

        return draft

    def _graphs(self) -> dict[str, float]:
        """Seconds of the steps that are replayed, by name; none where there are no graphs."""
        steps = self.steps
        if steps is None:
            return {}
        device, seconds, depths = self.target.device, {}, [0] * self.batch
        tokens = some_tokens(self.target, self.batch, max(VERIFIED) + 1).tolist()
        first = [line[0] for line in tokens]
        seconds["verify_0"] = timed(lambda: steps.plain(self.sequences, first), device).seconds
        for k in VERIFIED[1:]:
            lines = [line[: k + 1] for line in tokens]
            seconds[f"verify_{k}"] = timed(lambda: steps.dense(self.sequences, lines, keep=k + 1), device).seconds  # noqa: B023 called at once
        drafted = timed(lambda: steps.draft(self.sequences, first, depths, DRAFTED), device).seconds
        seconds["draft"] = drafted / DRAFTED
        return seconds

    def _gap(self, plain: float) -> float | None:
        """The share of the best plain step in which no kernel runs; None where the profiler sees none."""
        work = self._dense(0)
        if self.steps is not None:
            first, steps = some_tokens(self.target, self.batch, 1)[:, 0].tolist(), self.steps
            work = lambda: steps.plain(self.sequences, first)  # noqa: E731 the same name for both
        busy = busy_seconds(work, self.target.device)
        return None if busy is None else max(0.0, 1.0 - busy / plain)

    def _commit(self) -> None:
        """Leave what a round leaves: half a draft accepted, its queries waiting; the length is put back."""
        ids = some_tokens(self.target, self.batch, DRAFTED + 1)
        self.target.dense_forward(self.cache, ids, self.sequences, keep=DRAFTED + 1, mass=True)
        for sequence in self.sequences:
            self.cache.commit(sequence, DRAFTED // 2 + 1, self.config.window)

    def _refresh(self) -> None:
        """Mass, index and gather of every sequence."""
        for sequence in self.sequences:
            count_mass(self.cache, sequence, self.policy)
            refresh_view(self.cache, sequence, self.policy)
        self.cache.lengths[:] = [self.length] * self.batch

    def _bytes(self) -> Bytes:
        position = self.cache.position_bytes
        view = position * sum(self.cache.sparse_sizes)
        return Bytes(self.target.weight_bytes, position * self.length * self.batch, view)


def controller_seconds(rounds: int = 200) -> float:
    """What the default controller takes for a round of eight drafts, on the host."""
    controller = make_controller(DecodeConfig(), StepCosts(PresumedCosts(), settled=True))
    draft = [Evidence(0.5, 3.0, coverage=0.95)] * DRAFTED
    begun = time.perf_counter()
    for _ in range(rounds):
        plan = controller.plan([0], [64])
        for count in range(1, DRAFTED + 1):
            controller.wants_more([draft[:count]])
        controller.observe(Source.SPARSE, draft, DRAFTED - 1)
        controller.account(plan, 1, DRAFTED, 1.0)
    return (time.perf_counter() - begun) / rounds


def free_memory(device: torch.device) -> int | None:
    """Bytes that a cell may take on a GPU, memory kept by torch for reuse given back first; None on a CPU."""
    if device.type != "cuda":
        return None
    gc.collect()
    torch.cuda.empty_cache()
    return int(torch.cuda.mem_get_info(device)[0])
