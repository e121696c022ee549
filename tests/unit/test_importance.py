"""Importance and index: Eq. 3 and 4, and what a run really accumulates."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.forward_state import PendingQueries
from spsl_cli.decoding.importance import DecayedImportance, ImportanceWindow, make_importance
from spsl_cli.decoding.refresh import count_mass
from spsl_cli.decoding.sparse_index import Budget, select_positions
from tests.models import draft_config, random_prompt, tiny_model


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


@pytest.mark.parametrize("window", [1, 4, 16])
def test_decayed_sum_forgets_a_share_of_itself_with_every_row(window):
    """Row by row by its definition, blocks of any size."""
    generator = torch.Generator().manual_seed(0)
    importance = DecayedImportance(2, window, 3, 100, torch.device("cpu"))
    expected = torch.zeros(3, 100, dtype=torch.float64)
    length = 20
    for size in (16, 1, 5, 3, 20, 1, 1, 17, 4):
        length += min(size, 8)
        mass = torch.rand(size, 3, length, generator=generator)
        importance.add(1, mass)
        for row in mass.double():
            expected *= 1 - 1 / window
            expected[:, :length] += row
        found = importance.scores(1, length)
        torch.testing.assert_close(found.double(), expected[:, :length], rtol=1e-5, atol=1e-5)
    assert not importance.scores(0, 100).any()
    importance.clear(1)
    assert not importance.scores(1, 100).any()


def test_each_kind_is_made_by_its_name():
    sizes = (1, 16, 2, 10, torch.device("cpu"))
    assert isinstance(make_importance(*sizes), ImportanceWindow)
    assert isinstance(make_importance(*sizes, decayed=True), DecayedImportance)


def test_window_does_not_drift():
    """Thousands of rows later the running sum is still that of its last rows: what is taken away is what was added."""
    generator = torch.Generator().manual_seed(0)
    window = ImportanceWindow(1, 16, 1, 50, torch.device("cpu"))
    for _ in range(2000):
        window.add(0, 3 * torch.rand(3, 1, 50, generator=generator))
    last = window.ring[0].double().sum(0)
    torch.testing.assert_close(window.scores(0, 50).double(), last, rtol=1e-5, atol=1e-4)


@pytest.mark.usefixtures("cheap")
@pytest.mark.parametrize("k", [1, 4, "entropy"])
def test_a_run_counts_the_last_committed_queries_and_no_rejected_one(k):
    """S of every layer equals the attention, by the model's own eager forward, of the last 16 committed positions.

    The calibrated controller's is another: rounds between drafts leave no mass (`test_first_views.py`).
    """
    model, prompt = tiny_model(), random_prompt(90)
    run = SparseSpecDecoder(model, draft_config(k, budget=0.1, importance="window")).prepare(prompt, max_new_tokens=24)
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


@pytest.mark.parametrize("importance", ["window", "decayed"])
def test_a_run_counts_for_every_query_head_where_the_index_is_per_query_head(importance):
    """The rows of each query head by itself, in either kind of importance."""
    model, prompt = tiny_model(), random_prompt(90)
    config = DecodeConfig(k=3, budget=0.1, index="per-query-head", importance=importance)
    run = SparseSpecDecoder(model, config).prepare(prompt, max_new_tokens=16)
    list(run.prefill())
    checks, first = 0, None
    for _ in run.decode():
        if run.output.finish_reason or run.output.remaining < 2:
            continue
        count_mass(run.cache, 0, run.loop.policy)
        committed = torch.tensor([prompt + run.output.token_ids[:-1]])
        first = committed.shape[1] if first is None else first  # the sum starts with the 16 queries before it
        rows = 16 if importance == "window" else 16 + committed.shape[1] - first
        ages = torch.arange(rows - 1, -1, -1)
        weight = (15 / 16) ** ages if importance == "decayed" else torch.ones(rows)
        model.set_attn_implementation("eager")
        attentions = model(input_ids=committed, output_attentions=True, use_cache=False).attentions
        model.set_attn_implementation("sdpa")
        for layer, weights in zip(run.cache.layers, attentions, strict=True):
            expected = torch.einsum("w,hwn->hn", weight, weights[0, :, -rows:])
            found = layer.importance.scores(0, expected.shape[1])
            assert found.shape == (6, committed.shape[1])
            torch.testing.assert_close(found, expected, rtol=5e-3, atol=2e-3)
        checks += 1
    assert checks > 5


@pytest.mark.parametrize("family", ["gemma2", "gpt_oss"])
def test_soft_caps_and_sinks_are_in_the_mass(family):
    """S of the layer that sees every position, beside one that slides and has none."""
    sizes = {
        "vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 512, "sliding_window": 24,
        "layer_types": ["sliding_attention", "full_attention"], "pad_token_id": 0, "bos_token_id": None,
        "eos_token_id": None,
    }  # fmt: skip
    own = {"attn_logit_softcapping": 0.3} if family == "gemma2" else {"num_local_experts": 4, "num_experts_per_tok": 2}
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **sizes, **own)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.mul_(8.0)
            elif name.endswith("sinks"):
                parameter.fill_(3.0)
    run = SparseSpecDecoder(model, DecodeConfig(k=2, importance="window")).prepare(random_prompt(60), max_new_tokens=8)
    list(run.prefill())
    for _ in run.decode():
        pass
    count_mass(run.cache, 0, run.loop.policy)
    committed = torch.tensor([random_prompt(60) + run.output.token_ids[:-1]])
    weights = model(input_ids=committed, output_attentions=True, use_cache=False).attentions[1][0]
    if family == "gpt_oss":
        assert weights[:, -1].sum(-1).min() < 0.9  # what attends to nothing is missing
    expected = weights[:, -16:].view(2, 2, 16, -1).sum((1, 2))
    (layer,) = run.cache.drafting_layers
    torch.testing.assert_close(layer.importance.scores(0, expected.shape[1]), expected, rtol=2e-3, atol=1e-3)


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


def test_queries_before_a_gap_are_dropped():
    """The mass takes waiting queries to stand one behind the other; those before ones not kept would see too much."""
    first, near, far = (PendingQueries(torch.rand(2, 3, 4), torch.rand(1, 2, 3), end) for end in (10, 13, 20))
    assert first.followed_by(near, 16).query.shape[1] == 6
    assert first.followed_by(near, 4).query.shape[1] == 4
    alone = first.followed_by(far, 16)
    assert torch.equal(alone.query, far.query)
    assert torch.equal(alone.lse, far.lse)
    assert alone.end == first.followed_by(far, 2).end == 20
    assert first.followed_by(far, 2).query.shape[1] == 2
