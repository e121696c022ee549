"""A view that is refreshed every few drafts: what is committed in between joins it, and the output is the same."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from spsl_cli import SparseSpecDecoder
from spsl_cli.decoding import engine, refresh
from spsl_cli.decoding.config import INDEXES, DecodeConfig
from spsl_cli.decoding.kv_cache import JOINING
from tests.models import random_prompt, tiny_model

PROMPT = random_prompt(200)


def decode(**options):
    return SparseSpecDecoder(tiny_model(), DecodeConfig(budget=24, **options)).decode(PROMPT, max_new_tokens=40)


@pytest.mark.parametrize(("every", "counted"), [(2, None), (4, 4), (50, 1)])
@pytest.mark.parametrize("index", INDEXES)
def test_the_output_is_the_same(index, every, counted):
    lazy = decode(k=3, index=index, refresh_every=every, counted=counted)
    assert lazy.token_ids == decode(speculation=False).token_ids
    assert 0 < lazy.stats.accepted < lazy.stats.drafted


@pytest.mark.parametrize("controller", ["entropy", "calibrated"])
def test_with_controllers_and_batches(controller):
    prompts = [PROMPT, PROMPT[:90], PROMPT[50:]]
    config = DecodeConfig(controller=controller, refresh_every=3, counted=2)
    plain = DecodeConfig(speculation=False)
    lazy, want = (
        SparseSpecDecoder(tiny_model(), way).decode_batch(prompts, max_new_tokens=32) for way in (config, plain)
    )
    assert [row.token_ids for row in lazy] == [row.token_ids for row in want]


@pytest.mark.parametrize("index", ["sparsespec-l", "per-query-head", "streaming", "pyramidkv"])
def test_the_view_holds_what_was_committed_since(index, monkeypatch):
    """Behind the gathered rows: the dense rows from the refresh on, all of them, in order."""
    seen = []
    extend = engine.extend_view

    def checked(cache, sequence):
        extend(cache, sequence)
        count, slots = cache.joined[sequence], cache.sparse_sizes[sequence]
        positions = slice(cache.lengths[sequence] - count, cache.lengths[sequence])
        for layer in cache.drafting_layers:
            end = slots + layer.shifts[sequence]
            for dense, sparse in zip(layer.dense, layer.view.rows, strict=True):
                wanted = dense[sequence, :, positions].transpose(0, 1)
                wanted = wanted.repeat_interleave(sparse.shape[2] // wanted.shape[1], 1)
                assert torch.equal(sparse[sequence, end - count : end], wanted)
        assert (len({layer.shifts[sequence] for layer in cache.drafting_layers}) > 1) is (index == "pyramidkv")
        seen.append(count)

    monkeypatch.setattr(engine, "extend_view", checked)
    decode(k=3, index=index, refresh_every=4)
    assert len(seen) > 4
    assert max(seen) > 3


def drafting_rounds(result):
    return sum(rounds for k, rounds in result.stats.k_histogram.items() if k)


def test_refreshed_after_so_many_drafts_or_when_the_view_is_full(monkeypatch):
    refreshed = []
    right = engine.refresh_view
    monkeypatch.setattr(engine, "refresh_view", lambda *a: (refreshed.append(a[0].lengths[0]), right(*a)))
    each = decode(k=2, refresh_every=1)
    assert len(refreshed) == drafting_rounds(each) > 10
    refreshed.clear()
    lazy = decode(k=2, refresh_every=3)
    assert len(refreshed) == -(-drafting_rounds(lazy) // 3)
    refreshed.clear()
    rare = DecodeConfig(k=2, budget=24, refresh_every=1000)
    result = SparseSpecDecoder(tiny_model(), rare).decode(PROMPT, max_new_tokens=3 * JOINING)
    assert len(result.token_ids) == 3 * JOINING
    gaps = [later - earlier for earlier, later in pairwise(refreshed)]
    assert gaps
    assert all(JOINING < gap <= JOINING + 3 for gap in gaps)


def test_only_the_last_queries_count_after_the_first_time(monkeypatch):
    counted = []
    right = refresh.mass_of

    def counting(layer, queries, *rest):
        counted.append(queries.query.shape[1])
        return right(layer, queries, *rest)

    monkeypatch.setattr(refresh, "mass_of", counting)
    decode(k=3, refresh_every=4, counted=2)
    layers = 3
    assert set(counted[:layers]) == {16}
    assert set(counted[layers:]) == {2}


@pytest.mark.parametrize("wrong", [{"refresh_every": 0}, {"refresh_every": None}, {"counted": 0}, {"counted": True}])
def test_values_out_of_range(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be a whole number of at least 1"):
        DecodeConfig(**wrong)
