"""Every index policy drafts for the same output, and each reads the positions that its published design names.

What a policy chose is judged by the model's own eager attention: all it took must score at least as high as all it
left, up to the rounding of the float16 rows that the importance keeps.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import combinations

import pytest
import torch
from torch.nn.functional import max_pool1d

from spsl_cli.decoding import attend as attend_module
from spsl_cli.decoding import engine as engine_module
from spsl_cli.decoding import refresh as refresh_module
from spsl_cli.decoding.config import INDEXES, DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.policies import POLICIES
from spsl_cli.decoding.sparse_index import Budget
from tests.exact.rows import in_order
from tests.models import CONFIGS, generate, random_prompt, tiny_model

NEW = 24
PROMPT = 120
BUDGET = 24
QUERY_HEADS, KV_HEADS = 6, 2
GROUPS = QUERY_HEADS // KV_HEADS
ROUNDING = 1e-3
"""Relative, of a score: a sum of rows of mass in float16, whose own is 2^-11."""
FAMILY = dict(zip(INDEXES, [*CONFIGS] * 3, strict=True))
per_index = pytest.mark.parametrize("index", INDEXES)

model_of = cache(partial(tiny_model, seed=1, num_hidden_layers=2))


@cache
def expected(family: str, length: int, new_tokens: int = NEW) -> list[int]:
    """Tokens of Hugging Face's own `generate`."""
    return generate(model_of(family), random_prompt(length), new_tokens)


def decode(index, length, *, new_tokens=NEW, **options):
    decoder = SparseSpecDecoder(model_of(FAMILY[index]), DecodeConfig(index=index, **options))
    return decoder.decode(random_prompt(length), max_new_tokens=new_tokens)


# ---- the output -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("importance", ["window", "decayed"])
@pytest.mark.parametrize("k", [1, 4, 8, "auto"])
@per_index
def test_greedy_output_is_that_of_generate(index, k, importance):
    result = decode(index, PROMPT, k=k, importance=importance, budget=3)
    assert result.token_ids == expected(FAMILY[index], PROMPT)
    if k != "auto":  # its lengths hang on measured times
        assert result.stats.drafted > 7
        assert result.stats.accepted < result.stats.drafted  # some were wrong


@pytest.mark.parametrize(("length", "budget"), [(60, 1), (60, 2), (60, 3), (20, 200), (20, 1.0), (1, 0.1), (1, 50)])
@per_index
def test_budgets_and_prompts_of_unusual_size(index, length, budget):
    """Budgets too small for all groups, prompts shorter than the budget, a prompt of one token."""
    result = decode(index, length, k=4, budget=budget)
    assert result.token_ids == expected(FAMILY[index], length)
    assert result.stats.drafted > 7


@per_index
def test_over_all_positions_a_draft_is_the_target_itself(index, monkeypatch):
    """Its logits are those of the verify that follows: the gathered rows, and those it writes, are the right ones."""
    decoder = SparseSpecDecoder(model_of(FAMILY[index]), DecodeConfig(index=index, k=5, budget=1.0))
    run = decoder.prepare(random_prompt(PROMPT), max_new_tokens=NEW)
    list(run.prefill())
    drafted: list[torch.Tensor] = []
    draft_forward, dense_forward, compared = run.target.draft_forward, run.target.dense_forward, 0

    def drafting(*arguments):
        drafted.append(draft_forward(*arguments)[0, 0])
        return drafted[-1][None, None]

    def verifying(*arguments, **options):
        nonlocal compared
        logits = dense_forward(*arguments, **options)
        if drafted:
            torch.testing.assert_close(torch.stack(drafted), logits[0, : len(drafted)], rtol=0, atol=1e-5)
        compared += len(drafted)
        drafted.clear()
        return logits

    monkeypatch.setattr(run.target, "draft_forward", drafting)
    monkeypatch.setattr(run.target, "dense_forward", verifying)
    list(run.decode())
    assert compared == run.stats().drafted == run.stats().accepted > 7


# ---- the cache --------------------------------------------------------------------------------------------------


@per_index
def test_dense_rows_are_exact_after_every_round(index):
    model, prompt = model_of(FAMILY[index]), random_prompt(PROMPT)
    run = SparseSpecDecoder(model, DecodeConfig(index=index, k=3, budget=0.05)).prepare(prompt, max_new_tokens=NEW)
    list(run.prefill())
    for _ in run.decode():
        committed = prompt + run.output.token_ids[:-1]
        length = run.cache.lengths[0]
        assert length == len(committed)
        fresh = model(input_ids=torch.tensor([committed]), use_cache=True).cache.layers
        for layer, own in zip(run.cache.layers, fresh, strict=True):
            torch.testing.assert_close(layer.dense.keys[0, :, :length], own.keys[0], rtol=0, atol=1e-5)
            torch.testing.assert_close(layer.dense.values[0, :, :length], own.values[0], rtol=0, atol=1e-5)
    assert run.stats().accepted < run.stats().drafted  # otherwise there was nothing to roll back


@pytest.mark.parametrize("budget", [3, BUDGET, 0.1])
@per_index
def test_a_draft_reads_exactly_its_budget(index, budget, monkeypatch):
    """Heads and rows of the keys in every attention call of every draft step."""
    shapes = []
    attend = attend_module.attend_row

    def counting(query, layer, i, **options):
        (keys, values), _ = layer.visible(i, query.shape[1])
        shapes.append((keys.shape[:2], values.shape[:2]))
        return attend(query, layer, i, **options)

    monkeypatch.setattr(attend_module, "attend_row", counting)
    config = DecodeConfig(index=index, k=3, budget=budget)
    run = SparseSpecDecoder(tiny_model(), config).prepare(random_prompt(200), max_new_tokens=16)
    list(run.prefill())
    draft_forward, steps = run.target.draft_forward, 0

    def checked(cache, token_ids, sequences, depths):
        nonlocal steps
        shapes.clear()
        logits = draft_forward(cache, token_ids, sequences, depths)
        heads = QUERY_HEADS if index == "per-query-head" else KV_HEADS
        total = Budget.resolve(config, cache.lengths[0]).total + depths[0] + 1
        assert all(keys == values and keys[0] == heads for keys, values in shapes)
        read = [keys[1] for keys, _ in shapes]
        layers = run.target.layer_count
        assert len(read) == layers
        if index == "pyramidkv":  # the budget of all layers, in falling parts
            assert sum(read) == total * layers
            assert read == sorted(set(read), reverse=True)
        else:
            assert read == [total] * layers
        steps += 1
        return logits

    monkeypatch.setattr(run.target, "draft_forward", checked)
    list(run.decode())
    assert steps == run.stats().drafted > 8


@pytest.mark.parametrize("index", ["sparsespec-l", "pyramidkv"])
def test_a_draft_writes_right_behind_what_was_gathered(index, monkeypatch):
    """Whatever the layer's part of the budget: every slot behind it is poison until the draft writes there."""
    refresh, sizes = engine_module.refresh_view, set()

    def poisoning(cache, sequence, policy):
        refresh(cache, sequence, policy)
        for layer in cache.drafting_layers:
            end = cache.sparse_sizes[sequence] + layer.shifts[sequence]
            sizes.add(end)
            for store in layer.view.rows:
                assert not store[sequence, :end].isnan().any()
                store[sequence, end:] = float("nan")

    monkeypatch.setattr(engine_module, "refresh_view", poisoning)
    config = DecodeConfig(index=index, k=4, budget=BUDGET)
    run = SparseSpecDecoder(tiny_model(), config).prepare(random_prompt(PROMPT), max_new_tokens=NEW)
    list(run.prefill())
    draft_forward = run.target.draft_forward

    def checked(*arguments):
        logits = draft_forward(*arguments)
        assert not logits.isnan().any()
        return logits

    monkeypatch.setattr(run.target, "draft_forward", checked)
    list(run.decode())
    assert run.stats().drafted > 8
    assert len(sizes) == (1 if index == "sparsespec-l" else 3)


# ---- what is selected -------------------------------------------------------------------------------------------


class Recorded:
    """What a policy was asked and what it chose, the tokens committed by then, and what the last dense forward ran."""

    def __init__(self, index, monkeypatch, *, k=3, budget=BUDGET, new_tokens=16, model=None, importance="window"):
        self.model, self.prompt = model or tiny_model(), random_prompt(PROMPT)
        self.rounds: list[list[torch.Tensor]] = []  # for each, positions by layer
        self.scores: list[list[torch.Tensor]] = []
        self.committed: list[list[int]] = []
        self.verified: list[tuple[list[int], int]] = []  # tokens as the last dense forward saw them; its rows
        self.config = DecodeConfig(index=index, k=k, budget=budget, importance=importance)
        self.run = SparseSpecDecoder(self.model, self.config).prepare(self.prompt, max_new_tokens=new_tokens)
        select, dense_forward = POLICIES[index].select, self.run.target.dense_forward
        last: tuple[list[int], int] = ([], 0)

        def recording(policy, layer, sequence, scores):
            positions = select(policy, layer, sequence, scores)
            if layer == 0:
                self.committed.append(self.tokens())
                self.verified.append(last)
                self.rounds.append([])
                self.scores.append([])
            self.rounds[-1].append(positions.clone())
            self.scores[-1].append(scores.clone())
            return positions

        def noting(cache, token_ids, sequences, **options):
            nonlocal last
            last = self.tokens() + token_ids[0].tolist(), token_ids.shape[1]
            return dense_forward(cache, token_ids, sequences, **options)

        monkeypatch.setattr(POLICIES[index], "select", recording)
        list(self.run.prefill())
        monkeypatch.setattr(self.run.target, "dense_forward", noting)
        for _ in self.run.decode():
            pass
        monkeypatch.undo()
        assert len(self.rounds) > 3
        for positions, committed in zip(self.rounds, self.committed, strict=True):
            total = Budget.resolve(self.config, len(committed)).total
            assert sum(layer.shape[1] for layer in positions) == total * len(positions)
            for layer in positions:
                assert layer.shape[1] == total or index == "pyramidkv"
                for head in layer.tolist():
                    assert len(head) == len(set(head))
                    assert 0 <= min(head) <= max(head) < len(committed)

    def tokens(self) -> list[int]:
        return self.prompt + self.run.output.token_ids[:-1]

    def attention(self, token_ids) -> list[torch.Tensor]:
        return eager_attention(self.model, token_ids)

    def groups(self, number: int) -> tuple[int, int, int]:
        """Sink, important, recent at this round."""
        budget = Budget.resolve(self.config, len(self.committed[number]))
        return budget.sink, budget.important, budget.recent


def eager_attention(model, token_ids) -> list[torch.Tensor]:
    """The model's own, [Hq, T, T] for each layer."""
    model.set_attn_implementation("eager")
    outputs = model(input_ids=torch.tensor([token_ids]), output_attentions=True, use_cache=False)
    model.set_attn_implementation("sdpa")
    return [weights[0] for weights in outputs.attentions]


def by_kv_head(weights: torch.Tensor) -> torch.Tensor:
    """[Hq, w, n] -> [Hkv, n], summed over rows and the query heads of a KV head."""
    return weights.sum(1).view(KV_HEADS, GROUPS, -1).sum(1)


def check_top(scores: torch.Tensor, chosen: list[int], first: int, last: int) -> None:
    """Between `first` and `last`, all chosen positions score at least what all others do."""
    inside = {position for position in chosen if first <= position < last}
    others = [position for position in range(first, last) if position not in inside]
    rounding = ROUNDING * scores.max()
    assert inside
    assert scores[sorted(inside)].min() >= scores[others].max() - rounding
    # Scores differ by far more than the rounding: another choice of as many would have been noticed.
    assert scores[sorted(inside)].mean() > scores[others].mean() + 50 * rounding


def check_eq_4(recorded, number, layer, scores):
    """Sink and recent, and between them the highest of `scores` [H, length], head by head."""
    sink, important, recent = recorded.groups(number)
    length = len(recorded.committed[number])
    for head, positions in enumerate(recorded.rounds[number][layer].tolist()):
        assert {*range(sink), *range(length - recent, length)} <= set(positions)
        assert len(positions) == sink + important + recent
        check_top(scores[head], positions, sink, length - recent)


@pytest.mark.parametrize("index", ["sparsespec-l", "per-query-head"])
def test_sparsespec_l_selects_by_eq_4(index, monkeypatch):
    """By the attention of the last 16 committed queries: for each KV head, or for each query head."""
    recorded = Recorded(index, monkeypatch)
    for number, committed in enumerate(recorded.committed):
        for layer, weights in enumerate(recorded.attention(committed)):
            window = weights[:, -16:]
            check_eq_4(recorded, number, layer, window.sum(1) if index == "per-query-head" else by_kv_head(window))
    heads = recorded.rounds[-1][0].sort(dim=1).values
    assert heads.shape[0] == (QUERY_HEADS if index == "per-query-head" else KV_HEADS)
    assert len({tuple(row) for row in heads.tolist()}) == heads.shape[0]  # within a group too, each its own


def test_every_query_head_has_the_rows_of_its_own_positions(monkeypatch):
    """Taken from the dense rows of the KV head it shares with others."""
    recorded = Recorded("per-query-head", monkeypatch)
    for layer, positions in zip(recorded.run.cache.layers, recorded.rounds[-1], strict=True):
        assert layer.view.rows.keys.shape[2] == QUERY_HEADS
        for head in range(QUERY_HEADS):
            for view, dense in zip(layer.view.rows, layer.dense, strict=True):
                assert in_order(view[0, :BUDGET, head]) == in_order(dense[0, head // GROUPS, positions[head]])


def test_vegas_selects_one_set_for_all_heads(monkeypatch):
    """Sink, recent, and the highest average over all heads of the layer."""
    recorded = Recorded("vegas", monkeypatch)
    for number, committed in enumerate(recorded.committed):
        for layer, weights in enumerate(recorded.attention(committed)):
            positions = recorded.rounds[number][layer]
            assert torch.equal(positions[0], positions[1])
            average = weights[:, -16:].sum(1).mean(0).expand(KV_HEADS, -1)
            check_eq_4(recorded, number, layer, average)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_pillar_scores_are_of_the_last_verify_and_all_its_queries(k, monkeypatch):
    """Rejected ones too, over the tokens as they stood in that verify; nothing is set aside for sink or recent."""
    recorded = Recorded("pillar", monkeypatch, k=k, new_tokens=24)
    rejected = forced = 0
    for number, (committed, (verified, asked)) in enumerate(zip(recorded.committed, recorded.verified, strict=True)):
        length, rejected = len(committed), rejected + len(verified) - len(committed)
        assert (asked == 1) is (number == 0)  # plain rounds come first
        sink, _, recent = recorded.groups(number)
        for layer, weights in enumerate(recorded.attention(verified)):
            scores = by_kv_head(weights[:, -asked:])[:, :length]
            torch.testing.assert_close(recorded.scores[number][layer], scores, rtol=2 * ROUNDING, atol=1e-5)
            for head, positions in enumerate(recorded.rounds[number][layer].tolist()):
                check_top(scores[head], positions, 0, length)
                forced += {*range(sink), *range(length - recent, length)} <= set(positions)
    assert rejected > 0
    assert forced == 0


@pytest.mark.parametrize("index", ["snapkv", "pyramidkv"])
def test_snapkv_ranks_the_prompt_once(index, monkeypatch):
    """By its last 16 queries, pooled over 7 neighbours; generated positions push out first the lowest of the ranking,
    then their own oldest. So it is in every layer of PyramidKV, whatever its part of the budget."""
    recorded = Recorded(index, monkeypatch, new_tokens=24)
    ranked = len(recorded.committed[0]) - recorded.groups(0)[2]
    attention = recorded.attention(recorded.prompt)
    for layer, weights in enumerate(attention):
        votes = torch.zeros(KV_HEADS, ranked)
        votes[:, :PROMPT] = by_kv_head(weights[:, -16:])[:, :ranked]
        votes = max_pool1d(votes, 7, stride=1, padding=3)
        before: list[list[int]] | None = None
        for number, committed in enumerate(recorded.committed):
            size = recorded.rounds[number][layer].shape[1]
            latest = set(range(ranked, len(committed))[-size:])
            chosen = []
            for head, positions in enumerate(recorded.rounds[number][layer].tolist()):
                assert latest <= set(positions)
                chosen.append([position for position in positions if position < ranked])
                assert len(chosen[-1]) == size - len(latest)
                best = votes[head].topk(len(chosen[-1])).values
                torch.testing.assert_close(votes[head, chosen[-1]], best, rtol=2 * ROUNDING, atol=1e-5)
                if before is not None:  # the ranking is the one of the first round, cut shorter
                    assert chosen[-1] == before[head][: len(chosen[-1])]
            before = chosen
    assert len(recorded.committed[-1]) - ranked > BUDGET  # the ranking was used up in the end


def page_bounds(query: torch.Tensor, keys: torch.Tensor) -> list[float]:
    """Of every 16 keys [n, D], one after the other, the sum over queries [G, D] and channels of the largest product."""
    bounds = []
    for page in keys.split(16):
        low, high = page.min(0).values, page.max(0).values
        bounds.append(float(torch.maximum(query * low, query * high).sum()))
    return bounds


def test_quest_reads_the_last_page_and_the_best_of_the_others_whole(monkeypatch):
    """By bounds for the last committed query, which is the one whose attention the model itself has there."""
    queries, right = [], POLICIES["quest"].scores

    def noting(policy, layer, sequence, rows, length):
        queries.append(rows.pending[sequence].query[:, -1].clone())
        return right(policy, layer, sequence, rows, length)

    monkeypatch.setattr(POLICIES["quest"], "scores", noting)
    recorded = Recorded("quest", monkeypatch, budget=40, new_tokens=24)
    asked, cut = iter(queries), 0
    for number, committed in enumerate(recorded.committed):
        length = len(committed)
        begin = (length - 1) // 16 * 16
        for layer, weights in enumerate(recorded.attention(committed)):
            query = next(asked).view(KV_HEADS, GROUPS, -1)
            keys = recorded.run.cache.layers[layer].dense.keys[0, :, :length]
            own = (query @ keys.transpose(1, 2) * recorded.run.cache.layers[layer].scaling).softmax(-1)
            torch.testing.assert_close(own.flatten(0, 1), weights[:, -1], rtol=0, atol=1e-4)
            for head, positions in enumerate(recorded.rounds[number][layer].tolist()):
                bounds = torch.tensor(page_bounds(query[head], keys[head])[:-1])
                assert set(range(begin, length)) <= set(positions)
                others = [position for position in positions if position < begin]
                pages = bounds.topk(-(-len(others) // 16)).indices.tolist()
                wanted = [page * 16 + i for page in pages for i in range(16)]
                assert sorted(others) == sorted(wanted[: len(others)])
                cut += len(others) % 16 > 0
    assert cut > 0  # of the lowest page only a part was read
    assert next(asked, None) is None


WAYS_TO_COUNT = [
    {"k": 3},
    {"k": 16, "lookup": True},
    {},
    {"k": 2, "refresh_every": 4, "counted": 1},
    {"controller": "lookup-only", "lookup": True},  # no sparse draft ever comes
]


@pytest.mark.parametrize("how", WAYS_TO_COUNT, ids=str)
def test_h2o_sums_the_attention_of_every_query_from_the_first_of_the_prompt_on(how):
    """Behind prefills in pieces, in plain, looked-up and drafting rounds, in a batch, and again after a rewind."""
    model, config = tiny_model(), DecodeConfig(index="h2o", budget=BUDGET, prefill_chunk=50, **how)
    prompts = [random_prompt(PROMPT), random_prompt(40, 1) + random_prompt(40, 1)]
    run = SparseSpecDecoder(model, config).prepare(*prompts, max_new_tokens=NEW)
    list(run.prefill())
    rows = [[store.clone() for store in layer.dense] for layer in run.cache.layers]
    for _ in range(2):
        run.rewind()
        next(run.decode())
        for layer, stores in zip(run.cache.layers, rows, strict=True):
            for row, prompt in enumerate(prompts):
                for store, before in zip(layer.dense, stores, strict=True):
                    assert torch.equal(store[row, :, : len(prompt)], before[row, :, : len(prompt)])
        run.rewind()
        list(run.decode())
        assert sum(run.stats(row).accepted for row in range(2)) < run.totals.drafted
        for row, prompt in enumerate(prompts):
            committed = prompt + run.outputs[row].token_ids[:-1]
            assert run.cache.lengths[row] == len(committed)
            for layer, weights in zip(run.cache.layers, eager_attention(model, committed), strict=True):
                found = layer.importance.scores(row, len(committed))
                torch.testing.assert_close(found, by_kv_head(weights), rtol=1e-4, atol=1e-4)


def test_h2o_reads_heavy_hitters_and_the_recent_half(monkeypatch):
    recorded = Recorded("h2o", monkeypatch)
    for number, committed in enumerate(recorded.committed):
        length = len(committed)
        for layer, weights in enumerate(recorded.attention(committed)):
            scores = by_kv_head(weights)
            torch.testing.assert_close(recorded.scores[number][layer], scores, rtol=1e-4, atol=1e-4)
            for head, positions in enumerate(recorded.rounds[number][layer].tolist()):
                assert set(range(length - BUDGET // 2, length)) <= set(positions)
                check_top(scores[head], positions, 0, length - BUDGET // 2)


def test_another_index_behind_h2o_and_the_other_way_round():
    """Decodings of one run: each begins with an importance of its own."""
    model, prompt = tiny_model(), random_prompt(PROMPT)
    run = SparseSpecDecoder(model).prepare(prompt, max_new_tokens=NEW)
    list(run.prefill())
    for index in ("sparsespec-l", "h2o", "pyramidkv", "quest", "h2o", "streaming"):
        run.rewind()
        list(run.decode(config=DecodeConfig(index=index, k=3, budget=BUDGET)))
        alone = SparseSpecDecoder(model, run.loop.config).decode(prompt, max_new_tokens=NEW)
        assert run.output.token_ids == alone.token_ids
        assert run.stats().accepted == alone.stats.accepted


def test_streaming_reads_sink_and_recent_and_computes_no_mass(monkeypatch):
    def refused(*_, **__):
        raise AssertionError("attention mass was computed")

    monkeypatch.setattr(refresh_module, "mass_of", refused)
    with pytest.raises(AssertionError, match="mass was computed"):
        decode("sparsespec-l", PROMPT, k=3)
    monkeypatch.undo()
    with monkeypatch.context() as patch:
        patch.setattr(refresh_module, "mass_of", refused)
        assert decode("streaming", PROMPT, k=3).token_ids == expected(FAMILY["streaming"], PROMPT)
    recorded = Recorded("streaming", monkeypatch)
    for number, committed in enumerate(recorded.committed):
        sink, important, recent = recorded.groups(number)
        length = len(committed)
        wanted = {*range(sink), *range(length - important - recent, length)}
        for layer in recorded.rounds[number]:
            assert [set(head) for head in layer.tolist()] == [wanted] * KV_HEADS


def test_no_policy_is_another(monkeypatch):
    """On one prompt the positions of the first draft differ between any two of them, in every layer.

    But for PyramidKV's middle one, whose budget is the average, and which is SnapKV's.
    """
    first = {}
    for index in INDEXES:
        layers = Recorded(index, monkeypatch, new_tokens=24).rounds[0]
        first[index] = [
            [set(head) for head in layer.repeat_interleave(QUERY_HEADS // len(layer), 0).tolist()] for layer in layers
        ]
    for one, other in combinations(INDEXES, 2):
        for layer, (ours, theirs) in enumerate(zip(first[one], first[other], strict=True)):
            same = {one, other} == {"snapkv", "pyramidkv"} and layer == 1
            assert (ours == theirs) is same, (one, other, layer)


def test_the_two_importances_select_differently(monkeypatch):
    window = Recorded("sparsespec-l", monkeypatch)
    decayed = Recorded("sparsespec-l", monkeypatch, importance="decayed")
    ours, theirs = ([set(head) for layer in each.rounds[0] for head in layer.tolist()] for each in (window, decayed))
    assert ours != theirs
    for number, committed in enumerate(decayed.committed):
        for layer, weights in enumerate(decayed.attention(committed)):
            queries = 16 + len(committed) - len(decayed.committed[0])  # the last 16 before the first draft, and later
            ages = torch.arange(queries - 1, -1, -1)
            faded = weights[:, -queries:] * (15 / 16) ** ages[:, None]
            check_eq_4(decayed, number, layer, by_kv_head(faded))
