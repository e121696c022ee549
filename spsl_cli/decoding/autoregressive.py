"""Plain autoregressive decoding on the same buffers: the baseline that speed is measured against, and the oracle."""

from __future__ import annotations

from typing import Any

import torch

from spsl_cli.decoding.counters import RoundTimes
from spsl_cli.decoding.loop import DecodingLoop
from spsl_cli.events import TokenKind, Tokens


class PlainLoop(DecodingLoop):
    """One token a step over the whole cache. `margins` collects the top-2 logit margin of each token if asked for."""

    def __init__(self, *arguments: Any, record_margins: bool = False, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.margins: list[float] | None = [] if record_margins else None

    def round(self) -> tuple[Tokens]:
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
        return (Tokens((token,), (TokenKind.PLAIN,)),)
