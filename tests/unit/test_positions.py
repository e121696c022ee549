"""Positions that depend on how many there are: followed exactly where that can be done, refused elsewhere."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.positions import check_positions, exact_positions, prefill_in_one
from spsl_cli.errors import UnsupportedModelError
from tests.exact.families import SIZES, draw_weights
from tests.models import generate, random_prompt

LIMIT, NEW = 64, 12
PAIRS = SIZES["head_dim"] // 2
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "short_factor": [1.0] * PAIRS,
    "long_factor": [3.0, 5.0, 7.0, 9.0],
    "original_max_position_embeddings": LIMIT,
}
SCALED = {
    "linear": {"factor": 4.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": LIMIT},
    "llama3": {
        "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": LIMIT,
    },
}  # fmt: skip


def build(family, **changes):
    torch.manual_seed(0)
    return draw_weights(AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **{**SIZES, **changes})))


def longrope(family):
    """phi3 tells its limit twice, and its own `generate` reads the other place."""
    twice = {"original_max_position_embeddings": LIMIT} if family == "phi3" else {}
    return build(family, rope_parameters=LONGROPE, max_position_embeddings=512, sliding_window=None, **twice)


def dynamic():
    return build(
        "llama",
        rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
        max_position_embeddings=LIMIT,
    )


def decode(model, *lengths, new=NEW):
    decoder = SparseSpecDecoder(model, DecodeConfig(k=4, budget=0.2, prefill_chunk=40))
    results = decoder.decode_batch([random_prompt(length, length) for length in lengths], max_new_tokens=new)
    return [result.token_ids for result in results]


def expected(model, *lengths, new=NEW):
    return [generate(model, random_prompt(length, length), new) for length in lengths]


@pytest.mark.parametrize("family", ["phi3", "llama"])
@pytest.mark.parametrize("length", [20, LIMIT - NEW, LIMIT + 1, 150])
def test_longrope_on_either_side_of_its_limit(family, length):
    """Beyond it the prompt goes through in one forward, whatever the chunk: its frequencies are those of its end."""
    model = longrope(family)
    assert prefill_in_one(model.config, length) == (length > LIMIT)
    assert decode(model, length) == expected(model, length)


def test_longrope_frequencies_differ_beyond_the_limit():
    """Otherwise the test above would hold for any decoder; and in chunks, a prompt beyond would come out otherwise."""
    model, prompt = longrope("phi3"), torch.tensor([random_prompt(100)])
    with torch.no_grad():
        whole = model(prompt).logits[0]
        begun = model(prompt[:, :40]).logits[0]
    assert (whole[:40] - begun).abs().max() > 0.1


@pytest.mark.parametrize("length", [LIMIT - NEW + 1, LIMIT])
def test_longrope_that_crosses_its_limit_is_refused(length):
    """transformers computes the whole cache again there (Phi-3), or goes on with rows of both frequencies (Llama)."""
    with pytest.raises(UnsupportedModelError, match=rf"longrope positions is exact up to {LIMIT} .*shorten"):
        decode(longrope("phi3"), length)


def test_a_batch_on_both_sides_of_a_longrope_limit_is_refused():
    model = longrope("phi3")
    with pytest.raises(UnsupportedModelError, match=rf"prompts of more than {LIMIT} tokens apart"):
        decode(model, 100, 20)
    assert decode(model, 100, 70) == expected(model, 100, 70)
    assert decode(model, 30, 20) == expected(model, 30, 20)


def test_dynamic_ntk_up_to_its_limit_and_not_beyond():
    model = dynamic()
    assert decode(model, LIMIT - NEW, 20) == expected(model, LIMIT - NEW, 20)
    for length in (LIMIT - NEW + 1, 100):
        with pytest.raises(UnsupportedModelError, match=rf"dynamic positions is exact up to {LIMIT} .*shorten"):
            decode(model, length)


@pytest.mark.parametrize("family", ["gpt2", "opt", "gptj"])
def test_a_table_of_positions_ends_with_an_error_of_ours(family):
    """And not with an IndexError, or with whatever stands behind the table; batches as a whole."""
    rotary = {"rotary_dim": 4} if family == "gptj" else {}
    model = build(family, max_position_embeddings=LIMIT, **rotary)
    assert decode(model, LIMIT - NEW, 20) == expected(model, LIMIT - NEW, 20)
    for lengths in ((LIMIT - NEW + 1,), (20, 100)):
        with pytest.raises(UnsupportedModelError, match=rf"tabulated positions is exact up to {LIMIT} .*shorten"):
            decode(model, *lengths)


@pytest.mark.parametrize("kind", SCALED)
def test_other_scalings_have_no_limit(kind):
    parameters = {"rope_type": kind, "rope_theta": 1e4, **SCALED[kind]}
    model = build("llama", rope_parameters=parameters, max_position_embeddings=4 * LIMIT)
    assert exact_positions(model.config) is None
    assert decode(model, 100, LIMIT - 5) == expected(model, 100, LIMIT - 5)


def test_plain_rotary_positions_go_on_beyond_the_stated_length():
    model = build("llama", max_position_embeddings=LIMIT)
    assert exact_positions(model.config) is None
    assert decode(model, 100) == expected(model, 100)


def test_limits_of_layer_kinds_count_together():
    """Each kind of layer may have its own rotary embedding: the lowest limit holds for all."""
    config = AutoConfig.for_model(
        "gemma3_text",
        max_position_embeddings=256,
        rope_parameters={
            "full_attention": LONGROPE,
            "sliding_attention": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
        },
    )
    assert exact_positions(config) == LIMIT
    check_positions(config, [30], [60])
    check_positions(config, [100], [120])
    for prompt, end in ((30, 70), (100, 300)):
        with pytest.raises(UnsupportedModelError):
            check_positions(config, [prompt], [end])
