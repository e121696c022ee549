"""Prompts in the cache: prefilled once, decoded as often as wanted, by either loop.

Going back to the prompts is a matter of lengths; the importance is seeded again from each prompt's last queries. So a
comparison of two ways of decoding starts both from the same prefill, bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, pairwise

import torch

from spsl_cli.decoding.autoregressive import PlainLoop
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.costs import clock
from spsl_cli.decoding.counters import Counters, joined
from spsl_cli.decoding.engine import SpeculativeLoop
from spsl_cli.decoding.first_views import come_with_prefill, make_views
from spsl_cli.decoding.forward_state import PendingQueries
from spsl_cli.decoding.kv_cache import LayerSizes
from spsl_cli.decoding.lookup import PromptLookup
from spsl_cli.decoding.loop import DecodingLoop
from spsl_cli.decoding.output import Output
from spsl_cli.decoding.policies import IndexPolicy, make_policy
from spsl_cli.decoding.positions import check_positions, prefill_in_one
from spsl_cli.decoding.prefix import Prefix, restore, rows_of, saved_positions, splits_of
from spsl_cli.decoding.prompt_mass import PromptMass
from spsl_cli.decoding.row import Row, RowRequest
from spsl_cli.decoding.sizes import capacity, chunk_of_run, draft_sizes
from spsl_cli.decoding.strict import check_strict
from spsl_cli.decoding.target import TargetModel
from spsl_cli.events import Event, Prefill, SpeculationStats, TokenKind, Tokens


class DecodingRun:
    """Prompts with room for their outputs behind them, decoded together as the rows of a batch; often it is one.

    Raises ValueError for an empty prompt or an id outside the vocabulary, UnsupportedModelError for positions where
    the model's rotary embedding cannot be followed exactly, and where strict mode does not hold.
    """

    def __init__(self, target: TargetModel, requests: Sequence[RowRequest], config: DecodeConfig) -> None:
        if not requests:
            raise ValueError("there is no prompt to decode")
        self.target, self.requests, self.config = target, list(requests), config
        self.outputs = [request.make_output() for request in requests]
        ends = []
        for request, output in zip(requests, self.outputs, strict=True):
            ids = request.prompt_ids
            if not ids:
                raise ValueError("the prompt has no tokens")
            if not 0 <= min(ids) <= max(ids) < target.vocabulary:
                raise ValueError(f"the prompt has a token id outside 0..{target.vocabulary - 1}")
            ends.append(len(ids) + output.max_new_tokens)
        check_positions(target.model.config, [len(request.prompt_ids) for request in requests], ends)
        if config.strict:
            check_strict(target)
        self.capacity = capacity(max(ends), strict=config.strict)
        self.cache = target.allocate(LayerSizes(len(requests), self.capacity, zeroed=config.strict), ends)
        self.prefill_s = 0.0
        self.reused = 0
        self.splits: list[int] = []
        self.rows: list[Row] = []
        self.loop: DecodingLoop | None = None
        self._decoding: object | None = None  # which call of `decode` may go on
        self._first_logits: list[torch.Tensor] = []
        self._seeds: list[list[PendingQueries]] = []
        self._prompt_mass = PromptMass()
        self._read = 0.0  # the share of the positions that the prefill read itself
        self._views: tuple[DecodeConfig, IndexPolicy] | None = None  # what the cache's views were made for, by whom

    @property
    def prompt_ids(self) -> list[int]:
        """The prompt of the first row."""
        return self.requests[0].prompt_ids

    @property
    def output(self) -> Output:
        """The output of the first row."""
        return self.outputs[0]

    @property
    def max_new_tokens(self) -> int:
        """The length limit of the first row."""
        return self.output.max_new_tokens

    def prefill(self, *, splits: Collection[int] = (), prefix: Prefix | None = None) -> Iterator[Prefill]:
        """Write the prompts into the cache, one after the other, piece by piece; their last logits are kept.

        From the start, whatever was there before. A `Prefill` after each piece. `splits`: positions at which a piece
        ends, besides those that follow from its size. `prefix`: rows to begin with instead of computing them, as far
        as they are the prompt's; the importance needs the last queries, so some positions are always computed.
        ValueError for a prefix where there are several prompts.
        """
        if prefix is not None and len(self.requests) > 1:
            raise ValueError("a prefix goes with one prompt")
        self._decoding = None
        self.outputs = [request.make_output() for request in self.requests]
        self.prefill_s, self._first_logits, self._seeds = 0.0, [], []
        self._prompt_mass, self._views = PromptMass(), None
        for sequence in range(len(self.requests)):
            self.cache.lengths[sequence] = 0
            self.cache.forget(sequence)
        total = sum(len(request.prompt_ids) for request in self.requests)
        for sequence in range(len(self.requests)):
            yield from self._prefill_row(sequence, total, splits, prefix)
        self._read = 1 - self.reused / total
        if come_with_prefill(self.config, self.requests, self._read):
            now = clock(self.target.device)
            begun = now()
            self._make_views(self.config)
            self.prefill_s += now() - begun

    def _prefill_row(
        self, sequence: int, total: int, wanted: Collection[int], prefix: Prefix | None
    ) -> Iterator[Prefill]:
        now, prompt = clock(self.target.device), self.requests[sequence].prompt_ids
        splits, reused = self._splits(len(prompt), wanted), 0
        if prefix is not None:
            begun = now()
            reused = self.reusable(prefix.token_ids, prefix.splits, wanted)
            if reused:
                restore(self.cache, sequence, prefix.rows, reused)
                self.prefill_s += now() - begun
                yield Prefill(sum(self.cache.lengths), total, self.prefill_s)
        if sequence == 0:
            self.splits, self.reused = splits, reused
        keep = self.config.window if self.config.speculation else 0
        logits = None
        for begin, end in pairwise([reused, *(split for split in splits if split > reused)]):
            start = now()
            ids = torch.tensor([prompt[begin:end]], device=self.target.device)
            logits = self.target.dense_forward(self.cache, ids, (sequence,), keep=min(keep, ids.shape[1]), logits=1)
            self.cache.commit(sequence, ids.shape[1], self.config.window)
            self.prefill_s += now() - start
            yield Prefill(sum(self.cache.lengths), total, self.prefill_s)
        assert logits is not None  # noqa: S101 the prompt has at least one token
        self._first_logits.append(logits[0, -1].clone())
        if self.config.speculation:
            self._seeds.append([layer.pending[sequence] for layer in self.cache.drafting_layers])

    @cached_property
    def _chunk(self) -> int:
        """Found once, before the cache takes its memory, and kept: other pieces would round in another way."""
        target = self.target
        return chunk_of_run(
            self.config, target.model.config, target.dtype.itemsize, str(target.device), self.capacity,
            len(self.requests),
        )  # fmt: skip

    def _splits(self, length: int, wanted: Collection[int]) -> list[int]:
        whole = prefill_in_one(self.target.model.config, length)
        return [length] if whole else splits_of(length, self._chunk, wanted)

    def reusable(self, token_ids: Sequence[int], splits: Sequence[int], wanted: Collection[int] = ()) -> int:
        """How many positions a prefix of these tokens and splits would save the first prompt: see `prefill`."""
        prompt, window = self.prompt_ids, self.config.window
        if prefill_in_one(self.target.model.config, len(prompt)):
            return 0
        return saved_positions(token_ids, splits, prompt, chunk=self._chunk, wanted=wanted, window=window)

    def prefix(self, count: int, *, release: bool = False) -> Prefix:
        """The first prompt's first `count` positions. With `release` this run gives them away and is over.

        RuntimeError before the prefill is complete.
        """
        self._check_prefilled()
        splits = [split for split in self.splits if split <= count]
        count = splits[-1] if splits else 0
        if release:
            self._first_logits = []
        return Prefix(self.prompt_ids[:count], splits, rows_of(self.cache, 0, count, release=release))

    def rewind(self) -> None:
        """Back to the prompts, as after the prefill. RuntimeError before it is complete."""
        self._check_prefilled()
        self._decoding = None
        self.outputs = [request.make_output() for request in self.requests]
        for sequence, request in enumerate(self.requests):
            self.cache.lengths[sequence] = len(request.prompt_ids)
        self._forget_drafting()

    def _forget_drafting(self) -> None:
        """No view, and the importance begins with the prompts' last queries again."""
        self._views = None
        for sequence in range(len(self.requests)):
            self.cache.forget(sequence)
        for sequence, seeds in enumerate(self._seeds):
            for layer, seed in zip(self.cache.drafting_layers, seeds, strict=True):
                layer.pending[sequence] = seed

    def _check_prefilled(self) -> None:
        if len(self._first_logits) < len(self.requests):
            raise RuntimeError("the prompts are not in the cache yet: run through prefill() first")

    def decode(self, *, speculation: bool | None = None, config: DecodeConfig | None = None) -> Iterator[Event]:
        """Decode from the prompts on: `Tokens`, with `Draft` and `Verify` in speculative rounds, and `Done` for each.

        `config` may be another than the run's own, if its window is not larger: ValueError otherwise, and for
        speculation or strict mode in a run prepared without. RuntimeError before the prefill, after a decoding not
        rewound, and in one that goes on after `rewind`.
        """
        config = config or self.config
        config = config if speculation is None else replace(config, speculation=speculation)
        self._check_prefilled()
        if self.output.token_ids:
            raise RuntimeError("this run was decoded already: rewind it first")
        if config.strict and not self.config.strict:
            raise ValueError("the run was prepared without strict mode")
        if config.speculation and not (self.config.speculation and config.window <= self.config.window):
            raise ValueError("the run was prepared for a smaller window, or for no speculation")
        self.rows = self._first_tokens(config)
        self.loop = self._make_loop(config)
        own = self._decoding = object()
        first = [Tokens((row.pending,), (TokenKind.PLAIN,), row.sequence) for row in self.rows]
        for event in chain(first, self.loop.run()):
            yield event
            if self._decoding is not own:
                raise RuntimeError("this decoding is over: its run was rewound since")

    def _make_loop(self, config: DecodeConfig) -> DecodingLoop:
        if not config.speculation:
            return PlainLoop(self.target, self.cache, self.rows, config)
        if self._views is not None and self._views[0] != config:
            self._forget_drafting()
        if not come_with_prefill(config, self.requests, self._read):
            self._prepare_drafting(config)
            return SpeculativeLoop(self.target, self.cache, self.rows, config)
        policy = self._views[1] if self._views else self._make_views(config)
        return SpeculativeLoop(self.target, self.cache, self.rows, config, views_by=policy)

    def _make_views(self, config: DecodeConfig) -> IndexPolicy:
        """The first view of every row, by the attention of its prompt's last queries; the policy that chose them."""
        policy = make_policy(config, len(self.cache.drafting_layers))
        self._prepare_drafting(config)
        make_views(self.cache, policy)
        self._views = (config, policy)
        return policy

    def _prepare_drafting(self, config: DecodeConfig) -> None:
        layers = self.cache.drafting_layers
        sizes = draft_sizes(config, self.capacity, len(layers))
        for layer in layers:
            layer.prepare_drafting(sizes)
        if sizes.summed:
            prompts = [request.prompt_ids for request in self.requests]
            self._prompt_mass.add(self.target, self.cache, prompts, lambda length: self._splits(length, ()))

    def _first_tokens(self, config: DecodeConfig) -> list[Row]:
        """Rows that hold their first token, which the prefill's last logits give."""
        rows = []
        for sequence, request in enumerate(self.requests):
            chooser, output = request.make_chooser(), self.outputs[sequence]
            chooser.note(request.prompt_ids)
            lookup = PromptLookup() if config.speculation and config.looks_up else None
            if lookup is not None:
                lookup.note(request.prompt_ids)
            counters = Counters(config, new_tokens=1, prefill_s=self.prefill_s)
            row = Row(sequence, chooser, output, counters, request.greedy, lookup)
            row.take([chooser.choose(self._first_logits[sequence]).token])
            rows.append(row)
        return rows

    def stats(self, sequence: int = 0) -> SpeculationStats:
        """The counters of a row in the decoding under way, or in the last one. RuntimeError before the first."""
        if self.loop is None:
            raise RuntimeError("nothing was decoded yet")
        return self.rows[sequence].counters.snapshot(self.loop.costs.plain_step_s)

    @property
    def totals(self) -> SpeculationStats:
        """The counters of all rows together. RuntimeError before the first decoding."""
        return joined([self.stats(sequence) for sequence in range(len(self.requests))])

    def margins(self, count: int) -> list[float]:
        """Top-2 logit margins of up to `count` tokens of the first row behind its first, by plain steps.

        Fewer where the output ends before. Outputs and counters stay what they were; the run is rewound. RuntimeError
        before the prefill is complete.
        """
        kept = self.outputs
        self.rewind()
        loop = PlainLoop(self.target, self.cache, self._first_tokens(self.config)[:1], self.config, record_margins=True)
        for _, _ in zip(range(count), loop.run(), strict=False):
            pass
        self.rewind()
        self.outputs = kept
        return loop.margins or []
