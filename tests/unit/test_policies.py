"""What published index policies promise, one by one, on tensors made here."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.importance import SummedImportance, make_importance
from spsl_cli.decoding.policies import make_policy
from spsl_cli.decoding.policies.pyramidkv import BETA, PyramidKV, falling
from spsl_cli.decoding.policies.quest import PAGE, PageBounds, Quest
from spsl_cli.decoding.sparse_index import Budget

LENGTHS = (1, 2, 16, 17, 40, 100, 101, 1000)
BUDGETS = (1, 2, 3, 17, 64, 5000, 0.05, 0.1, 0.7, 1.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("length", LENGTHS)
def test_no_key_of_a_page_exceeds_its_bound(length, dtype):
    """Products of whole numbers up to 64 are exact in every type. A page of one key, or of equal ones, meets it."""
    generator = torch.Generator().manual_seed(length)
    keys = torch.randint(-8, 9, (3, length + 30, 8), generator=generator).to(dtype)
    query = torch.randint(-8, 9, (3, 2, 8), generator=generator).to(dtype)
    bounds = PageBounds(keys)
    bounds.extend(keys, length)
    found = bounds.scores(query, length)
    products = (query.double() @ keys[:, :length].double().transpose(1, 2)).split(PAGE, dim=2)
    assert found.shape == (3, 2, len(products))
    assert found.dtype is (torch.float64 if dtype is torch.float64 else torch.float32)
    for page, own in enumerate(products):
        assert (found[..., page] >= own.amax(2)).all()
    if length % PAGE == 1:
        assert torch.equal(found[..., -1].double(), products[-1][..., 0])


def test_bounds_that_grew_are_those_of_all_keys_at_once():
    keys, query = torch.randn(2, 200, 8), torch.randn(2, 3, 8)
    grown = PageBounds(keys)
    for length in (1, 2, 15, 16, 17, 48, 49, 50, 130, 144, 199):
        keys[:, length:].fill_(float("nan"))  # what is not committed yet may hold anything
        grown.extend(keys, length)
        fresh = PageBounds(keys)
        fresh.extend(keys, length)
        assert torch.equal(grown.scores(query, length), fresh.scores(query, length))
        assert not grown.scores(query, length).isnan().any()
        keys[:, length:].normal_()


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("length", LENGTHS)
def test_quest_fills_its_budget_with_pages_and_the_last_one_is_among_them(length, budget):
    policy = Quest(DecodeConfig(budget=budget))
    pages = torch.rand(3, -(-length // PAGE), generator=torch.Generator().manual_seed(length))
    chosen = policy.select(0, 0, pages.repeat_interleave(PAGE, 1)[:, :length])
    total = Budget.resolve(policy.config, length).total
    assert chosen.shape == (3, total)
    begin = (length - 1) // PAGE * PAGE
    for head, positions in enumerate(chosen.tolist()):
        assert len(set(positions)) == total
        assert set(positions) >= set(range(max(begin, length - total), length))
        others = {position // PAGE for position in positions if position < begin}
        left = [float(pages[head, page]) for page in range(begin // PAGE) if page not in others]
        assert min((float(pages[head, page]) for page in others), default=2.0) >= max(left, default=0.0)
        counts = [sum(position // PAGE == page for position in positions) for page in others]
        assert sum(count < PAGE for count in counts) <= 1


@pytest.mark.parametrize("layers", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("length", LENGTHS)
def test_pyramid_budgets_fall_and_sum_to_the_total(length, budget, layers):
    policy = make_policy(DecodeConfig(budget=budget, index="pyramidkv"), layers)
    assert isinstance(policy, PyramidKV)
    budgets = [policy.layer_budget(layer, length) for layer in range(layers)]
    totals = [own.total for own in budgets]
    assert sum(totals) == layers * Budget.resolve(policy.config, length).total
    assert all(upper >= lower for upper, lower in pairwise(totals))
    assert len({own.recent for own in budgets}) == 1
    assert min(totals) >= 1
    assert totals[0] == policy.largest(length) <= length
    assert all(policy.largest(shorter) <= policy.largest(length) for shorter in range(1, length))


def test_the_line_of_a_pyramid():
    assert falling(100, 1000, 5) == (195, 148, 100, 52, 5)  # 195 to 100 / 20, in steps of 47.5
    assert falling(100, 120, 5) == (120, 110, 100, 90, 80)  # no more than there is
    assert falling(100, 100, 3) == (100, 100, 100)
    assert falling(1, 50, 3) == (1, 1, 1)
    assert falling(0, 50, 3) == (0, 0, 0)
    average, last = 1000, falling(1000, 10**6, 32)[-1]
    assert last == average // BETA


def test_a_sum_forgets_nothing():
    generator, keys = torch.Generator().manual_seed(0), 40
    importance = make_importance(2, 16, 3, 100, torch.device("cpu"), summed=True)
    assert isinstance(importance, SummedImportance)
    expected = torch.zeros(3, 100, dtype=torch.float64)
    for size in (1, 17, 40, 5):
        mass = torch.rand(size, 3, keys + size, generator=generator)
        importance.add(1, mass)
        expected[:, : keys + size] += mass.double().sum(0)
    torch.testing.assert_close(importance.scores(1, 100).double(), expected, rtol=1e-6, atol=1e-6)
    assert not importance.scores(0, 100).any()


@pytest.mark.parametrize("budget", BUDGETS)
def test_h2o_halves_its_budget(budget):
    for length in LENGTHS:
        policy = make_policy(DecodeConfig(budget=budget, index="h2o", sink=9, recent=1))
        own, total = policy.budget(length), Budget.resolve(policy.config, length).total
        assert (own.sink, own.total) == (0, total)
        assert 0 <= own.important - own.recent <= 1
