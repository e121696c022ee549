"""Our own decoder as a system: one configuration of it, on a run that is prefilled already."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spsl_cli.bench.systems.base import Decoded, Round
from spsl_cli.bench.systems.faults import NONE, Faults
from spsl_cli.bench.systems.watched_controller import WatchedController
from spsl_cli.decoding.engine import SpeculativeLoop
from spsl_cli.events import Draft, Event, SpeculationStats, Verify

if TYPE_CHECKING:
    from spsl_cli.decoding.config import DecodeConfig
    from spsl_cli.decoding.run import DecodingRun


class EngineSystem:
    """`run` decoded by `config`, from its prompts on each time; `config.speculation` False is the good AR.

    The run must be prefilled, with speculation and a window no smaller than that of `config`. Seconds are those of the
    clock, from the first token of every row to the last of all: what the decoder does between its rounds counts too.
    """

    def __init__(self, name: str, run: DecodingRun, config: DecodeConfig, faults: Faults = NONE) -> None:
        self.name = name
        self._run, self._config, self._faults = run, config, faults

    def decode(self, new_tokens: int) -> Decoded:
        """Up to `new_tokens` a row, and no more than the run has room for.

        Raises ValueError for a configuration that the run was not prepared for.
        """
        run = self._run
        run.rewind()
        for output in run.outputs:
            output.max_new_tokens = min(new_tokens, output.max_new_tokens)
        events = run.decode(config=self._config)
        next(events)  # by now the loop is made, and its views are allocated
        controller = self._watch()
        begun = time.perf_counter()
        rounds = tuple(_rounds(events))
        seconds = time.perf_counter() - begun
        tokens = [list(output.token_ids) for output in run.outputs]
        return Decoded(tokens, seconds, run.totals, rounds, _phases(run.totals, seconds, controller))

    def _watch(self) -> WatchedController | None:
        """From now on the controller's time is measured, and what is to go wrong does; None in plain decoding."""
        loop = self._run.loop
        if not isinstance(loop, SpeculativeLoop):
            return None
        self._faults.put_into(loop)
        loop.controller = watched = WatchedController(loop.controller)
        return watched


def _rounds(events: Iterator[Event]) -> Iterator[Round]:
    """The drafting rounds of the first row; all events are taken."""
    draft = Draft((), (), 0)
    for event in events:
        if isinstance(event, Draft) and event.sequence == 0:
            draft = event
        elif isinstance(event, Verify) and event.sequence == 0:
            yield Round(event.drafted, event.accepted, draft.entropies)


def _phases(stats: SpeculationStats, seconds: float, controller: WatchedController | None) -> dict[str, float]:
    """Seconds of each part; they add up to `seconds`. `refresh`: attention mass, index and gather."""
    planning = drafting = learning = 0.0
    if controller is not None:
        planning, drafting, learning = controller.planning, controller.drafting, controller.learning
    parts = {
        "draft": stats.draft_s - drafting,
        "verify": stats.verify_s - planning,
        "refresh": stats.mass_s + stats.refresh_s,
        "controller": planning + drafting + learning,
    }
    return {**parts, "other": max(0.0, seconds - sum(parts.values()))}
