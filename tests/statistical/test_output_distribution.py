"""The real loop's output has the target's distribution: every way the dice can fall, and samples against chi-square.

Chi-square tests here pass at p > 1e-4. Seeds are fixed, so they pass always or never; had they been drawn afresh, a
right decoder would fail one in 10,000 of them.
"""

from __future__ import annotations

from collections import Counter

import pytest

from spsl_cli.decoding import engine
from spsl_cli.decoding.config import SamplingConfig
from spsl_cli.decoding.controllers import Source, always
from spsl_cli.decoding.controllers.calibrated import CalibratedController
from spsl_cli.decoding.sampling import SeededDice
from tests.models import CHEAP
from tests.statistical.chi_square import chi_square
from tests.statistical.table import TableTarget, enumerated_distribution, exact_distribution, run_loop

QUALITIES = {"good": 0.95, "partial": 0.6, "hostile": 0.0}


pytestmark = pytest.mark.usefixtures("draft_from_the_start")


@pytest.mark.parametrize("quality", QUALITIES.values(), ids=QUALITIES)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    "sampling",
    [
        SamplingConfig(temperature=1.0),
        SamplingConfig(temperature=0.6, top_p=0.8),
        SamplingConfig(temperature=1.4, top_k=2, repetition_penalty=1.5),
    ],
    ids=["plain", "top-p", "top-k and penalty"],
)
def test_every_output_has_its_exact_probability(quality, k, sampling):
    """Three tokens, outputs of four: all 81 of them, summed over every way the dice can fall."""
    target = TableTarget(3, quality)
    expected = exact_distribution(target, sampling, 4)
    found = enumerated_distribution(target, sampling, k, 4)
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-9)
    assert set(found) == set(expected)
    for tokens, probability in expected.items():
        assert found[tokens] == pytest.approx(probability, abs=2e-6)  # float32 distributions


def p_value(target, sampling, k, samples, new_tokens=3, lookup=False):
    """Of the later tokens against their exact distribution; bins pooled to at least 5 expected."""
    expected: Counter[tuple[int, ...]] = Counter()
    for tokens, probability in exact_distribution(target, sampling, new_tokens).items():
        expected[tokens[1:]] += probability
    dice = SeededDice(5)
    seen = Counter(run_loop(target, sampling, dice, k, new_tokens, lookup)[1:] for _ in range(samples))
    return chi_square(seen, expected, bins=5)


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("quality", QUALITIES.values(), ids=QUALITIES)
def test_samples_pass_chi_square(k, quality):
    assert p_value(TableTarget(5, quality), SamplingConfig(temperature=1.0), k, 4000) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 4, 8])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("quality", QUALITIES.values(), ids=QUALITIES)
def test_twenty_thousand_samples_a_cell_pass_chi_square(k, temperature, quality):
    sampling = SamplingConfig(temperature=temperature, top_p=0.9 if temperature > 1 else 1.0)
    assert p_value(TableTarget(24, quality), sampling, k, 20_000) > 1e-4


@pytest.mark.parametrize("controller", ["entropy", "disco", "adaedl", "svip"])
def test_the_controller_may_look_at_entropies(controller):
    """Or at probabilities: of the paper's controller, or another's stopping rule, nothing must show in the output."""
    target = TableTarget(3, 0.6)
    sampling = SamplingConfig(temperature=0.5)
    expected = exact_distribution(target, sampling, 4)
    found = enumerated_distribution(target, sampling, controller, 4)
    assert set(found) == set(expected)
    for tokens, probability in expected.items():
        assert found[tokens] == pytest.approx(probability, abs=2e-6)


@pytest.fixture
def sources(monkeypatch):
    """Where the drafts of each round came from, and how many tokens the sparse model checked at once."""
    seen, right_round, right_forward = Counter(), engine.SpeculativeLoop._account, TableTarget.draft_forward

    def account(self, rows, plan, *rest):
        seen[plan.source] += 1
        return right_round(self, rows, plan, *rest)

    def draft_forward(self, cache, token_ids, *rest):
        seen["guesses"] += token_ids.shape[1] > 1
        return right_forward(self, cache, token_ids, *rest)

    monkeypatch.setattr(engine.SpeculativeLoop, "_account", account)
    monkeypatch.setattr(TableTarget, "draft_forward", draft_forward)
    return seen


@pytest.mark.parametrize("quality", QUALITIES.values(), ids=QUALITIES)
@pytest.mark.parametrize("long_match", [2, 100], ids=["straight to the verify", "checked by the sparse model"])
@pytest.mark.parametrize("k", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_lookup_leaves_every_probability_as_it_is(quality, long_match, k, monkeypatch, sources):
    """Two tokens, outputs of six, so that pairs come again: all 64, over every way the dice can fall."""
    monkeypatch.setattr(always, "LONG_MATCH", long_match)
    target, sampling = TableTarget(2, quality, seed=2), SamplingConfig(temperature=1.2)
    expected = exact_distribution(target, sampling, 6)
    found = enumerated_distribution(target, sampling, k, 6, lookup=True)
    assert len(expected) == 64
    for tokens, probability in expected.items():
        assert found[tokens] == pytest.approx(probability, abs=2e-6)
    assert sources[Source.LOOKUP] > 50 if long_match == 2 else sources["guesses"] > 50


@pytest.mark.parametrize("quality", [0.6, 0.0])
def test_the_calibrated_controller_may_learn_from_what_it_sees(quality, monkeypatch, sources):
    """It plans by match lengths, stops by evidence and learns from verifies; none of it may show in the output."""
    monkeypatch.setattr(engine.SpeculativeLoop, "_presumed_costs", lambda _: CHEAP)
    monkeypatch.setattr(CalibratedController, "account", lambda *_: None)
    target, sampling = TableTarget(2, quality, seed=3), SamplingConfig(temperature=1.2)
    expected = exact_distribution(target, sampling, 6)
    found = enumerated_distribution(target, sampling, "calibrated", 6, lookup=True)
    for tokens, probability in expected.items():
        assert found[tokens] == pytest.approx(probability, abs=2e-6)
    assert min(sources[Source.LOOKUP], sources[Source.SPARSE], sources["guesses"]) > 10


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 4, 8])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5])
def test_twenty_thousand_samples_a_cell_with_lookup(k, temperature, monkeypatch, sources):
    """Outputs of six of three tokens: the last five, jointly. Longer matches than a pair are rare in so short ones."""
    monkeypatch.setattr(always, "LONG_MATCH", 2)
    assert p_value(TableTarget(3, 0.6), SamplingConfig(temperature=temperature), k, 20_000, 6, lookup=True) > 1e-4
    assert sources[Source.LOOKUP] > 1000
    assert sources["guesses"] > 1000 or k == 1  # what follows a first draft; at k = 1 there is only the first
