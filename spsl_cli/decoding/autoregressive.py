"""Plain autoregressive decoding on the same buffers: the baseline that speed is measured against, and the oracle."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from spsl_cli.decoding.chooser import Chooser
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.costs import StepCosts, clock
from spsl_cli.decoding.counters import Counters, RoundTimes
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.output import Output
from spsl_cli.decoding.target import TargetModel
from spsl_cli.events import Event, TokenKind, Tokens


class PlainLoop:
    """One token a step over the whole cache. `margins` collects the top-2 logit margin of each token if asked for."""

    def __init__(
        self,
        target: TargetModel,
        cache: DecoderCache,
        output: Output,
        config: DecodeConfig,
        chooser: Chooser,
        sequence: int = 0,
        *,
        record_margins: bool = False,
    ) -> None:
        self.target, self.cache, self.output, self.config, self.sequence = target, cache, output, config, sequence
        self.chooser = chooser
        self.costs = StepCosts()
        self.counters = Counters(config, new_tokens=len(output.token_ids))
        self.margins: list[float] | None = [] if record_margins else None
        self._now = clock(target.device)

    def run(self) -> Iterator[Event]:
        """Steps until the output ends."""
        while self.output.finish_reason is None:
            yield self.step()

    def step(self) -> Tokens:
        """One token."""
        start = self._now()
        inputs = torch.tensor([[self.output.token_ids[-1]]], device=self.target.device)
        logits = self.target.dense_forward(self.cache, inputs, (self.sequence,))
        token = self.chooser.choose(logits[0, -1]).token
        self.output.take((token,))
        self.chooser.note((token,))
        self.cache.commit(self.sequence, 1, self.config.window)
        times = RoundTimes(verify=self._now() - start)
        if self.margins is not None:
            best, second = logits[0, -1].float().topk(2).values.tolist()
            self.margins.append(best - second)
        self.counters.add_round(0, 0, 1, times)
        self.costs.observe_plain(times.verify)
        return Tokens((token,), (TokenKind.PLAIN,))
