"""Greedy output equals the plain loop's, and that equals Hugging Face's own generation, token for token in float32."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from spsl_cli.decoding.chooser import Choice
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.controllers import Evidence
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.engine import SpeculativeLoop
from spsl_cli.decoding.proposers import DraftToken
from spsl_cli.events import Done, Draft, TokenKind, Tokens, Verify
from tests.models import CONFIGS, VOCABULARY, draft_config, generate, random_prompt, tiny_model

NEW = 40


def decode(model, prompt, *, max_new_tokens=NEW, stop=(), **config):
    return SparseSpecDecoder(model, draft_config(**config)).decode(
        prompt, max_new_tokens=max_new_tokens, stop_token_ids=stop
    )


@pytest.mark.parametrize("family", CONFIGS)
@pytest.mark.parametrize("k", [1, 2, 4, 8, "auto", "entropy"])
@pytest.mark.parametrize("length", [1, 7, 40, 150])
def test_equals_plain_loop_and_generate(family, k, length):
    model = tiny_model(family, seed=length)
    prompt = random_prompt(length)
    expected = generate(model, prompt, NEW)
    assert decode(model, prompt, speculation=False).token_ids == expected
    assert decode(model, prompt, k=k, prefill_chunk=64).token_ids == expected


@pytest.mark.parametrize("budget", [1, 3, 17, 0.05, 0.5, 1.0])
def test_any_budget(budget):
    model = tiny_model()
    prompt = random_prompt(120)
    assert decode(model, prompt, k=4, budget=budget).token_ids == generate(model, prompt, NEW)


def test_a_full_budget_drafts_exactly():
    """Over all rows a draft is the target itself, so every token is accepted: its rows are the right ones."""
    result = decode(tiny_model(), random_prompt(100), k=5, budget=1.0)
    assert result.stats.drafted > 20
    assert result.stats.acceptance_rate == 1.0


def test_a_small_budget_rejects_sometimes():
    """Otherwise the other tests here would say nothing about rejection."""
    stats = decode(tiny_model(), random_prompt(300), k=4, budget=0.03).stats
    assert 0.1 < stats.acceptance_rate < 0.9


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_types_run(dtype):
    model = tiny_model(dtype=dtype)
    result = decode(model, random_prompt(80), k=3)
    assert len(result.token_ids) == NEW
    if dtype is torch.float64:
        assert result.token_ids == generate(model, random_prompt(80), NEW)


@pytest.mark.parametrize("k", [1, 4, 8, "auto"])
@pytest.mark.parametrize("budget", [0.1, 1.0])
def test_stop_token_and_length_anywhere(k, budget):
    """Wherever the end falls in a block of accepted tokens, the output is cut there and the counters with it."""
    model = tiny_model(seed=3)
    prompt = random_prompt(60)
    expected = generate(model, prompt, 16)
    decoder = SparseSpecDecoder(model, DecodeConfig(k=k, budget=budget))
    for position in range(16):
        result = decoder.decode(prompt, max_new_tokens=16, stop_token_ids=(expected[position],))
        assert result.token_ids == expected[: expected.index(expected[position]) + 1]
        assert result.finish_reason == "stop"
        check_sums(result)
        cut = decoder.decode(prompt, max_new_tokens=position + 1)
        assert cut.token_ids == expected[: position + 1]
        assert cut.finish_reason == "length"
        check_sums(cut)


def check_sums(result):
    stats = result.stats
    assert stats.new_tokens == len(result.token_ids) == 1 + stats.accepted + stats.bonus
    assert stats.rounds == sum(stats.k_histogram.values())
    assert stats.drafted == sum(k * count for k, count in stats.k_histogram.items())
    assert stats.accepted <= stats.drafted
    assert stats.rounds - 1 <= stats.bonus <= stats.rounds  # only the last round can end before its bonus token


class HandMade:
    """A proposer whose drafts are known: the true continuation, spoiled from a given depth on."""

    def __init__(self, truth, good):
        self.truth, self.good, self.output = truth, good, None

    def propose(self, rows, _controller):
        done = len(self.output.token_ids)
        depth = next(self.good)
        draft = list(self.truth[done : done + min(rows[0].room, 6)])
        spoiled = [(token + 1) % VOCABULARY for token in draft[depth:]]
        return [[DraftToken(Choice(token), Evidence(0.0)) for token in draft[:depth] + spoiled]], 1


@pytest.mark.parametrize("pattern", [[0], [6], [0, 6, 3], [1, 2, 4, 5]], ids=["never", "always", "mixed", "sometimes"])
def test_hand_made_drafts(pattern, monkeypatch):
    """Drafts that are never, always or sometimes right give the same output and exactly the expected acceptance."""
    model = tiny_model(seed=5)
    prompt = random_prompt(50)
    truth = generate(model, prompt, NEW)
    depths = [pattern[i % len(pattern)] for i in range(100)]
    proposer = HandMade(truth, iter(depths))
    run = SparseSpecDecoder(model, DecodeConfig(k=6)).prepare(prompt, max_new_tokens=NEW)
    list(run.prefill())
    proposer.output = run.output
    create = SpeculativeLoop.__init__

    def with_proposer(self, *args):
        create(self, *args)
        self.proposer = proposer

    monkeypatch.setattr(SpeculativeLoop, "__init__", with_proposer)
    events = list(run.decode())
    assert run.output.token_ids == truth
    verified = [event for event in events if isinstance(event, Verify)]
    assert [event.accepted for event in verified] == [
        min(depth, event.drafted) for depth, event in zip(depths, verified, strict=False)
    ]


def test_events_tell_the_whole_output_in_order():
    run = SparseSpecDecoder(tiny_model(), DecodeConfig(k=3)).prepare(random_prompt(90), max_new_tokens=NEW)
    prefills = list(run.prefill())
    assert [event.done for event in prefills][-1] == prefills[-1].total == 90
    events = list(run.decode())
    tokens = [event for event in events if isinstance(event, Tokens)]
    assert [token for event in tokens for token in event.token_ids] == run.output.token_ids
    kinds = [kind for event in tokens for kind in event.kinds]
    stats = events[-1].stats
    assert isinstance(events[-1], Done)
    assert kinds.count(TokenKind.ACCEPTED) == stats.accepted
    assert stats.drafted == sum(len(event.token_ids) for event in events if isinstance(event, Draft))
    assert stats.accepted == sum(event.accepted for event in events if isinstance(event, Verify))


def test_a_run_decodes_again_from_the_same_prefill():
    """Both loops, in any order, any number of times; the importance is seeded again, so drafts repeat as well."""
    run = SparseSpecDecoder(tiny_model(), DecodeConfig(k=4)).prepare(random_prompt(130), max_new_tokens=NEW)
    list(run.prefill())
    seen = []
    for speculation in (True, False, True, False):
        run.rewind()
        drafts = [event.token_ids for event in run.decode(speculation=speculation) if isinstance(event, Draft)]
        seen.append((list(run.output.token_ids), drafts))
    assert seen[0] == seen[2]
    assert seen[1] == seen[3]
    assert seen[0][0] == seen[1][0]


def test_a_prefill_starts_over():
    """Wherever it was left, and whatever came behind it."""
    decoder = SparseSpecDecoder(tiny_model(), DecodeConfig(k=4, prefill_chunk=20))
    run = decoder.prepare(random_prompt(90), max_new_tokens=NEW)
    next(run.prefill())
    with pytest.raises(RuntimeError, match="prefill"):
        next(run.decode())
    outputs = []
    for rewound in (False, True, False):
        list(run.prefill())
        if rewound:
            run.rewind()
        list(run.decode())
        outputs.append(run.output.token_ids)
    assert outputs[0] == outputs[1] == outputs[2] == generate(tiny_model(), random_prompt(90), NEW)
    next(run.prefill())
    for step in (run.rewind, lambda: run.margins(3)):
        with pytest.raises(RuntimeError, match="prefill"):
            step()


def test_margins_leave_outputs_and_counters():
    run = SparseSpecDecoder(tiny_model(), DecodeConfig(k=4)).prepare(random_prompt(90), max_new_tokens=NEW)
    list(run.prefill())
    first = run.margins(3)
    list(run.decode())
    tokens, stats = list(run.output.token_ids), run.stats()
    assert run.margins(3) == first
    assert len(run.margins(1000)) == NEW - 1
    assert (run.output.token_ids, run.stats()) == (tokens, stats)
    run.rewind()
    list(run.decode())
    assert run.output.token_ids == tokens


def test_a_generator_left_early_leaves_the_model_as_it_was():
    model = tiny_model()
    prompt = random_prompt(70)
    expected = generate(model, prompt, NEW)
    before = model.config._attn_implementation
    stream = SparseSpecDecoder(model, DecodeConfig(k=4)).stream(prompt, max_new_tokens=NEW)
    for _ in range(8):
        next(stream)
        assert model.config._attn_implementation == before
        assert not torch.is_inference_mode_enabled()
    assert generate(model, prompt, NEW) == expected  # in the middle of the stream
    stream.close()
    assert generate(model, prompt, NEW) == expected


def test_inputs_of_every_form():
    decoder = SparseSpecDecoder(tiny_model(), DecodeConfig(k=2))
    prompt = random_prompt(20)
    expected = decoder.decode(prompt, max_new_tokens=5).token_ids
    assert decoder.decode(torch.tensor(prompt), max_new_tokens=5).token_ids == expected
    assert decoder.decode(torch.tensor([prompt]), max_new_tokens=5).token_ids == expected
    for wrong in (torch.tensor([prompt, prompt]), []):
        with pytest.raises(ValueError, match=r"input_ids|no tokens"):
            decoder.decode(wrong, max_new_tokens=5)
    for wrong in (0, 2.5, True):
        with pytest.raises(ValueError, match="max_new_tokens"):
            decoder.decode(prompt, max_new_tokens=wrong)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda decoder: decoder.decode({"input_ids": [1, 2]}), r"\['input_ids'\]"),
        (lambda decoder: decoder.decode([[1, 2]]), "input_ids"),
        (lambda decoder: decoder.decode_batch([1, 2]), "input_ids"),
        (lambda decoder: decoder.decode_batch(torch.tensor([[1, 2], [3, 4]])), "prompts"),
        (lambda decoder: decoder.decode([1, 2], stop_token_ids={None}), "stop_token_ids"),
        (lambda decoder: decoder.decode([1, 2], sampling=0.8), "SamplingConfig"),
        (lambda decoder: decoder.decode([1, 2], stop_when=5), "stop_when"),
        (lambda decoder: decoder.prepare([1, 2], config={"k": 4}), "DecodeConfig"),
        (lambda decoder: SparseSpecDecoder(decoder.target.model, {"k": 4}), "DecodeConfig"),
        (lambda _: SparseSpecDecoder("gpt2"), "PreTrainedModel"),
    ],
)
def test_arguments_of_the_wrong_kind_are_told_apart(call, told):
    with pytest.raises(TypeError, match=told):
        call(SparseSpecDecoder(tiny_model(), DecodeConfig(k=2)))


def test_two_runs_at_once_do_not_disturb_each_other():
    model = tiny_model()
    decoder = SparseSpecDecoder(model, DecodeConfig(k=3))
    prompts = [random_prompt(60, seed) for seed in range(2)]
    alone = [decoder.decode(prompt, max_new_tokens=NEW).token_ids for prompt in prompts]
    runs = [decoder.prepare(prompt, max_new_tokens=NEW) for prompt in prompts]
    for run in runs:
        list(run.prefill())
    streams = [run.decode() for run in runs]
    for _ in range(4 * NEW):
        for stream in streams:
            next(stream, None)
    assert [run.output.token_ids for run in runs] == alone


def test_a_run_refuses_what_its_buffers_were_not_made_for():
    model = tiny_model()
    run = SparseSpecDecoder(model, DecodeConfig(k=2, budget=0.1)).prepare(random_prompt(100), max_new_tokens=8)
    with pytest.raises(RuntimeError, match="prefill"):
        next(run.decode())
    list(run.prefill())
    with pytest.raises(ValueError, match="smaller window"):
        next(run.decode(config=DecodeConfig(window=32)))
    list(run.decode(config=DecodeConfig(k=4, budget=0.05)))
    with pytest.raises(RuntimeError, match="rewind"):
        next(run.decode())
    plain = SparseSpecDecoder(model, DecodeConfig(speculation=False)).prepare(random_prompt(100), max_new_tokens=8)
    list(plain.prefill())
    with pytest.raises(ValueError, match="no speculation"):
        next(plain.decode(speculation=True))


def test_wrong_input_is_refused_and_not_guessed_at():
    model = tiny_model()
    decoder = SparseSpecDecoder(model, DecodeConfig(k=2))
    for wrong in ([1.9, 2.2], "123", torch.tensor([1.0, 2.0]), [1, VOCABULARY], [-1, 2]):
        with pytest.raises((TypeError, ValueError)):
            decoder.decode(wrong, max_new_tokens=3)
    prompt = random_prompt(30)
    third = decoder.decode(prompt, max_new_tokens=5).token_ids[2]
    stopped = decoder.decode(prompt, max_new_tokens=5, stop_token_ids=torch.tensor([third]))
    assert stopped.finish_reason == "stop"
    model.train()
    with pytest.raises(ValueError, match="training mode"):
        decoder.decode(prompt, max_new_tokens=3)
    with pytest.raises(ValueError, match="training mode"):
        SparseSpecDecoder(model)


def test_threads_on_one_model_take_turns():
    model = tiny_model()
    decoder = SparseSpecDecoder(model, DecodeConfig(k=3))
    prompts = [random_prompt(40, seed) for seed in range(4)]
    alone = [decoder.decode(prompt, max_new_tokens=20).token_ids for prompt in prompts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            together = list(pool.map(lambda prompt: decoder.decode(prompt, max_new_tokens=20).token_ids, prompts))
            assert together == alone
    assert generate(model, prompts[0], 20) == alone[0]
