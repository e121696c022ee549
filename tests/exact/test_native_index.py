"""The compiled side of a refresh: the decayed sum, the largest scores, and a view that keeps what it has."""

from __future__ import annotations

import pytest
import torch

from spsl_cli import SamplingConfig, SparseSpecDecoder
from spsl_cli.decoding.config import INDEXES, DecodeConfig
from spsl_cli.decoding.importance import DecayedImportance
from spsl_cli.decoding.sparse_view import Rows, SparseView
from spsl_cli.native import index
from spsl_cli.native.library import native_library
from tests.exact.rows import in_order
from tests.models import random_prompt, tiny_model

pytestmark = pytest.mark.skipif(native_library().functions is None, reason="no C compiler")


def random_scores(heads, size):
    torch.manual_seed(heads + size)
    return torch.rand(heads, size + 9).log().neg()[:, 4 : size + 4] * 10.0 ** -torch.randint(0, 12, (heads, size))


def largest(scores, count, offset=0):
    found = torch.full((len(scores), count), -7)
    index.largest(scores, count, found, offset)
    return found


@pytest.mark.parametrize(("size", "count"), [(1, 1), (5, 2), (300, 300), (1000, 1), (7001, 700), (7001, 6999)])
def test_the_largest_scores_in_order(size, count):
    scores = random_scores(3, size)
    want = scores.topk(count, dim=1).indices.sort(dim=1).values
    assert torch.equal(largest(scores, count, offset=4), want + 4)


def test_of_equal_scores_the_first():
    scores = torch.tensor([[0.0, 2.0, 1.0, 2.0, 1.0, 1.0], [3.0, 3.0, 3.0, 3.0, 3.0, 3.0], [0.0] * 5 + [1e-40]])
    assert largest(scores, 4).tolist() == [[1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2, 5]]
    assert largest(scores, 0).shape == (3, 0)


def test_scores_below_zero_and_without_end():
    scores = torch.tensor([[-1.0, float("-inf"), -0.5, 2.0, float("inf"), -3.0]])
    assert largest(scores, 3).tolist() == [[2, 3, 4]]
    assert largest(scores, 5).tolist() == [[0, 2, 3, 4, 5]]


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_the_decayed_sum_against_float64(rows):
    torch.manual_seed(rows)
    importance = DecayedImportance(2, 16, 3, 50, torch.device("cpu"))
    want = torch.zeros(3, 50, dtype=torch.float64)
    for keys in (30, 33, 50):
        mass = torch.rand(rows + 1, 3, keys + 6)[:rows, :, :keys]
        importance.add(1, mass)
        for row in mass.double():
            want *= 15 / 16
            want[:, :keys] += row
    assert (importance.scores(1, 50) - want).abs().max() < 1e-5
    assert not importance.scores(0, 50).any()


@pytest.mark.parametrize("heads", [2, 6])
def test_a_view_holds_what_was_asked_for_last_and_copies_only_what_is_new(heads):
    torch.manual_seed(0)
    dense = Rows(torch.randn(2, 2, 90, 8), torch.randn(2, 2, 90, 8))
    view = SparseView(dense, 40, heads)
    sequence = Rows(*(store[1] for store in dense))
    held = 0
    for count in (12, 20, 20, 31, 9, 25):
        positions = torch.stack([torch.randperm(80)[:count] for _ in range(heads)])
        before = view.rows.keys[1, : min(held, count), :, 0].clone()
        view.gather(1, positions, sequence)
        for head in range(heads):
            owner = head // (heads // 2)
            for found, own in zip(view.seen(1, count), sequence, strict=True):
                assert in_order(found[head]) == in_order(own[owner, positions[head]])
            wanted = sequence.keys[owner, positions[head], 0]
            for slot, value in enumerate(before[:, head]):
                assert value not in wanted or view.rows.keys[1, slot, head, 0] == value
        view.write(1, count, Rows(torch.full((2, 3, 8), 9.0), torch.full((2, 3, 8), 9.0)))  # what a draft leaves behind
        held = count


def test_a_view_that_forgot_copies_everything():
    dense = Rows(torch.randn(1, 2, 30, 8), torch.randn(1, 2, 30, 8))
    view, positions = SparseView(dense, 12, 2), torch.arange(8).expand(2, -1)
    own = Rows(*(store[0] for store in dense))
    view.gather(0, positions, own)
    for store in dense:
        store.neg_()
    view.forget(0)
    view.gather(0, positions, own)
    assert torch.equal(view.seen(0, 8).keys, dense.keys[0, :, :8])


@pytest.mark.parametrize("name", INDEXES)
def test_the_same_drafts_without_them(name, monkeypatch):
    """In another order of the rows, so up to rounding: the same tokens are drafted and accepted."""

    def run():
        prompt, config = random_prompt(300), DecodeConfig(k=4, index=name)
        return SparseSpecDecoder(tiny_model(), config).decode(prompt, max_new_tokens=60)

    native = run()
    monkeypatch.setattr(index, "takes", lambda *_: False)
    plain = run()
    assert native.token_ids == plain.token_ids
    assert native.stats.accepted == plain.stats.accepted
    assert 0 < native.stats.accepted < native.stats.drafted


def test_a_second_decoding_of_a_run_does_not_read_rows_of_the_first():
    """Other tokens stand where the view's rows were gathered. With a budget of everything drafts are right."""
    decoder = SparseSpecDecoder(tiny_model(), DecodeConfig(k=4, budget=200))
    runs = [
        decoder.prepare(random_prompt(100), max_new_tokens=60, sampling=SamplingConfig(temperature=1.5, seed=seed))
        for seed in range(3)
    ]
    run, outputs = runs[0], set()
    list(run.prefill())
    for other in runs:
        run.requests = other.requests
        run.rewind()
        list(run.decode())
        assert run.stats().accepted >= run.stats().drafted - 1
        outputs.add(tuple(run.output.token_ids))
    assert len(outputs) == 3
