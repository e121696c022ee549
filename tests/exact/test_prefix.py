"""Rows used again: bit for bit what a prefill computes, and so is everything behind them."""

from __future__ import annotations

import pytest
import torch

from spsl_cli import SparseSpecDecoder
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.prefix import splits_of, usable
from tests.models import draft_config, random_prompt, tiny_model
from tests.unit.test_positions import LIMIT, longrope

CHUNK = 64


def decoder(k=3, *, seed=0, **sizes):
    return SparseSpecDecoder(tiny_model(seed=seed, **sizes), draft_config(k, prefill_chunk=CHUNK))


def decoded(run):
    list(run.decode())
    return run.output.token_ids, run.stats().accepted


def prefilled(maker, prompt, *, splits=(), prefix=None):
    run = maker.prepare(prompt, max_new_tokens=24)
    list(run.prefill(splits=splits, prefix=prefix))
    return run


def assert_same_rows(run, other):
    assert run.cache.lengths == other.cache.lengths
    count = run.cache.lengths[0]
    for mine, its in zip(run.cache.layers, other.cache.layers, strict=True):
        for store, want in zip(mine.dense, its.dense, strict=True):
            assert torch.equal(store[:, :, :count], want[:, :, :count])
    for mine, its in zip(run._seeds[0], other._seeds[0], strict=True):
        assert torch.equal(mine.query, its.query)
        assert torch.equal(mine.lse, its.lse)
    assert torch.equal(run._first_logits[0], other._first_logits[0])


QUESTIONS = (random_prompt(40)[:33], [7, 8, 9] * 9)


@pytest.mark.parametrize("release", [False, True])
@pytest.mark.parametrize("sizes", [{}, {"hidden_size": 64, "head_dim": 16, "num_attention_heads": 4}], ids=str)
def test_another_question_on_the_same_documents(release, sizes):
    documents, maker = random_prompt(300), decoder(**sizes)
    first, second = ([*documents, *question] for question in QUESTIONS)
    earlier = prefilled(maker, first, splits=(300,))
    decoded(earlier)  # what was decoded behind it does not matter
    run = prefilled(maker, second, splits=(300,), prefix=earlier.prefix(300, release=release))
    assert run.reused == 300
    fresh = prefilled(maker, second, splits=(300,))
    assert fresh.reused == 0
    assert_same_rows(run, fresh)
    assert decoded(run) == decoded(fresh)
    run.rewind()
    assert decoded(run) == decoded(prefilled(maker, second, splits=(300,)))


def test_a_run_that_was_given_away_is_over():
    maker = decoder()
    earlier = prefilled(maker, random_prompt(200), splits=(150,))
    list(earlier.prefix(150, release=True).rows)
    with pytest.raises(RuntimeError, match="prefill"):
        list(earlier.decode())
    list(earlier.prefill())
    assert decoded(earlier) == decoded(prefilled(maker, random_prompt(200)))


def test_what_follows_a_change_is_computed():
    documents, maker = random_prompt(300), decoder()
    earlier = prefilled(maker, [*documents, *QUESTIONS[0]], splits=(300,))
    changed = documents[:]
    changed[200] = (changed[200] + 1) % 60
    run = prefilled(maker, [*changed, *QUESTIONS[0]], splits=(300,), prefix=earlier.prefix(300))
    assert run.reused == 192  # whole pieces only
    assert_same_rows(run, prefilled(maker, [*changed, *QUESTIONS[0]], splits=(300,)))


def test_the_last_queries_are_always_computed():
    """The importance begins with them: the same prompt again computes its last piece, or more if that is short."""
    prompt, maker = random_prompt(CHUNK * 2 + 5), decoder()
    run = prefilled(maker, prompt, prefix=prefilled(maker, prompt).prefix(len(prompt)))
    assert run.reused == CHUNK  # not 128: only five queries would follow, of sixteen
    assert_same_rows(run, prefilled(maker, prompt))


def test_a_prefill_that_is_run_again_without_the_prefix():
    prompt, maker = [*random_prompt(200), *QUESTIONS[1]], decoder()
    earlier = prefilled(maker, prompt, splits=(200,))
    run = prefilled(maker, prompt, splits=(200,), prefix=earlier.prefix(200))
    list(run.prefill(splits=(200,)))
    assert run.reused == 0
    assert_same_rows(run, earlier)


def test_rows_that_end_early_do_not_end_up_in_an_answer():
    """A source that fails half-way fails the prefill, and the next one starts over."""
    prompt, maker = [*random_prompt(200), *QUESTIONS[1]], decoder()
    earlier = prefilled(maker, prompt, splits=(200,))
    prefix = earlier.prefix(200)
    rows = list(prefix.rows)[:2]
    run = maker.prepare(prompt, max_new_tokens=24)
    with pytest.raises(ValueError, match="shorter"):
        list(run.prefill(splits=(200,), prefix=type(prefix)(prefix.token_ids, prefix.splits, iter(rows))))
    with pytest.raises(RuntimeError, match="prefill"):
        list(run.decode())
    list(run.prefill(splits=(200,)))
    assert_same_rows(run, earlier)


def test_a_batch_takes_no_prefix():
    maker = decoder()
    prefix = prefilled(maker, random_prompt(100)).prefix(64)
    run = maker.prepare(random_prompt(100), random_prompt(90), max_new_tokens=4)
    with pytest.raises(ValueError, match="one prompt"):
        list(run.prefill(prefix=prefix))


def test_rows_from_before_a_longrope_limit_are_not_those_behind_it():
    """Below it and beyond it the same position is rotated otherwise."""
    maker = SparseSpecDecoder(longrope("llama"), DecodeConfig(k=2, prefill_chunk=16))
    prompt = random_prompt(LIMIT + 60)
    short, long = (maker.prepare(prompt[:length], max_new_tokens=4) for length in (LIMIT - 8, LIMIT + 60))
    for run in (short, long):
        list(run.prefill(splits=(30,)))
    assert short.reusable(prompt, [16, 30, 32], (30,)) > 0
    assert long.reusable(short.prompt_ids, short.splits, (30,)) == 0
    assert short.reusable(long.prompt_ids, long.splits, (30,)) == 0


def test_splits():
    assert splits_of(200, 64, (150, 0, 200, 900, 128)) == [64, 128, 150, 192, 200]
    assert splits_of(64, 64) == [64]


@pytest.mark.parametrize(
    ("common", "splits", "mine", "found"),
    [
        (100, [64, 100], [64, 100, 120], 100),
        (99, [64, 100], [64, 100, 120], 64),
        (100, [64, 90, 100], [64, 100, 120], 64),  # another piece ended at 90
        (63, [64, 100], [64, 100], 0),
        (100, [], [64], 0),
    ],
)
def test_rows_are_used_up_to_a_common_split(common, splits, mine, found):
    ids = list(range(130))
    other = [*ids[:common], *(-1 for _ in range(20))]
    assert usable(other, splits, ids, mine) == found
