"""Drafts from earlier text, from the sparse model, and from both: the output is the model's own whoever proposes."""

from __future__ import annotations

import pytest

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.controllers import always
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.target import TargetModel
from tests.models import CONFIGS, generate, random_prompt, tiny_model

NEW = 48


@pytest.fixture
def forwards(monkeypatch):
    """Rows of every forward over the sparse view."""
    rows, right = [], TargetModel.draft_forward

    def watched(self, cache, token_ids, *rest):
        rows.append(token_ids.shape[1])
        return right(self, cache, token_ids, *rest)

    monkeypatch.setattr(TargetModel, "draft_forward", watched)
    return rows


def repetitive(length, seed=0):
    """A prompt whose pieces come again."""
    piece = random_prompt(length // 3, seed)
    return piece + random_prompt(length - 2 * len(piece), seed + 1) + piece


@pytest.mark.parametrize("family", CONFIGS)
@pytest.mark.parametrize("how", [{"k": 4, "lookup": True}, {"controller": "entropy", "lookup": True}, {}], ids=str)
def test_every_proposer_gives_the_models_own_tokens(family, how, monkeypatch, forwards):
    monkeypatch.setattr(always, "LONG_MATCH", 4)
    model = tiny_model(family, seed=3)
    prompts = [repetitive(length, length) for length in (30, 90, 150)]
    decoder = SparseSpecDecoder(model, DecodeConfig(budget=0.2, **how))
    alone = [decoder.decode(prompt, max_new_tokens=NEW) for prompt in prompts]
    together = decoder.decode_batch(prompts, max_new_tokens=NEW)
    for prompt, own, row in zip(prompts, alone, together, strict=True):
        assert own.token_ids == row.token_ids == generate(model, prompt, NEW)
    assert sum(result.stats.lookup_accepted for result in alone) > 0
    assert sum(result.stats.drafted - result.stats.lookup_drafted for result in alone) > 0
    assert 1 in forwards
    assert max(forwards) > 2  # guesses were checked several at a time


@pytest.mark.parametrize("index", ["per-query-head", "vegas", "streaming"])
def test_with_other_indexes(index, forwards):
    model = tiny_model(seed=4)
    prompt = repetitive(120)
    config = DecodeConfig(index=index, budget=0.2, k=6, lookup=True)
    result = SparseSpecDecoder(model, config).decode(prompt, max_new_tokens=NEW)
    assert result.token_ids == generate(model, prompt, NEW)
    assert max(forwards) > 2


def test_without_lookup_nothing_is_looked_up(forwards):
    decoder = SparseSpecDecoder(tiny_model(seed=3), DecodeConfig(lookup=False))
    result = decoder.decode(repetitive(90), max_new_tokens=NEW)
    assert result.stats.drafted > result.stats.lookup_drafted == 0
    assert set(forwards) == {1}


@pytest.mark.real_costs
def test_where_drafts_cannot_pay_nothing_is_drafted():
    """A model of a few kilobytes reads hardly any KV: a draft costs what a plain step costs."""
    decoder = SparseSpecDecoder(tiny_model(seed=3), DecodeConfig(lookup=False))
    result = decoder.decode(random_prompt(60), max_new_tokens=NEW)
    assert result.stats.drafted == 0
    assert result.stats.k_histogram == {0: NEW - 1}
