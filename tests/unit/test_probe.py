"""Models that the decoder cannot run exactly are refused with the reason, before anything is decoded."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from spsl_cli.decoding import target as target_module
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.forward_state import ForwardState
from spsl_cli.decoding.kv_cache import LayerCache
from spsl_cli.decoding.probe import LONGEST_WINDOW, LOOSE_TOLERANCE, PREFILL, VERIFY, Probe, _difference
from spsl_cli.decoding.target import TargetModel
from spsl_cli.errors import UnsupportedModelError
from spsl_cli.native import kernels
from tests.exact.families import SIZES, draw_weights
from tests.models import tiny_model

LONG = {**SIZES, "max_position_embeddings": 2048}


def build(family, **changes):
    torch.manual_seed(0)
    return draw_weights(AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **{**LONG, **changes})))


@pytest.fixture
def lengths(monkeypatch):
    """How many tokens the model itself, and then each forward of the decoder, runs."""
    seen = []

    class Watched(TargetModel):
        def __init__(self, model):
            super().__init__(model)
            forward = model.forward

            def watch(*args, **kwargs):
                seen.append(tuple(kwargs["input_ids"].shape))
                return forward(*args, **kwargs)

            model.forward = watch

    def probe(model):
        seen.clear()
        Probe(Watched(model)).check()
        return list(seen)

    return probe


def test_the_probe_is_short_without_windows(lengths):
    assert lengths(tiny_model()) == [(1, 41), (1, 35), (2, 5), (2, 1)]


@pytest.mark.parametrize("window", [8, 100, LONGEST_WINDOW])
def test_the_probe_looks_past_a_window(window, lengths):
    model = build("gemma2", sliding_window=window)
    assert lengths(model) == [(1, window + 41), (1, window), (1, 35), (2, 5), (2, 1)]


def test_a_window_too_long_for_the_probe_is_not_filled(lengths):
    assert lengths(build("gemma2", sliding_window=LONGEST_WINDOW + 1))[0] == (1, 41)


def test_a_window_that_the_positions_do_not_reach_is_not_filled(lengths):
    """Across a limit of its positions the model by itself would use others than chunk by chunk."""
    parameters = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    model = build("mistral", sliding_window=100, max_position_embeddings=128, rope_parameters=parameters)
    assert lengths(model)[0] == (1, 41)


@pytest.mark.parametrize("window", [24, 4096])
def test_a_window_told_to_an_attention_that_has_none_is_refused(window):
    """A Llama configuration that names one: its attention does not look at it."""
    model = build("llama", sliding_window=window)
    with pytest.raises(UnsupportedModelError, match="a sliding window it does not have"):
        SparseSpecDecoder(model)


@pytest.mark.parametrize("window", [24, 100, LONGEST_WINDOW])
def test_a_window_that_the_attention_does_not_look_at_is_noticed(window, monkeypatch):
    """Whatever hides it: the probe looks past every window up to the longest."""
    model = build("llama", sliding_window=window)
    monkeypatch.setattr(type(model.config), "sliding_window", None, raising=False)
    with pytest.raises(UnsupportedModelError, match="logits"):
        SparseSpecDecoder(model)


def test_a_token_sent_to_another_expert_by_a_rounding_is_no_reason_to_refuse():
    """In 16 bit the median over the tokens of a row decides, and a change of all of them is noticed all the same."""
    expected = torch.randn(12, 61, generator=torch.Generator().manual_seed(0))
    actual = expected.bfloat16()
    actual[3] = -actual[3]
    assert _difference(actual, expected) < LOOSE_TOLERANCE
    assert _difference(actual.float(), expected) > LOOSE_TOLERANCE
    assert _difference(-actual, expected) > LOOSE_TOLERANCE


def test_an_attention_with_a_window_that_nobody_told_is_refused():
    model = build("mistral", sliding_window=24)
    model.config.layer_types = ["full_attention"] * 2
    with pytest.raises(UnsupportedModelError, match="sliding window its configuration does not tell"):
        SparseSpecDecoder(model)


@pytest.mark.parametrize("told", [99, 101])
def test_a_window_told_wrong_is_refused(told, monkeypatch):
    """One position more or less, in the decoder's own idea of the window: by its logits alone."""
    model = build("phimoe", sliding_window=100, num_local_experts=4, num_experts_per_tok=2)
    monkeypatch.setattr(target_module, "attention_windows", lambda _: (told, told))
    with pytest.raises(UnsupportedModelError, match="logits"):
        SparseSpecDecoder(model)


@pytest.mark.parametrize("wrong", [PREFILL, VERIFY])
def test_prefill_chunk_and_verify_look_past_the_window(wrong, monkeypatch):
    """Either of them with a mask that forgets the window is noticed."""
    monkeypatch.setattr(kernels, "suits", lambda *_, **__: False)  # the native ones know the window themselves
    mask = ForwardState.mask

    def without_window(state, rows, keys, window, *others):
        return mask(state, rows, keys, keys if rows == wrong else window, *others)

    monkeypatch.setattr(ForwardState, "mask", without_window)
    with pytest.raises(UnsupportedModelError, match="logits"):
        SparseSpecDecoder(build("mistral", sliding_window=100))


def test_the_plain_step_looks_past_the_window(monkeypatch):
    """It has no mask: what it is given, it sees."""
    monkeypatch.setattr(kernels, "suits", lambda *_, **__: False)  # the native ones know the window themselves
    visible = LayerCache.visible

    def one_more(layer, i, rows):
        layer.attention_window += rows == 1
        try:
            return visible(layer, i, rows)
        finally:
            layer.attention_window -= rows == 1

    monkeypatch.setattr(LayerCache, "visible", one_more)
    with pytest.raises(UnsupportedModelError, match="logits"):
        SparseSpecDecoder(build("mistral", sliding_window=100))


def test_a_model_that_computes_something_else_is_refused():
    """Whatever the reason, a difference in the logits is found by the probe forward."""
    model = tiny_model()
    attention = model.model.layers[1].self_attn
    scaling, calls = attention.scaling, 0
    forward = attention.forward

    def other_after_the_first_call(*args, **kwargs):
        nonlocal calls
        calls += 1
        attention.scaling = scaling if calls == 1 else 2 * scaling
        return forward(*args, **kwargs)

    attention.forward = other_after_the_first_call
    with pytest.raises(UnsupportedModelError, match="logits"):
        SparseSpecDecoder(model)


@pytest.mark.parametrize(
    ("family", "changes", "reason"),
    [
        ("gpt_neox", {}, "does not hand its arguments to the cache"),
        ("jetmoe", {"num_local_experts": 4, "num_experts_per_tok": 2, "kv_channels": 8}, "logits"),
        ("bart", {"d_model": 32, "decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 48}, "logits"),
        ("moshi", {"sliding_window": 24, "ffn_dim": 48}, "logits"),
        ("bloom", {}, "let its attention be replaced"),
    ],
)
def test_families_that_the_gate_refuses_are_found_by_the_probe_too(family, changes, reason):
    """Whoever hands a loaded model to the decoder has not passed the gate."""
    with pytest.raises(UnsupportedModelError, match=reason):
        SparseSpecDecoder(build(family, **changes))


def test_positions_that_a_model_counts_itself_are_refused():
    """One row alone would come out right: only in a batch are the rows of unequal length."""
    model = tiny_model()
    forward = model.forward

    def count_positions(*, position_ids=None, **kwargs):
        if position_ids is not None:
            position_ids = position_ids[:1].expand_as(position_ids)
        return forward(position_ids=position_ids, **kwargs)

    model.forward = count_positions
    with pytest.raises(UnsupportedModelError, match="logits"):
        SparseSpecDecoder(model)


def test_an_error_inside_the_model_on_our_cache_is_a_refusal():
    latent = {"kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4, "v_head_dim": 6}
    experts = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_group": 1}
    model = build("deepseek_v3", head_dim=4, num_key_value_heads=4, topk_group=1, **latent, **experts)
    with pytest.raises(UnsupportedModelError, match="does not run on the decoder's cache"):
        SparseSpecDecoder(model)


def test_running_out_of_memory_is_not_taken_for_a_refusal(monkeypatch):
    def out_of_memory(*_, **__):
        raise torch.OutOfMemoryError("no room")

    target = TargetModel(tiny_model())
    probe = Probe(target)
    monkeypatch.setattr(target, "dense_forward", out_of_memory)
    with pytest.raises(torch.OutOfMemoryError):
        probe.check()
