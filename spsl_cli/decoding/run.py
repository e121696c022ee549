"""One prompt in the cache: prefilled once, decoded as often as wanted, by either loop.

Going back to the prompt is a matter of lengths; the importance is seeded again from the prompt's last queries. So a
comparison of two ways of decoding starts both from the same prefill, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import torch

from spsl_cli.decoding.autoregressive import PlainLoop
from spsl_cli.decoding.chooser import Chooser, make_chooser
from spsl_cli.decoding.config import K_MAX, DecodeConfig, SamplingConfig
from spsl_cli.decoding.costs import clock
from spsl_cli.decoding.engine import SpeculativeLoop
from spsl_cli.decoding.kv_cache import LayerSizes, PendingQueries
from spsl_cli.decoding.output import Output
from spsl_cli.decoding.sparse_index import Budget
from spsl_cli.decoding.target import TargetModel
from spsl_cli.events import Done, Event, Prefill, SpeculationStats, TokenKind, Tokens

CHUNK = {"cpu": 512, "cuda": 2048}


class DecodingRun:
    """A prompt of `prompt_ids` and room for `max_new_tokens` behind it."""

    def __init__(
        self,
        target: TargetModel,
        prompt_ids: Sequence[int],
        max_new_tokens: int,
        stop_token_ids: Collection[int],
        config: DecodeConfig,
        sampling: SamplingConfig | None = None,
    ) -> None:
        if not prompt_ids:
            raise ValueError("the prompt has no tokens")
        if not 0 <= min(prompt_ids) <= max(prompt_ids) < target.vocabulary:
            raise ValueError(f"the prompt has a token id outside 0..{target.vocabulary - 1}")
        if max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
        self.target, self.prompt_ids, self.config = target, list(prompt_ids), config
        self.sampling = sampling or SamplingConfig()
        self.max_new_tokens, self.stop_token_ids = max_new_tokens, frozenset(map(int, stop_token_ids))
        self.capacity = len(prompt_ids) + max_new_tokens
        slots = Budget.resolve(config, self.capacity).total + K_MAX if config.speculation else 0
        self.cache = target.allocate(LayerSizes(1, self.capacity, slots, config.window))
        self.output = Output(max_new_tokens, self.stop_token_ids)
        self.loop: SpeculativeLoop | PlainLoop | None = None
        self.prefill_s = 0.0
        self._first_logits: torch.Tensor | None = None
        self._seeds: list[PendingQueries] = []

    def prefill(self) -> Iterator[Prefill]:
        """Write the prompt into the cache, chunk by chunk; the last row's logits give the first token."""
        now, total = clock(self.target.device), len(self.prompt_ids)
        limit = self.config.prefill_chunk or CHUNK.get(self.target.device.type, 512)
        size = math.ceil(total / math.ceil(total / limit))  # equal chunks: the last one is not a stump
        logits = None
        for begin in range(0, total, size):
            start = now()
            ids = torch.tensor([self.prompt_ids[begin : begin + size]], device=self.target.device)
            keep = self.config.window if self.config.speculation else 0
            logits = self.target.dense_forward(self.cache, ids, (0,), keep=keep, logits=1)
            self.cache.commit(0, ids.shape[1], self.config.window)
            self.prefill_s += now() - start
            yield Prefill(self.cache.lengths[0], total, self.prefill_s)
        assert logits is not None  # noqa: S101 the prompt has at least one token
        self._first_logits = logits[0, -1].clone()
        if self.config.speculation:
            self._seeds = [layer.pending[0] for layer in self.cache.layers]
            for layer in self.cache.layers:
                layer.prepare_drafting()

    def rewind(self) -> None:
        """Back to the prompt, as after the prefill."""
        self.cache.lengths[0] = len(self.prompt_ids)
        self.output = Output(self.max_new_tokens, self.stop_token_ids)
        for i, layer in enumerate(self.cache.layers):
            layer.kept.clear()
            layer.pending.clear()
            if self._seeds:
                layer.importance.clear(0)
                layer.pending[0] = self._seeds[i]

    def decode(self, *, speculation: bool | None = None, config: DecodeConfig | None = None) -> Iterator[Event]:
        """Decode from the prompt on: `Tokens`, with `Draft` and `Verify` in speculative rounds, at last `Done`.

        `config` may change how drafts are made, not the buffers: ValueError if its budget is larger than the run's own
        or its window another. RuntimeError before the prefill, or after a decoding that was not rewound.
        """
        config = config or self.config
        config = config if speculation is None else replace(config, speculation=speculation)
        if self._first_logits is None:
            raise RuntimeError("decode needs the prefill first")
        if self.output.token_ids:
            raise RuntimeError("this run was decoded already: rewind it first")
        if config.speculation and not self._has_room_for(config):
            raise ValueError("the run was prepared for another window, a smaller budget, or no speculation")
        chooser = self._chooser()
        kind = SpeculativeLoop if config.speculation else PlainLoop
        self.loop = kind(self.target, self.cache, self.output, config, chooser)
        yield Tokens(tuple(self.output.token_ids), (TokenKind.PLAIN,))
        yield from self.loop.run()
        assert self.output.finish_reason is not None  # noqa: S101 the loop ends with the output
        yield Done(self.output.finish_reason, self.stats())

    def _chooser(self) -> Chooser:
        """A chooser that has thrown its first token, which the prefill's last logits give."""
        assert self._first_logits is not None  # noqa: S101 the prefill has run
        chooser = make_chooser(self.sampling)
        chooser.note(self.prompt_ids)
        first = chooser.choose(self._first_logits).token
        self.output.take((first,))
        chooser.note((first,))
        return chooser

    def _has_room_for(self, config: DecodeConfig) -> bool:
        room = Budget.resolve(self.config, self.capacity).total
        fits = Budget.resolve(config, self.capacity).total <= room
        return fits and self.config.speculation and config.window == self.config.window

    def stats(self) -> SpeculationStats:
        """The counters of the decoding under way, or of the last one."""
        if self.loop is None:
            raise RuntimeError("nothing was decoded yet")
        self.loop.counters.prefill_s = self.prefill_s
        return self.loop.counters.snapshot(self.loop.costs.plain_step_s)

    def margins(self, count: int) -> list[float]:
        """Top-2 logit margins of the first `count` tokens after the first, by plain steps from the prompt on."""
        self.rewind()
        loop = PlainLoop(self.target, self.cache, self.output, self.config, self._chooser(), record_margins=True)
        for _, _ in zip(range(count), loop.run(), strict=False):
            pass
        return loop.margins or []
