"""The first sparse view comes with the prefill, where that read most of the prompt; a draft after a pause is cheap."""

from __future__ import annotations

import pytest
import torch

from spsl_cli.decoding import refresh
from spsl_cli.decoding.config import INDEXES, DecodeConfig, SamplingConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.events import Draft
from tests.exact.test_static_step import MODELS
from tests.models import random_prompt, tiny_model

PROMPT = random_prompt(120, 3)


def prepared(config, prompt=PROMPT, prefix=None, new_tokens=20):
    run = SparseSpecDecoder(tiny_model(), config).prepare(list(prompt), max_new_tokens=new_tokens)
    list(run.prefill(prefix=prefix))
    return run


def drafts(run, **options):
    found = [event.token_ids for event in run.decode(**options) if isinstance(event, Draft)]
    return found, list(run.output.token_ids)


def views(run):
    size, layers = run.cache.sparse_sizes[0], run.cache.layers
    return [store[:, : size + layer.shifts[0]].clone() for layer in layers for store in layer.view.rows]


def test_a_prefill_leaves_a_view_of_the_prompt():
    run = prepared(DecodeConfig(budget=24))
    assert run.cache.sparse_sizes == [24]
    assert run.cache.viewed == [len(PROMPT)]
    assert not any(layer.pending for layer in run.cache.layers)


def test_one_that_was_mostly_read_before_leaves_none():
    config = DecodeConfig(budget=24, prefill_chunk=16)
    before = prepared(config)
    run = prepared(config, prefix=before.prefix(112))
    assert run.reused > 3 / 4 * len(PROMPT)
    assert run.cache.sparse_sizes == [0]
    ours, tokens = drafts(run)
    assert ours
    assert tokens == drafts(before)[1]


@pytest.mark.parametrize("index", INDEXES)
def test_views_made_again_are_the_same(index):
    """After a rewind, and behind another configuration's decoding."""
    run = prepared(DecodeConfig(budget=24, index=index))
    before = views(run)
    tokens = drafts(run)[1]
    run.rewind()
    assert drafts(run, config=DecodeConfig(k=2, budget=16, index="streaming"))[1] == tokens
    run.rewind()
    next(run.decode())
    for mine, its in zip(views(run), before, strict=True):
        assert torch.equal(mine, its)
    run.rewind()
    assert drafts(run)[1] == tokens
    run.rewind()
    assert drafts(run, speculation=False) == ([], tokens)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("more", [{}, {"importance": "window"}, {"window": 8}, {"k": 3}], ids=str)
def test_another_configuration_right_behind_the_prefill(index, more):
    """The views that the prefill has made are not its; its importance begins with the prompt's queries all the same."""
    other = DecodeConfig(budget=16, index=index, **more)
    straight, again = prepared(DecodeConfig(budget=24)), prepared(DecodeConfig(budget=24))
    again.rewind()
    shown = []
    for run in (straight, again):
        next(run.decode(config=other))
        shown.append([*views(run), *([] if "k" not in more else sums(run))])
    for mine, its in zip(*shown, strict=True):
        assert torch.equal(mine, its)


def sums(run):
    """Of what waits to be counted."""
    return [waiting.query for layer in run.cache.drafting_layers if (waiting := layer.pending.get(0)) is not None]


def test_forwards_of_fixed_shape_keep_the_view():
    run = prepared(DecodeConfig(budget=24, graphs=True))
    before = views(run)
    assert any(store.any() for store in before)
    next(run.decode())
    for mine, its in zip(views(run), before, strict=True):
        assert torch.equal(mine, its)


def test_a_model_whose_layers_all_slide_has_no_view_for_any_index():
    for index in INDEXES:
        run = SparseSpecDecoder(MODELS["windows"](), DecodeConfig(index=index, budget=8)).prepare(
            [1, 2, 3], max_new_tokens=3
        )
        list(run.prefill())
        assert len(drafts(run)[1]) == 3


@pytest.mark.parametrize("given", [{"k": 3}, {"controller": "entropy"}])
def test_a_controller_that_always_drafts_begins_as_the_paper_does(given):
    assert prepared(DecodeConfig(budget=24, **given)).cache.sparse_sizes == [0]


def test_drawn_tokens_do_not_hang_on_what_was_read_before():
    """Draft lengths decide how the dice are thrown, and what a first draft sees decides them."""
    sampling = SamplingConfig(temperature=1.0, seed=5)
    config = DecodeConfig(budget=24, prefill_chunk=16)
    maker = SparseSpecDecoder(tiny_model(), config)
    first, second = (maker.prepare(list(PROMPT), max_new_tokens=20, sampling=sampling) for _ in range(2))
    list(first.prefill())
    assert first.cache.sparse_sizes == [0]
    list(second.prefill(prefix=first.prefix(112)))
    assert second.reused
    assert drafts(first) == drafts(second)


def test_a_first_draft_counts_nothing_of_what_left_no_mass(monkeypatch):
    """The plain steps at the start leave queries without mass: counting them would be a pass over all keys for each."""
    passes = []
    real = refresh.mass_of

    def watched(layer, queries, *arguments):
        passes.append(queries.mass is None)
        return real(layer, queries, *arguments)

    run = prepared(DecodeConfig(budget=24))
    monkeypatch.setattr(refresh, "mass_of", watched)
    found, _ = drafts(run)
    layers = len(run.cache.drafting_layers)
    assert found
    assert not any(passes[:layers])  # the first draft goes by the view of the prefill
    assert len(passes) <= layers * (len(found) - 1)


def test_without_a_view_all_that_waits_is_counted(monkeypatch):
    config = DecodeConfig(budget=24, prefill_chunk=16)
    run = prepared(config, prefix=prepared(config).prefix(112))
    widths = []
    real = refresh.mass_of

    def watched(layer, queries, *arguments):
        widths.append(queries.query.shape[1])
        return real(layer, queries, *arguments)

    monkeypatch.setattr(refresh, "mass_of", watched)
    drafts(run)
    assert widths[0] == config.window
