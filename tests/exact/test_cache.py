"""The dense cache holds the exact rows of the committed tokens after every round, and drafts read only their budget."""

from __future__ import annotations

import pytest
import torch

from spsl_cli.decoding import attend as attend_module
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.forward_state import Mode
from spsl_cli.decoding.kv_cache import DraftSizes, LayerSizes
from spsl_cli.decoding.policies import base, make_policy
from spsl_cli.decoding.sparse_index import Budget
from spsl_cli.decoding.target import TargetModel
from tests.exact.rows import in_order
from tests.models import random_prompt, tiny_model

NEW = 30


def fresh_rows(model, token_ids):
    """Keys and values of every layer from a forward of the model's own, nothing of ours involved."""
    output = model(input_ids=torch.tensor([token_ids]), use_cache=True)
    return [(layer.keys[0], layer.values[0]) for layer in output.cache.layers]


@pytest.mark.parametrize(
    "how",
    [
        *({"k": k} for k in (1, 2, 4, 8)),
        *({"controller": name} for name in ("entropy", "disco", "adaedl", "svip")),
        {},
        {"k": 4, "lookup": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("budget", [0.05, 0.3])
def test_dense_cache_is_exact_after_every_round(how, budget):
    model, prompt = tiny_model("qwen3"), random_prompt(110)
    run = SparseSpecDecoder(model, DecodeConfig(budget=budget, **how)).prepare(prompt, max_new_tokens=NEW)
    list(run.prefill())
    rejected = 0
    for _ in run.decode():
        committed = prompt + run.output.token_ids[:-1]
        length = run.cache.lengths[0]
        assert length == len(committed)  # all but the pending token
        for layer, (keys, values) in zip(run.cache.layers, fresh_rows(model, committed), strict=True):
            torch.testing.assert_close(layer.dense.keys[0, :, :length], keys, rtol=0, atol=1e-5)
            torch.testing.assert_close(layer.dense.values[0, :, :length], values, rtol=0, atol=1e-5)
        rejected = run.stats().drafted - run.stats().accepted
    assert rejected > 0  # otherwise there was nothing to roll back


@pytest.mark.parametrize("budget", [0.1, 25])
def test_drafting_reads_only_the_budget(budget, monkeypatch):
    """Counts the key rows of every attention call of every draft step: the budget, and what this draft wrote."""
    rows = []
    original = attend_module.attend_row

    def counting(query, layer, i, **options):
        rows.append(layer.visible(i, query.shape[1])[0].keys.shape[1])
        return original(query, layer, i, **options)

    monkeypatch.setattr(attend_module, "attend_row", counting)
    model = tiny_model()
    run = SparseSpecDecoder(model, DecodeConfig(k=3, budget=budget)).prepare(random_prompt(400), max_new_tokens=NEW)
    list(run.prefill())
    draft_forward = run.target.draft_forward
    steps = 0

    def checked(cache, token_ids, sequences, depths):
        nonlocal steps
        rows.clear()
        logits = draft_forward(cache, token_ids, sequences, depths)
        allowed = Budget.resolve(run.config, cache.lengths[0]).total + depths[0] + 1
        assert rows == [allowed] * run.target.layer_count
        assert allowed <= 0.11 * cache.lengths[0] + depths[0] + 1
        assert cache.state.mode is Mode.DRAFT
        steps += 1
        return logits

    monkeypatch.setattr(run.target, "draft_forward", checked)
    list(run.decode())
    assert steps == run.stats().drafted > 10


def test_the_view_holds_the_rows_of_the_index(monkeypatch):
    """Each KV head of each layer gets the dense rows of its own positions, sink first, recent last."""
    chosen = []
    select = base.select_positions
    monkeypatch.setattr(base, "select_positions", lambda *args: chosen.append(select(*args)) or chosen[-1])
    run = SparseSpecDecoder(tiny_model(), DecodeConfig(k=2, budget=40)).prepare(random_prompt(200), max_new_tokens=8)
    list(run.prefill())
    list(run.decode())
    heads_differ = 0
    for layer, positions in zip(run.cache.layers, chosen[-run.target.layer_count :], strict=True):
        assert positions.shape == (2, 40)
        heads_differ += int((positions[0].sort().values != positions[1].sort().values).any())
        for head in range(2):
            for view, dense in zip(layer.view.rows, layer.dense, strict=True):
                assert in_order(view[0, :40, head]) == in_order(dense[0, head, positions[head]])
            assert positions[head, :4].tolist() == [0, 1, 2, 3]
            assert len(set(positions[head].tolist())) == 40
    assert heads_differ > 0  # the index is per head


def test_rows_of_a_batch_have_lengths_of_their_own():
    """Prefill, verify, plain and draft forwards of two sequences at once equal those of each alone."""
    model = tiny_model()
    target = TargetModel(model)
    prompts = [random_prompt(50, 1), random_prompt(37, 2)]
    sizes = LayerSizes(2, 80)
    together = target.allocate(sizes)
    alone = [target.allocate(LayerSizes(1, 80)) for _ in prompts]
    for sequence, prompt in enumerate(prompts):
        for cache, row in ((together, sequence), (alone[sequence], 0)):
            target.dense_forward(cache, torch.tensor([prompt]), (row,), keep=16, logits=1)
            cache.commit(row, len(prompt), 16)
    for cache in (together, *alone):
        for layer in cache.layers:
            layer.prepare_drafting(DraftSizes(40))
    blocks = torch.tensor([random_prompt(4, 3), random_prompt(4, 4)])
    both = target.dense_forward(together, blocks, (0, 1), keep=4)
    for row in range(2):
        single = target.dense_forward(alone[row], blocks[row : row + 1], (0,), keep=4)
        torch.testing.assert_close(both[row : row + 1], single, rtol=0, atol=2e-5)
    together.commit(0, 3, 16)
    together.commit(1, 1, 16)
    alone[0].commit(0, 3, 16)
    alone[1].commit(0, 1, 16)
    from spsl_cli.decoding.refresh import count_mass, refresh_view  # noqa: PLC0415

    policy = make_policy(DecodeConfig(budget=0.3))
    for row in range(2):
        for cache, sequence in ((together, row), (alone[row], 0)):
            count_mass(cache, sequence, policy)
            refresh_view(cache, sequence, policy)
    both = target.draft_forward(together, blocks[:, :1], (0, 1), (0, 0))
    for row in range(2):
        single = target.draft_forward(alone[row], blocks[row : row + 1, :1], (0,), (0,))
        torch.testing.assert_close(both[row : row + 1], single, rtol=0, atol=2e-5)
