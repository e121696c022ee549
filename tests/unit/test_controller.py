"""The draft-length controllers against the equations worked out by hand."""

from __future__ import annotations

import math

import pytest

from spsl_cli.decoding.config import K_MAX, DecodeConfig
from spsl_cli.decoding.controllers import Evidence, Source, make_controller
from spsl_cli.decoding.controllers.calibrated import CalibratedController
from spsl_cli.decoding.controllers.entropy import EntropyController
from spsl_cli.decoding.controllers.fixed import FixedController
from spsl_cli.decoding.costs import StepCosts


def costs(draft_s, round_s):
    measured = StepCosts()
    measured.observe_draft(2, 2 * draft_s)
    measured.observe_verify(2, round_s)
    return measured


def seen(*entropies):
    return [Evidence(entropy) for entropy in entropies]


def test_probability_is_equation_7():
    controller = EntropyController(StepCosts())
    controller.mean_accepted_entropy, controller.mean_rejected_entropy = 0.4, 2.0
    for entropy in (0.0, 0.4, 1.2, 2.0, 5.0):
        near, far = math.exp(-abs(entropy - 0.4)), math.exp(-abs(entropy - 2.0))
        assert controller.acceptance_probability(entropy) == pytest.approx(near / (near + far))
    assert controller.acceptance_probability(1.2) == pytest.approx(0.5)


def test_means_are_equation_6():
    controller = EntropyController(StepCosts())
    controller.mean_accepted_entropy, controller.mean_rejected_entropy = 1.0, 2.0
    controller.observe(Source.SPARSE, seen(0.5, 0.7, 3.0), accepted=2)
    assert controller.mean_accepted_entropy == pytest.approx(0.9 * (0.9 * 1.0 + 0.1 * 0.5) + 0.1 * 0.7)
    assert controller.mean_rejected_entropy == pytest.approx(0.9 * 2.0 + 0.1 * 3.0)


@pytest.mark.parametrize("gamma", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("p", [0.5, 0.7, 0.95])
def test_best_length_is_the_argmax_of_equation_8(gamma, p):
    controller = EntropyController(costs(gamma, 1.0))
    controller.mean_probability = p
    rates = [(1 + sum(p**m for m in range(1, k + 1))) / (k * gamma + 1) for k in range(1, K_MAX + 1)]
    assert controller.best_length([[]]) == 1 + rates.index(max(rates))


def test_known_entropies_replace_the_prediction():
    controller = EntropyController(costs(0.1, 1.0))
    controller.mean_accepted_entropy, controller.mean_rejected_entropy = 0.0, 6.0
    controller.mean_probability = 0.9
    assert controller.best_length([seen(0.0, 0.0)]) > 4
    assert controller.best_length([seen(0.0, 6.0)]) == 2  # the second token will not stand: nothing behind it can
    assert not controller.wants_more([seen(0.0, 6.0)])
    assert controller.k_star == 2


def test_cheaper_drafts_are_longer():
    lengths = []
    for gamma in (0.9, 0.5, 0.2, 0.05, 0.01):
        controller = EntropyController(costs(gamma, 1.0))
        controller.mean_probability = 0.85
        lengths.append(controller.best_length([[]]))
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_p_is_bounded_as_documented():
    controller = EntropyController(StepCosts())
    controller.mean_accepted_entropy, controller.mean_rejected_entropy = 0.5, 1.5
    largest = max(controller.acceptance_probability(i / 100) for i in range(500))
    assert largest == pytest.approx(1 / (1 + math.exp(-1)))


def test_fixed():
    controller = FixedController(3)
    assert [controller.wants_more([seen(*[0.0] * drafted)]) for drafted in range(5)] == [True, True, True, False, False]


def test_configuration_chooses():
    assert isinstance(make_controller(DecodeConfig(k=5), StepCosts()), FixedController)
    assert isinstance(make_controller(DecodeConfig(controller="entropy"), StepCosts()), EntropyController)
    assert isinstance(make_controller(DecodeConfig(), StepCosts()), CalibratedController)
    assert [DecodeConfig(k=5).controller_name, DecodeConfig().controller_name] == ["fixed", "calibrated"]


def test_lookup_goes_with_the_calibrated_controller_unless_told():
    assert DecodeConfig().looks_up
    assert not DecodeConfig(k=5).looks_up
    assert not DecodeConfig(controller="entropy").looks_up
    assert DecodeConfig(k=5, lookup=True).looks_up
    assert not DecodeConfig(lookup=False).looks_up


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": 0.0},
        {"budget": 1.5},
        {"budget": 0},
        {"k": 0},
        {"k": K_MAX + 1},
        {"controller": "fixed"},
        {"controller": "clever"},
        {"window": 0},
        {"sink": -1},
        {"prefill_chunk": 0},
        {"k": 3.5},
        {"k": True},
        {"k": "3"},
        {"budget": True},
        {"budget": "0.1"},
        {"window": 2.5},
        {"speculation": "no"},
        {"strict": "yes"},
        {"index": "best"},
        {"importance": "sum"},
        {"lookup": "yes"},
    ],
)
def test_wrong_values_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DecodeConfig(**wrong)


def test_costs_are_medians():
    measured = StepCosts()
    assert (measured.draft_step_s, measured.round_s, measured.plain_step_s) == (None, None, None)
    for seconds in (0.1, 0.1, 5.0, 0.2, 0.1):
        measured.observe_plain(seconds)
        measured.observe_draft(4, 4 * seconds)
        measured.observe_verify(4, 2 * seconds)
        measured.observe_refresh(seconds / 2)
    assert measured.plain_step_s == measured.draft_step_s == 0.1
    assert measured.refresh_s == 0.05
    assert measured.round_s == 0.25
