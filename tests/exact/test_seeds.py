"""The same seed gives the same tokens: whatever the clock says, and whatever other rows a batch holds."""

from __future__ import annotations

import itertools

import pytest

from spsl_cli.decoding import loop
from spsl_cli.decoding.config import DecodeConfig, SamplingConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.engine import SpeculativeLoop
from tests.models import CHEAP, random_prompt, tiny_model

SAMPLING = SamplingConfig(temperature=1.2, top_p=0.9, seed=7)


def stretching_clock(steps):
    """A clock whose n-th reading is the n-th partial sum of `steps`, again and again."""
    now = itertools.accumulate(itertools.cycle(steps))
    return lambda _device: lambda: next(now)


@pytest.mark.real_costs
@pytest.mark.parametrize("controller", ["entropy", "calibrated"])
def test_draft_lengths_of_the_controller_do_not_hang_on_the_clock(controller, monkeypatch):
    """Where tokens are drawn; a draft of another length would throw the dice in another order."""
    monkeypatch.setattr(SpeculativeLoop, "_presumed_costs", lambda _: CHEAP)  # or nothing is drafted
    decoder = SparseSpecDecoder(tiny_model(), DecodeConfig(budget=0.2, controller=controller))
    prompt, outputs = random_prompt(80), []
    for steps in ([1.0], [5.0, 0.1, 0.1], [0.01, 3.0, 0.5, 0.02]):
        monkeypatch.setattr(loop, "clock", stretching_clock(steps))
        result = decoder.decode(prompt, max_new_tokens=40, sampling=SAMPLING)
        assert result.stats.drafted > 5
        outputs.append(result.token_ids)
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(set(outputs[0])) > 5


@pytest.mark.real_costs
def test_greedy_draft_lengths_do(monkeypatch):
    """Otherwise the clocks of the test above would show nothing."""
    decoder = SparseSpecDecoder(tiny_model(), DecodeConfig(budget=0.2, controller="entropy"))
    drafted = set()
    for steps in ([1.0], [5.0, 0.1, 0.1], [0.01, 3.0, 0.5, 0.02]):
        monkeypatch.setattr(loop, "clock", stretching_clock(steps))
        drafted.add(decoder.decode(random_prompt(80), max_new_tokens=40).stats.drafted)
    assert len(drafted) > 1


@pytest.mark.parametrize("k", [1, 4, 8])
def test_a_row_is_drawn_as_alone_up_to_its_last_token(k):
    """With a fixed k: rows that end early, or have room for fewer drafts, throw no dice for the others' sake."""
    model = tiny_model()
    prompts = [random_prompt(length, length) for length in (40, 90, 25)]
    decoder = SparseSpecDecoder(model, DecodeConfig(k=k, budget=0.2))
    together = decoder.decode_batch(prompts, max_new_tokens=21, sampling=SAMPLING)
    for row, prompt in enumerate(prompts):
        own = SamplingConfig(temperature=1.2, top_p=0.9, seed=7 + row)
        assert decoder.decode(prompt, max_new_tokens=21, sampling=own).token_ids == together[row].token_ids
