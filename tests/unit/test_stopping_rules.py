"""Published stopping rules against their formulas, and what they are told of a drafted token."""

from __future__ import annotations

import math

import pytest
import torch

from spsl_cli.decoding.chooser import make_chooser
from spsl_cli.decoding.config import K_MAX, DecodeConfig, SamplingConfig
from spsl_cli.decoding.controllers import Evidence, Plan, Source, make_controller
from spsl_cli.decoding.controllers.adaedl import AdaEdlController
from spsl_cli.decoding.controllers.always import LONG_MATCH
from spsl_cli.decoding.controllers.disco import ConfidenceController
from spsl_cli.decoding.controllers.svip import SvipController
from spsl_cli.decoding.costs import StepCosts

CLEAR, VAGUE = Evidence(0.01, probability=0.99), Evidence(4.0, probability=0.05)
RULES = {"disco": ConfidenceController, "adaedl": AdaEdlController, "svip": SvipController}


@pytest.mark.parametrize("name", RULES)
def test_configuration_names_them(name):
    config = DecodeConfig(controller=name)
    assert isinstance(make_controller(config, StepCosts()), RULES[name])
    assert config.controller_name == name
    assert not config.looks_up


@pytest.mark.parametrize(("probability", "more"), [(0.0, False), (0.399, False), (0.4, True), (1.0, True)])
def test_disco_stops_where_a_token_is_unlikely(probability, more):
    """Whatever its entropy."""
    for entropy in (0.0, 9.0):
        assert ConfidenceController().wants_more([[CLEAR, Evidence(entropy, probability=probability)]]) is more


@pytest.mark.parametrize("entropy", [0.0, 0.3, 0.599, 0.601, 3.0, 11.0])
def test_svip_stops_where_its_bound_fails(entropy):
    """sqrt(0.15 H) against 0.3: at 0.6 nats."""
    assert SvipController().wants_more([[Evidence(entropy)]]) is (math.sqrt(0.15 * entropy) <= 0.3)
    assert SvipController().wants_more([[Evidence(entropy)]]) is (entropy < 0.6)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("entropy", [0.0, 0.04, 0.06, 1.0, 1.3, 3.1, 3.3, 11.0])
def test_adaedl_stops_where_its_bound_is_below_lambda(entropy, threshold):
    rule = AdaEdlController()
    rule.threshold = threshold
    assert rule.wants_more([[Evidence(entropy)]]) is (1 - math.sqrt(0.2 * entropy) >= threshold)


def test_lambda_follows_the_acceptance_rate():
    """By the update of Draft & Verify, worked out by hand."""
    rule, threshold, rate = AdaEdlController(), 0.5, 0.0
    outcomes = [(4, 2), (4, 4), (4, 4), (4, 4), (4, 4), (4, 4), (K_MAX, K_MAX), (3, 0)]
    moves = []
    for drafted, accepted in outcomes:
        rule.observe(Source.SPARSE, [CLEAR] * drafted, accepted)
        rate = (rate + accepted / drafted) / 2
        move = 0.01 if rate < 0.9 else 0.0 if drafted == K_MAX else -0.01
        threshold += 0.1 * move
        moves.append(move)
        assert rule.threshold == pytest.approx(threshold, abs=1e-12)
    assert set(moves) == {0.01, 0.0, -0.01}
    rule.observe(Source.LOOKUP, [CLEAR], 0)
    assert rule.threshold == pytest.approx(threshold, abs=1e-12)


@pytest.mark.parametrize("rule", RULES.values())
def test_the_first_token_is_always_drafted_and_k_star_tells_the_length(rule):
    controller = rule()
    assert controller.plan([0], [100]).source is Source.SPARSE
    assert controller.wants_more([[]])
    assert controller.k_star == 1
    assert controller.wants_more([[CLEAR] * 3])
    assert controller.k_star == 4
    assert not controller.wants_more([[CLEAR, CLEAR, VAGUE]])
    assert controller.k_star == 3
    assert not controller.wants_more([[CLEAR, VAGUE, CLEAR]])  # several at once, checked together
    assert controller.wants_more([[CLEAR] * K_MAX])
    assert controller.k_star == K_MAX


@pytest.mark.parametrize("rule", RULES.values())
def test_rows_of_a_batch_stop_with_most_of_them(rule):
    ended, going = [CLEAR, VAGUE, CLEAR], [CLEAR] * 3
    assert rule().wants_more([going, ended])
    assert rule().wants_more([going, ended, going])
    assert not rule().wants_more([going, ended, ended])
    assert not rule().wants_more([ended])


@pytest.mark.parametrize("rule", RULES.values())
def test_looked_up_drafts_are_as_long_as_they_may_be(rule):
    controller = rule()
    controller.wants_more([[VAGUE]])
    assert controller.plan([LONG_MATCH], [100]) == Plan(Source.LOOKUP, K_MAX)


@pytest.mark.parametrize("temperature", [0.0, 1.0, 0.5])
def test_the_probability_is_that_of_the_token_where_it_came_from(temperature):
    """Of the softmax; where tokens are drawn, of that at the temperature."""
    logits = torch.tensor([0.3, 2.0, -1.0, 1.5, float("-inf")])
    chooser = make_chooser(SamplingConfig(temperature=temperature, seed=3))
    law = (logits.double() / (temperature or 1.0)).softmax(-1)
    seen = set()
    for _ in range(20):
        choice = chooser.choose(logits)
        assert choice.probability == pytest.approx(float(law[choice.token]), abs=1e-6)
        seen.add(choice.token)
    assert (seen == {1}) is (temperature == 0)
