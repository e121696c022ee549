"""The real loops in steps of fixed shape, run as they are on the CPU: the output is what it is without."""

from __future__ import annotations

import pytest

from spsl_cli.decoding import loop
from spsl_cli.decoding.config import INDEXES, DecodeConfig, SamplingConfig
from spsl_cli.decoding.controllers import always
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.graphs.steps import StaticSteps
from spsl_cli.decoding.target import TargetModel
from tests.exact.test_static_step import MODELS
from tests.models import draft_config, generate, random_prompt, tiny_model

NEW = 40


@pytest.fixture
def blocks(monkeypatch):
    """How many tokens every draft of the static steps had."""
    counts, right = [], StaticSteps.draft

    def watched(self, sequences, tokens, depths, steps, *rest):
        counts.append(steps)
        return right(self, sequences, tokens, depths, steps, *rest)

    monkeypatch.setattr(StaticSteps, "draft", watched)
    return counts


def repetitive(length, seed=0):
    piece = random_prompt(length // 3, seed)
    return piece + random_prompt(length - 2 * len(piece), seed + 1) + piece


@pytest.mark.parametrize("how", [{"k": 6}, {"controller": "entropy"}, {}, {"speculation": False}], ids=str)
@pytest.mark.parametrize("name", ["llama", "some windows", "sinks"])
def test_greedy_identity(name, how, blocks):
    model = MODELS[name]()
    prompts = [repetitive(length, length) for length in (30, 90, 150)]
    decoder = SparseSpecDecoder(model, DecodeConfig(budget=0.2, graphs=True, **how), pack="off")
    together = [result.token_ids for result in decoder.decode_batch(prompts, max_new_tokens=NEW)]
    assert together == [generate(model, prompt, NEW) for prompt in prompts]
    assert decoder.decode(prompts[1], max_new_tokens=NEW).token_ids == together[1]
    if "speculation" not in how:
        assert max(blocks) > ("controller" not in how)  # the paper's stops early where drafts cost what they do here


def test_every_forward_is_a_static_step(monkeypatch):
    run = SparseSpecDecoder(tiny_model(), DecodeConfig(k=5, budget=0.2, lookup=True, graphs=True)).prepare(
        repetitive(90), max_new_tokens=NEW
    )
    list(run.prefill())
    events = run.decode()
    next(events)
    next(events)  # the loop is made, its check is done
    for name in ("dense_forward", "draft_forward"):
        monkeypatch.setattr(TargetModel, name, None)
    list(events)
    assert run.loop.not_graphs == "the model is on cpu"
    assert run.stats().accepted > 0


def test_guesses_are_checked_several_at_a_time(monkeypatch):
    monkeypatch.setattr(always, "LONG_MATCH", 100)
    rows, right = [], StaticSteps.sparse

    def watched(self, sequences, tokens, depths):
        rows.append(len(tokens[0]))
        return right(self, sequences, tokens, depths)

    monkeypatch.setattr(StaticSteps, "sparse", watched)
    model, prompt = tiny_model(seed=3), repetitive(120)
    config = DecodeConfig(k=8, budget=0.3, lookup=True, graphs=True)
    assert SparseSpecDecoder(model, config).decode(prompt, max_new_tokens=NEW).token_ids == generate(model, prompt, NEW)
    assert max(rows) > 2


@pytest.mark.parametrize("sampling", [{}, {"top_k": 8}, {"top_p": 0.9}, {"repetition_penalty": 1.2}], ids=str)
@pytest.mark.parametrize("speculation", [True, False])
def test_a_seed_gives_the_tokens_it_gives_without(sampling, speculation, blocks):
    model, prompts = tiny_model(), [random_prompt(60), random_prompt(90, 1)]
    told = SamplingConfig(temperature=0.9, seed=11, **sampling)
    results = [
        SparseSpecDecoder(
            model, draft_config(5, budget=0.2, lookup=False, speculation=speculation, graphs=graphs)
        ).decode_batch(prompts, max_new_tokens=NEW, sampling=told)
        for graphs in (True, False)
    ]
    assert [row.token_ids for row in results[0]] == [row.token_ids for row in results[1]]
    assert bool(blocks) == (speculation and not sampling.get("repetition_penalty"))


def test_with_a_repetition_penalty_the_host_chooses(blocks):
    model, prompt = tiny_model(), random_prompt(60)
    config = DecodeConfig(k=5, budget=0.2, graphs=True)
    sampling = SamplingConfig(repetition_penalty=1.3)
    penalised = SparseSpecDecoder(model, config).decode(prompt, max_new_tokens=NEW, sampling=sampling)
    assert penalised.token_ids == generate(model, prompt, NEW, repetition_penalty=1.3)
    assert penalised.stats.drafted > 0
    assert not blocks


def test_a_decoding_of_the_same_run_again_and_margins():
    model, prompt = tiny_model(), random_prompt(100)
    run = SparseSpecDecoder(model, DecodeConfig(k=4, budget=0.2, graphs=True)).prepare(prompt, max_new_tokens=NEW)
    list(run.prefill())
    outputs = []
    for speculation in (True, False, True):
        run.rewind()
        list(run.decode(speculation=speculation))
        outputs.append(run.output.token_ids)
    assert outputs == [generate(model, prompt, NEW)] * 3
    assert len(run.margins(10)) == 10


@pytest.mark.parametrize("index", [index for index in INDEXES if index != "sparsespec-l"])
def test_with_other_indexes_and_lazy_refreshes(index):
    model, prompt = tiny_model(seed=4), random_prompt(120)
    config = DecodeConfig(index=index, budget=0.2, k=6, refresh_every=3, graphs=True)
    assert SparseSpecDecoder(model, config).decode(prompt, max_new_tokens=NEW).token_ids == generate(model, prompt, NEW)


def test_acceptance_is_what_it_is_without():
    """The views, the mass that chose them, and the drafts are the same."""
    model, prompt = tiny_model(), random_prompt(300)
    results = [
        SparseSpecDecoder(model, DecodeConfig(k=4, budget=0.05, graphs=graphs), pack="off").decode(prompt)
        for graphs in (True, False)
    ]
    assert results[0].stats.accepted == results[1].stats.accepted > 10


def test_the_clock_stands_while_a_graph_is_recorded():
    model, prompt = tiny_model(), random_prompt(50)
    run = SparseSpecDecoder(model, DecodeConfig(graphs=True)).prepare(prompt, max_new_tokens=4)
    list(run.prefill())
    list(run.decode())
    before = run.loop._now()
    run.loop.steps.capture_s += 1000.0
    assert run.loop._now() < before - 900


def test_other_models_run_as_ever(monkeypatch):
    monkeypatch.setattr(loop, "choose_steps", lambda *_, **__: (None, "a reason"))
    model, prompt = tiny_model(), random_prompt(50)
    run = SparseSpecDecoder(model, DecodeConfig(graphs=True)).prepare(prompt, max_new_tokens=NEW)
    list(run.prefill())
    list(run.decode())
    assert run.output.token_ids == generate(model, prompt, NEW)
    assert run.loop.not_graphs == "a reason"
