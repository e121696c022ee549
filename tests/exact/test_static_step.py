"""Steps of fixed shape: the same tokens as the eager forwards, nothing that a graph could not hold, and told if not."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from spsl_cli.decoding import kernels
from spsl_cli.decoding.autoregressive import PlainLoop
from spsl_cli.decoding.chooser import SamplingChooser
from spsl_cli.decoding.config import INDEXES, K_MAX, DecodeConfig, SamplingConfig
from spsl_cli.decoding.controllers.fixed import FixedController
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.forward_state import Mode
from spsl_cli.decoding.graphs import suitability
from spsl_cli.decoding.graphs.capture import WARM_UPS
from spsl_cli.decoding.graphs.static_cache import attending_statically, blank
from spsl_cli.decoding.graphs.static_step import StaticStep, StepOutput, StepShape
from spsl_cli.decoding.graphs.steps import GREEDY, StaticSteps, bucket
from spsl_cli.decoding.graphs.suitability import choose_steps
from spsl_cli.decoding.policies import make_policy
from spsl_cli.decoding.proposers import SparseSelfDraft
from spsl_cli.decoding.refresh import count_mass, refresh_view
from spsl_cli.decoding.sampling import SeededDice
from spsl_cli.decoding.scores import SampledScores
from tests.exact.families import FAMILIES, SIZES
from tests.models import random_prompt, tiny_model

ROOT = Path(__file__).parents[2]
LENGTHS = {1: (90,), 3: (70, 33, 121)}
NEW = 65
MODELS = {
    "llama": tiny_model,
    "qwen3": lambda: tiny_model("qwen3", seed=2),
    "windows": lambda: of_family("mistral"),
    "some windows": lambda: of_family("gemma3_text"),
    "capped scores": lambda: of_family("gemma2"),
    "sinks": lambda: of_family("gpt_oss"),
}


def of_family(family):
    torch.manual_seed(1)
    config = AutoConfig.for_model(family, **{**SIZES, **FAMILIES[family]})
    model = AutoModelForCausalLM.from_config(config).eval().requires_grad_(requires_grad=False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=0.2)  # sinks too are nothing special
    return model


@dataclass
class Prepared:
    """A prefilled run, the rows of its decoding, and what static steps need."""

    run: object
    rows: list
    sampling: SamplingConfig

    @property
    def target(self):
        return self.run.target

    @property
    def cache(self):
        return self.run.cache

    @property
    def sequences(self):
        return [row.sequence for row in self.rows]

    @property
    def pending(self):
        return [row.pending for row in self.rows]

    def steps(self, **options):
        return StaticSteps(self.target, self.cache, **options)


@torch.inference_mode()
def prepared(model, batch=1, *, drafts=True, sampling=GREEDY, new=NEW, **config):
    decoder = SparseSpecDecoder(model, DecodeConfig(**{"k": 4, "budget": 0.3, **config}), pack="off")
    prompts = [random_prompt(length, length) for length in LENGTHS[batch]]
    run = decoder.prepare(*prompts, max_new_tokens=new, sampling=sampling)
    for _ in run.prefill():
        pass
    for layer in run.cache.layers:
        for store in layer.dense:  # whatever memory held before
            for sequence, length in enumerate(run.cache.lengths):
                store[sequence, :, length:] = float("nan")
    if drafts:
        run._prepare_drafting(run.config)
        for layer in run.cache.drafting_layers:
            for store in layer.view.rows:
                store.fill_(float("nan"))
    rows = run._first_tokens(run.config)
    blank(run.cache, views=drafts)
    if drafts:
        policy = make_policy(run.config, len(run.cache.drafting_layers))
        for row in rows:
            count_mass(run.cache, row.sequence, policy)
            refresh_view(run.cache, row.sequence, policy)
    return Prepared(run, rows, sampling)


def eager_drafts(case, k):
    drafts, _ = SparseSelfDraft(case.target, case.cache).propose(case.rows, FixedController(k))
    return [[token.choice for token in draft] for draft in drafts]


def static_drafts(case, steps, k, **options):
    return steps.draft(case.sequences, case.pending, [0] * len(case.rows), k, **options)


def check_same(actual, expected):
    assert [[choice.token for choice in row] for row in actual] == [
        [choice.token for choice in row] for row in expected
    ]
    for own, others in zip(actual, expected, strict=True):
        for choice, other in zip(own, others, strict=True):
            assert math.isclose(choice.entropy, other.entropy, abs_tol=1e-3)
            assert math.isclose(choice.margin, other.margin, abs_tol=1e-3)
            assert math.isclose(choice.probability, other.probability, abs_tol=1e-3)


@pytest.mark.parametrize("batch", LENGTHS)
@pytest.mark.parametrize("name", MODELS)
def test_the_same_drafts(name, batch):
    case = prepared(MODELS[name](), batch)
    expected = eager_drafts(case, 10)
    assert len({choice.token for row in expected for choice in row}) > 2
    check_same(static_drafts(case, case.steps(), 10), expected)


@pytest.mark.parametrize("index", [index for index in INDEXES if index != "sparsespec-l"])
def test_the_same_drafts_with_other_indexes(index):
    """Also where layers have views of different sizes."""
    case = prepared(tiny_model(), 3, index=index)
    assert any(any(layer.shifts) for layer in case.cache.layers) == (index == "pyramidkv")
    check_same(static_drafts(case, case.steps(), 7), eager_drafts(case, 7))


def case_through_the_kernels():
    """Called by a process of its own."""
    torch.set_num_threads(1)
    lengths, right = [], kernels.attend_few

    def watched(*arguments, length, **options):
        lengths.append(length)
        return right(*arguments, length=length, **options)

    kernels.attend_few = watched
    case = prepared(MODELS["some windows"](), 3)
    check_same(static_drafts(case, case.steps(), 4), eager_drafts(case, 4))
    assert len(lengths) == 4 * 2 * 3  # steps, layers, rows
    lines = [[token, token + 1] for token in case.pending]
    logits = case.steps().dense(case.sequences, lines)
    expected = case.target.dense_forward(case.cache, torch.tensor(lines), (0, 1, 2))
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)
    assert len(lengths) == 5 * 2 * 3


@pytest.mark.slow
def test_the_same_through_the_kernels_for_gpus():
    """They read lengths on the device. Here under Triton's interpreter, which is chosen before Triton is imported."""
    pytest.importorskip("triton", reason="Triton is not installed")
    code = f"from {__name__} import case_through_the_kernels; case_through_the_kernels()"
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)


def test_drafts_in_blocks_of_some_of_the_rows():
    """Rows leave a batch, and a draft goes on from where each of its rows is."""
    case = prepared(tiny_model(), 3)
    expected = eager_drafts(case, 8)
    steps = case.steps()
    for chosen in ([0, 2], [1]):
        rows = [case.rows[i] for i in chosen]
        sequences = [row.sequence for row in rows]
        first = steps.draft(sequences, [row.pending for row in rows], [0] * len(rows), 3)
        last = [row[-1].token for row in first]
        second = steps.draft(sequences, last, [3] * len(rows), 5)
        check_same([a + b for a, b in zip(first, second, strict=True)], [expected[i] for i in chosen])


@pytest.mark.parametrize("filters", [{}, {"top_k": 7}, {"top_p": 0.8}, {"top_k": 30, "top_p": 0.9}], ids=str)
def test_the_same_throws_of_the_dice_draw_the_same_drafts(filters):
    sampling = SamplingConfig(temperature=0.9, seed=5, **filters)
    case = prepared(tiny_model(), 3, sampling=sampling)
    for row in case.rows:
        row.chooser = SamplingChooser(SampledScores(sampling), SeededDice(row.sequence))
    expected = eager_drafts(case, 9)
    dice = [SeededDice(row.sequence) for row in case.rows]
    uniforms = [[each.uniform() for each in dice] for _ in range(9)]
    actual = static_drafts(case, case.steps(), 9, sampling=sampling, uniforms=uniforms)
    check_same(actual, expected)
    for own, others in zip(actual, expected, strict=True):
        for choice, other in zip(own, others, strict=True):
            torch.testing.assert_close(choice.distribution, other.distribution, rtol=1e-4, atol=1e-6)


def test_a_throw_at_the_very_end_draws_a_token_that_has_probability():
    sampling = SamplingConfig(temperature=1.0, top_k=1)
    case = prepared(tiny_model(), sampling=sampling)
    greedy = static_drafts(case, case.steps(), 3)
    drawn = static_drafts(case, case.steps(), 3, sampling=sampling, uniforms=[[1.0 - 2**-53]] * 3)
    assert [choice.token for choice in drawn[0]] == [choice.token for choice in greedy[0]]


@pytest.mark.parametrize("batch", LENGTHS)
@pytest.mark.parametrize("name", MODELS)
def test_the_same_tokens_as_the_plain_loop(name, batch):
    """Sixty-four, by several steps before the host looks, over a growing number of keys."""
    case = prepared(MODELS[name](), batch, drafts=False)
    loop = PlainLoop(case.target, case.cache, case.rows, case.run.config)
    steps, mine = case.steps(), [[row.pending] for row in case.rows]
    lengths = list(case.cache.lengths)
    for count in (16, 1, 16, 5, 16, 10):
        choices = steps.plain(case.sequences, [line[-1] for line in mine], count)
        for sequence, (line, row) in enumerate(zip(mine, choices, strict=True)):
            line += [choice.token for choice in row]
            case.cache.commit(sequence, count, 1)
    for sequence, length in enumerate(lengths):
        case.cache.lengths[sequence] = length
    for _ in loop.run():
        pass
    assert mine == [row.output.token_ids for row in case.rows]


@pytest.mark.parametrize("count", [1, 2, 4, 6, 12, K_MAX + 1])
@pytest.mark.parametrize("name", ["llama", "windows", "some windows", "sinks"])
def test_several_tokens_a_row_as_the_dense_forward(name, count):
    """A verify: logits, written rows, and the queries that are kept for the attention mass."""
    case = prepared(MODELS[name](), 3, drafts=False)
    lines = [random_prompt(count, seed) for seed in (5, 6, 7)]
    keep = min(count, 4)
    expected = case.target.dense_forward(case.cache, torch.tensor(lines), (0, 1, 2), keep=keep)
    kept = [layer.kept.copy() for layer in case.cache.layers]
    written = [[store.clone() for store in layer.dense] for layer in case.cache.layers]
    blank(case.cache, views=False)
    actual = case.steps().dense(case.sequences, lines, keep=keep)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
    for layer, others, stores in zip(case.cache.layers, kept, written, strict=True):
        assert layer.kept.keys() == others.keys()
        for sequence, own in layer.kept.items():
            other = others[sequence]
            assert own.end == other.end == case.cache.lengths[sequence] + count
            torch.testing.assert_close(own.query, other.query, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(own.lse, other.lse, rtol=1e-4, atol=1e-4)
        for store, other in zip(layer.dense, stores, strict=True):
            for sequence, length in enumerate(case.cache.lengths):
                end = length + count
                torch.testing.assert_close(store[sequence, :, :end], other[sequence, :, :end], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("count", [1, 4, 7, K_MAX])
def test_guesses_over_the_view_as_the_draft_forward(count):
    case = prepared(tiny_model(), 3)
    lines, depths = [random_prompt(count, seed) for seed in (5, 6, 7)], [0, 3, K_MAX]
    expected = case.target.draft_forward(case.cache, torch.tensor(lines), (0, 1, 2), depths)
    actual = case.steps().sparse(case.sequences, lines, depths)
    torch.testing.assert_close(actual[0], expected[0], rtol=1e-4, atol=1e-4)  # others see slots that no one wrote
    assert actual.shape == expected.shape


def test_a_draft_touches_no_committed_row():
    case = prepared(MODELS["some windows"](), 3)
    lengths = case.cache.lengths

    def committed():
        return [
            store[i, :, :length].clone()
            for layer in case.cache.layers
            for store in layer.dense
            for i, length in enumerate(lengths)
        ]

    before = committed()
    static_drafts(case, case.steps(), K_MAX)
    assert all(torch.equal(a, b) for a, b in zip(before, committed(), strict=True))


def a_step(case, mode, sampling=GREEDY):
    layers = case.cache.drafting_layers
    keys = layers[0].view.rows.keys.shape[1] if mode is Mode.DRAFT and layers else case.run.capacity
    return StaticStep(case.target, case.cache, StepShape(mode, tuple(case.sequences), 1, keys, sampling))


def enter(case, step, uniforms=()):
    lengths, sizes, ends = (case.cache.lengths, case.cache.sparse_sizes, [end - 1 for end in case.cache.ends])
    step.state.enter([[token] for token in case.pending], lengths, sizes, ends, uniforms)


@pytest.mark.parametrize(
    ("name", "mode", "sampling"),
    [
        ("llama", Mode.DENSE, GREEDY),
        ("qwen3", Mode.DRAFT, SamplingConfig(temperature=0.8, top_p=0.9, top_k=20)),
        ("some windows", Mode.DRAFT, GREEDY),
    ],
    ids=["plain", "drawn", "windows"],
)
def test_the_step_is_one_graph(name, mode, sampling):
    case = prepared(MODELS[name](), 3)
    uniforms = [[0.3, 0.6, 0.9], [0.1, 0.2, 0.7], [0.5, 0.5, 0.5]]
    step = a_step(case, mode, sampling)
    torch.compiler.reset()  # those of other tests count against this one
    traced = torch.compile(step.__call__, fullgraph=True, backend="eager")
    records = []
    for call in (step, traced):
        enter(case, step, uniforms)
        with attending_statically(case.target):
            for _ in uniforms:
                call()
        records.append(step.state.record.clone())
    assert records[0][:3, :, 0].unique().numel() > 1
    torch.testing.assert_close(records[1], records[0])


@contextmanager
def no_host_reads(monkeypatch):
    def refused(*_, **__):
        raise AssertionError("the host waits for the device")

    with monkeypatch.context() as patch:
        for name in ("item", "tolist", "__bool__", "__int__", "__float__", "__index__", "cpu", "numpy"):
            patch.setattr(torch.Tensor, name, refused)
        for name in ("nonzero", "masked_select", "unique"):
            patch.setattr(torch.Tensor, name, refused)
        yield


@pytest.mark.parametrize("sampling", [GREEDY, SamplingConfig(temperature=0.8, top_p=0.9)], ids=["greedy", "drawn"])
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("name", [name for name in MODELS if name != "sinks"])  # its experts are chosen on the host
def test_the_host_reads_nothing(name, mode, sampling, monkeypatch):
    case = prepared(MODELS[name](), 3)
    step = a_step(case, mode, sampling)
    enter(case, step, [[0.5] * 3] * 4)
    with attending_statically(case.target), no_host_reads(monkeypatch):
        for _ in range(4):
            step()
    assert step.state.record[:4, :, 1].min() > 0


class Recorded:
    """A recorder that behaves as graphs do: outputs at fixed addresses, nothing computed outside replays."""

    def __init__(self, target, monkeypatch):
        self.target, self.patch = target, monkeypatch
        self.recorded, self.replayed = 0, 0

    def __call__(self, step):
        for _ in range(WARM_UPS):
            step()
        self.recorded += 1
        state = step.state.inputs.clone()
        held = step()
        step.state.inputs.copy_(state)  # what is recorded is not run

        def replay():
            self.replayed += 1
            with attending_statically(self.target), no_host_reads(self.patch):
                new = step()
                held.logits.copy_(new.logits)
                for old, fresh in zip(held.kept, new.kept, strict=True):
                    for to, value in zip(old, fresh, strict=True):
                        to.copy_(value)
            return held

        return replay


def test_replayed_steps_draft_the_same(monkeypatch):
    case = prepared(tiny_model(), 3)
    recorder = Recorded(case.target, monkeypatch)
    steps = case.steps(record=recorder)
    check_same(static_drafts(case, steps, 10), eager_drafts(case, 10))
    assert (recorder.recorded, recorder.replayed) == (1, 10)
    static_drafts(case, steps, 4)
    assert (recorder.recorded, recorder.replayed) == (1, 14)
    assert steps.reason is None
    assert steps.capture_s > 0


def test_what_is_kept_of_a_replay_survives_the_next(monkeypatch):
    case = prepared(tiny_model(), drafts=False)
    steps = case.steps(record=Recorded(case.target, monkeypatch))
    steps.dense([0], [[5]], keep=1)
    first = case.cache.layers[1].kept[0]
    before = first.query.clone()
    steps.dense([0], [[6]], keep=1)
    assert torch.equal(first.query, before)
    assert not torch.equal(case.cache.layers[1].kept[0].query, before)


def test_a_step_that_cannot_be_recorded_is_run_as_it_is():
    case = prepared(tiny_model())
    tried = []

    def broken(step):
        tried.append(step)
        step()
        raise RuntimeError("operation not permitted when stream is capturing\nand more lines")

    steps = case.steps(record=broken)
    check_same(static_drafts(case, steps, 6), eager_drafts(case, 6))
    steps.dense([0], [[5]])
    assert len(tried) == 1
    assert (
        steps.reason == "the step cannot be recorded (RuntimeError: operation not permitted when stream is capturing)"
    )


def test_why_there_are_no_graphs(monkeypatch):
    case = prepared(tiny_model())
    target, cache = case.target, case.cache
    assert choose_steps(target, cache) == (None, "the model is on cpu, not on a CUDA device")
    assert choose_steps(target, cache, wanted=False) == (None, "turned off")
    steps, reason = choose_steps(target, cache, wanted=True, strict=True)
    assert steps is None
    assert "strict" in reason
    steps, reason = choose_steps(target, cache, wanted=True)
    assert steps.reason == reason == "the model is on cpu"
    monkeypatch.setattr(suitability, "devices_of", lambda _: ["cuda:0", "cuda:1"])
    assert choose_steps(target, cache, wanted=True) == (None, "the model is spread over cuda:0, cuda:1")


def test_a_step_that_computes_something_else_is_not_used(monkeypatch):
    """As of a model that counts positions by itself: a replay would repeat the first."""
    case = prepared(tiny_model(), 3)
    right = StaticStep.__call__

    def counting(self):
        return StepOutput(right(self).logits + (self.state.places(0) > max(LENGTHS[3])).float()[..., None], [])

    monkeypatch.setattr(StaticStep, "__call__", counting)
    steps, reason = choose_steps(case.target, case.cache, wanted=True)
    assert steps is None
    assert "differ from the model's forward" in reason


def test_a_model_that_fails_in_steps_is_not_run_in_them(monkeypatch):
    case = prepared(tiny_model())

    def failing(_):
        raise TypeError("no")

    monkeypatch.setattr(StaticStep, "__call__", failing)
    steps, reason = choose_steps(case.target, case.cache, wanted=True)
    assert steps is None
    assert reason == "the model does not run in steps of fixed shape (TypeError: no)"


def test_no_room_is_an_error_before_anything_is_written():
    case = prepared(tiny_model())
    steps = case.steps()
    for depth, count in ((0, K_MAX + 1), (0, 0), (10**6, 1)):
        with pytest.raises(ValueError, match="steps from"):
            steps.draft([0], case.pending, [depth], count)
    with pytest.raises(ValueError, match="view has"):
        steps.draft([0], case.pending, [60], 1)
    with pytest.raises(ValueError, match="one token a row"):
        StepShape(Mode.DENSE, (0,), 2, 64, GREEDY)


def test_the_model_is_its_own_behind_a_step_that_fails():
    case = prepared(tiny_model())
    ids = torch.tensor([random_prompt(20)])
    before = case.target.model(ids).logits
    step = a_step(case, Mode.DENSE)
    step.state.tokens.fill_(10**6)
    with pytest.raises(IndexError), attending_statically(case.target):
        step()
    assert torch.equal(case.target.model(ids).logits, before)


def test_buckets_are_few_and_hold_what_is_asked():
    for capacity in (40, 300, 5000, 131072):
        sizes = {bucket(length, capacity) for length in range(1, capacity + 1, max(1, capacity // 3000))}
        assert len(sizes) <= 8
        assert max(sizes) <= capacity
        assert all(length <= bucket(length, capacity) for length in range(1, capacity + 1, 7))
