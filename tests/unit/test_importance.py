"""Importance and index: Eq. 3 and 4, and what a run really accumulates."""

from __future__ import annotations

import pytest
import torch

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.importance import ImportanceWindow
from spsl_cli.decoding.refresh import count_mass
from spsl_cli.decoding.sparse_index import Budget, select_positions
from tests.models import random_prompt, tiny_model


def test_window_is_the_sum_of_its_last_rows():
    """Blocks of any size, larger than the window too; float16 rows, so to three digits."""
    generator = torch.Generator().manual_seed(0)
    window = ImportanceWindow(2, 16, 3, 100, torch.device("cpu"))
    rows: list[torch.Tensor] = []
    length = 20
    for size in (16, 1, 5, 3, 20, 1, 1, 17, 4):
        length += min(size, 8)
        mass = torch.rand(size, 3, length, generator=generator)
        window.add(1, mass)
        rows += [torch.nn.functional.pad(row, (0, 100 - length)) for row in mass]
        expected = torch.stack(rows[-16:]).sum(0)[:, :length]
        torch.testing.assert_close(window.scores(1, length), expected, rtol=2e-3, atol=2e-3)
    assert not window.scores(0, 100).any()
    window.clear(1)
    assert not window.scores(1, 100).any()


@pytest.mark.parametrize("k", [1, 4, "auto"])
def test_a_run_counts_the_last_committed_queries_and_no_rejected_one(k):
    """S of every layer equals the attention, by the model's own eager forward, of the last 16 committed positions."""
    model, prompt = tiny_model(), random_prompt(90)
    run = SparseSpecDecoder(model, DecodeConfig(k=k, budget=0.1)).prepare(prompt, max_new_tokens=24)
    list(run.prefill())
    checks = 0
    for _ in run.decode():
        if run.output.finish_reason or run.output.remaining < 2:
            continue
        count_mass(run.cache, 0, run.loop.policy)
        committed = torch.tensor([prompt + run.output.token_ids[:-1]])
        model.set_attn_implementation("eager")
        attentions = model(input_ids=committed, output_attentions=True, use_cache=False).attentions
        model.set_attn_implementation("sdpa")
        for layer, weights in zip(run.cache.layers, attentions, strict=True):
            expected = weights[0, :, -16:].view(2, 3, 16, -1).sum((1, 2))
            torch.testing.assert_close(layer.importance.scores(0, expected.shape[1]), expected, rtol=5e-3, atol=5e-3)
        checks += 1
    assert checks > 5
    assert run.stats().accepted < run.stats().drafted


@pytest.mark.parametrize(("sink", "important", "recent"), [(4, 6, 10), (0, 5, 0), (2, 0, 3), (3, 7, 1)])
def test_index_is_sink_top_recent(sink, important, recent):
    scores = torch.rand(3, 60, generator=torch.Generator().manual_seed(1))
    scores[:, 0] = scores[:, -1] = 9.0  # high scores in sink and recent must not take places of the middle
    positions = select_positions(scores, Budget(sink, important, recent))
    assert positions.shape == (3, sink + important + recent)
    for head in range(3):
        middle = scores[head, sink : 60 - recent]
        best = set((middle.topk(important).indices + sink).tolist())
        expected = set(range(sink)) | best | set(range(60 - recent, 60))
        assert set(positions[head].tolist()) == expected


@pytest.mark.parametrize(
    ("budget", "length", "expected"),
    [
        (0.1, 1000, (4, 64, 32)),
        (0.1, 1001, (4, 65, 32)),
        (0.1, 100, (2, 3, 5)),
        (50, 1000, (4, 21, 25)),
        (500, 60, (4, 26, 30)),
        (1.0, 200, (4, 164, 32)),
        (1, 10, (0, 1, 0)),
    ],
)
def test_budget(budget, length, expected):
    resolved = Budget.resolve(DecodeConfig(budget=budget), length)
    assert (resolved.sink, resolved.important, resolved.recent) == expected


def test_everything_may_be_selected():
    scores = torch.rand(2, 30)
    assert select_positions(scores, Budget(4, 16, 10)).sort().values.tolist() == [list(range(30))] * 2
