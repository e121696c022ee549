"""Plain autoregressive decoding on the same buffers: the baseline that speed is measured against, and the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spsl_cli.decoding.counters import RoundTimes
from spsl_cli.decoding.loop import DecodingLoop
from spsl_cli.decoding.row import Row
from spsl_cli.events import Event, TokenKind, Tokens


class PlainLoop(DecodingLoop):
    """One token a step over the whole cache. `margins` collects the first row's top-2 logit margins if asked for."""

    drafts = False

    def __init__(self, *arguments: Any, record_margins: bool = False) -> None:
        super().__init__(*arguments)
        self.margins: list[float] | None = [] if record_margins else None

    def round(self, rows: Sequence[Row]) -> list[Event]:
        """One token a row."""
        start = self._now()
        logits = self.dense(rows, [[row.pending] for row in rows])
        for row, behind in zip(rows, logits, strict=True):
            row.take([row.chooser.verify([], behind)[1]])
            self.cache.commit(row.sequence, 1, self.config.window)
        times = RoundTimes(verify=self._now() - start)
        self.costs.observe_plain(times.verify)
        if self.margins is not None:
            best, second = logits[0, -1].float().topk(2).values.tolist()
            self.margins.append(best - second)
        for row in rows:
            row.counters.add_round(0, 0, 1, times)
        return [Tokens((row.pending,), (TokenKind.PLAIN,), row.sequence) for row in rows]
