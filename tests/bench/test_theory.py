"""Eq. 1 with roofline and measured costs: known values, its maximum, and where longer drafts begin to lose."""

from __future__ import annotations

from dataclasses import replace

import pytest
from transformers import LlamaConfig, MixtralConfig

from spsl_cli.bench import theory as eq1
from spsl_cli.bench.shapes import KNOWN, dimensions_of, find_dimensions
from spsl_cli.errors import UnsupportedModelError, UsageError
from tests.bench.reports import cell, report, system

LENGTHS = (32_768, 65_536, 131_072)
# The best speedup over a plain step at chances of acceptance of 0.90 and 0.95: batch -> one pair for each length.
IDEAL = {
    "16": {
        1: [(1.06, 1.10), (1.16, 1.23), (1.34, 1.47)],
        4: [(1.34, 1.47), (1.64, 1.86), (2.03, 2.39)],
        16: [(2.03, 2.39), (2.45, 2.99), (2.82, 3.53)],
    },
    "4": {
        1: [(1.27, 1.38), (1.53, 1.71), (1.89, 2.20)],
        4: [(1.89, 2.20), (2.31, 2.79), (2.70, 3.36)],
        16: [(2.70, 3.36), (3.00, 3.81), (3.20, 4.11)],
    },
}


@pytest.mark.parametrize("bits", IDEAL)
@pytest.mark.parametrize("batch", [1, 4, 16])
def test_the_ideal_speedups_of_an_8b_model(bits, batch):
    shape = KNOWN["llama-3.1-8b"].shape("8B", bits)
    assert shape.kv_bytes_per_token == 131_072
    for context, pair in zip(LENGTHS, IDEAL[bits][batch], strict=True):
        for alpha, expected in zip((0.90, 0.95), pair, strict=True):
            best = eq1.theory(shape, context, batch, 696e9, alpha, 0.1).best
            assert best.speedup == pytest.approx(expected, abs=0.03)


SHAPE = eq1.ModelShape("tiny", weight_bytes=100.0, kv_bytes_per_token=1.0)


def test_the_roofline_counts_bytes():
    costs = eq1.roofline(SHAPE, context=900, batch=2, bandwidth=10.0, budget=0.1)
    assert costs.plain == pytest.approx((100 + 2 * 900) / 10)
    assert costs.draft == pytest.approx((100 + 2 * 90) / 10)
    assert costs.verify_at(7) == costs.plain
    assert eq1.roofline(SHAPE, 900, 1, 10.0, budget=5000) == eq1.roofline(SHAPE, 900, 1, 10.0, budget=1.0)


def test_eq_1_in_the_form_of_the_paper():
    costs = eq1.Costs(plain=2.0, draft=0.5, verify=((0, 2.0),))
    alpha, k, gamma = 0.8, 6, 0.25
    assert eq1.speedup(alpha * k, k, costs) == pytest.approx((alpha * k + 1) / (k * gamma + 1))
    assert eq1.speedup(0.0, 0, costs) == 1.0


@pytest.mark.parametrize("alpha", [0.3, 0.7, 0.9, 0.99])
def test_k_star_is_the_maximum_and_inversion_begins_behind_it(alpha):
    found = eq1.theory(SHAPE, 1000, 1, 1.0, alpha, 0.1, longest=60)
    speedups = [point.speedup for point in found.points]
    assert found.best.speedup == max(speedups)
    assert found.inversion is not None
    assert found.inversion.k == found.best.k + 1
    # The paper's condition: one more token loses where its chance is below gamma times the speedup reached.
    gamma = found.costs.relative_draft_cost
    assert alpha**found.inversion.k < gamma * found.best.speedup
    assert alpha**found.best.k >= gamma * speedups[found.best.k - 1]


def test_drafts_that_cost_as_much_as_steps_never_pay():
    found = eq1.theory(eq1.ModelShape("heavy", 1e12, 1.0), 1000, 1, 1.0, 0.9, 0.1)
    assert found.best.k == 0
    assert found.inversion == found.points[1]
    certain = eq1.theory(SHAPE, 1000, 1, 1.0, 1.0, 0.1)
    assert certain.inversion is None
    assert certain.best.k == eq1.LONGEST


def test_verify_costs_lie_between_those_measured():
    costs = eq1.Costs(1.0, 0.2, ((4, 1.2), (8, 1.6)))
    assert [costs.verify_at(k) for k in (1, 4, 6, 8, 20)] == pytest.approx([1.2, 1.2, 1.4, 1.6, 1.6])


@pytest.mark.parametrize(
    "wrong", [{"alpha": 1.5}, {"alpha": -0.1}, {"context": 0}, {"batch": 0}, {"budget": 1.5}, {"bandwidth": 0.0}]
)
def test_what_has_no_meaning_is_refused(wrong):
    given = {"context": 10, "batch": 1, "bandwidth": 1.0, "alpha": 0.9, "budget": 0.1, **wrong}
    with pytest.raises(ValueError, match=r"alpha|above 0"):
        eq1.theory(SHAPE, **given)


def test_measured_costs_predict_what_was_measured():
    """Rounds of 4 drafts of 10 ms and a verify of 60 ms (10 ms of them refresh), 3 accepted; a plain step takes 50."""
    counts = {"rounds": 10, "drafted": 40, "lookup_drafted": 0, "k_histogram": {"4": 10, "0": 2}, "draft_s": 0.4,
              "verify_s": 0.5, "refresh_s": 0.06, "mass_s": 0.04}  # fmt: skip
    fixed = system("fixed-k4", rate=40.0, speedup=2.0, accepted_length=3.0, speculation=counts)
    measured = cell("one", systems=(system("ar", rate=20.0), fixed))
    costs = eq1.measured_costs(measured, fixed)
    assert costs is not None
    assert (costs.plain, costs.draft, costs.verify_at(4)) == pytest.approx((0.05, 0.01, 0.06))
    (prediction,) = eq1.predictions([measured])
    assert (prediction.k, prediction.predicted, prediction.measured) == pytest.approx((4, 4 * 0.05 / 0.1, 2.0))
    assert eq1.predictions(replace(report(), cells=(cell("one", systems=(fixed,)),)).cells) == []  # no plain loop


def test_dimensions_come_from_a_configuration():
    known = KNOWN["smollm2-135m"]
    config = LlamaConfig(
        num_hidden_layers=30, hidden_size=576, intermediate_size=1536, num_attention_heads=9, num_key_value_heads=3,
        vocab_size=49152,
    )  # fmt: skip
    assert dimensions_of(config) == known == find_dimensions("SmolLM2-135M")
    assert known.layer_weights + 49152 * 576 == pytest.approx(134.5e6, rel=0.01)
    assert known.shape("x", "32").kv_bytes_per_token == 2 * known.shape("x").kv_bytes_per_token
    with pytest.raises(UsageError, match="5 bits"):
        known.shape("x", "5")
    with pytest.raises(UnsupportedModelError, match="mixtral"):
        dimensions_of(MixtralConfig())
