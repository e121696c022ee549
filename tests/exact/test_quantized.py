"""Weights of few bits: their grid, the compiled product, and models made of them, which decode as they are."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from spsl_cli import SparseSpecDecoder
from spsl_cli.decoding.kv_cache import LayerSizes
from spsl_cli.decoding.target import TargetModel
from spsl_cli.native import kernels
from spsl_cli.quantized import linear as quantized_linear
from spsl_cli.quantized.grid import GROUP, dequantize, quantize
from spsl_cli.quantized.linear import MOST_ROWS, QuantizedLinear, multiply, quantize_linears
from tests.models import draft_config, tiny_model

SIZES = {"hidden_size": 64, "intermediate_size": 96, "head_dim": 16, "num_attention_heads": 4}
PROMPT = [(5 * i * i + i) % 60 + 1 for i in range(200)]
native = pytest.mark.skipif(not kernels.available(), reason="no C compiler")


def layer(inputs, outputs, *, bias=True, seed=0):
    torch.manual_seed(seed)
    return nn.Linear(inputs, outputs, bias=bias).requires_grad_(requires_grad=False)


@pytest.mark.parametrize(("bits", "steps"), [(8, 127), (4, 8)])
def test_the_grid_is_as_fine_as_it_says(bits, steps):
    weight = layer(96, 5).weight
    weight[2, 32:64] = 0  # a group without a scale
    found = dequantize(*quantize(weight, bits), bits)
    groups, found_groups = weight.view(5, 3, GROUP), found.view(5, 3, GROUP)
    largest, at = groups.abs().max(2)
    assert torch.equal(found_groups[2, 1], torch.zeros(GROUP))
    chosen = found_groups.gather(2, at[..., None])
    torch.testing.assert_close(chosen, groups.gather(2, at[..., None]), rtol=1e-6, atol=0)
    half = 0.5 if bits == 8 else 1.0  # on four bits the end across from the largest is cut off: -8 to 7
    assert ((found_groups - groups).abs().amax(2) <= largest / steps * half * 1.001).all()
    assert torch.equal(dequantize(*quantize(found, bits), bits), found)


def test_weights_of_a_q8_file_are_not_changed():
    """There the scale is a float16, and every weight a whole number of them from -127 to 127."""
    torch.manual_seed(1)
    numbers = torch.randint(-127, 128, (3, 2, GROUP))
    numbers[:, :, 5] = 127
    weight = (numbers * torch.rand(3, 2, 1).half().float()).view(3, 2 * GROUP)
    assert torch.equal(dequantize(*quantize(weight, 8), 8), weight)


@native
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("shape", [(32, 1), (64, 7), (576, 40), (96, 513)], ids=str)
def test_the_product_against_float64_and_row_by_row(bits, shape):
    module = QuantizedLinear(layer(*shape), bits)
    x = torch.randn(19, shape[0])
    found = module(x)
    want = x.double() @ module.weight.double().T + module.bias.double()
    assert (found - want).abs().max() < 1e-6 * want.abs().max()
    for rows in (1, 2, 3, 4, 6, 17):
        assert torch.equal(module(x[:rows]), found[:rows])
        assert torch.equal(module(x[rows : rows + 1]), found[rows : rows + 1])


@pytest.mark.parametrize("bits", [8, 4])
def test_with_and_without_kernels(bits, monkeypatch):
    modules = [QuantizedLinear(layer(64, outputs, seed=outputs, bias=outputs == 5), bits) for outputs in (5, 8)]
    x = torch.randn(2, 3, 64)
    found = multiply(modules, x)
    assert found.shape == (2, 3, 13)
    monkeypatch.setattr(quantized_linear.kernels, "available", lambda: False)
    torch.testing.assert_close(multiply(modules, x), found, rtol=1e-5, atol=1e-5)
    monkeypatch.undo()
    many = x.repeat(MOST_ROWS, 1, 1)
    torch.testing.assert_close(multiply(modules, many)[:2], found, rtol=1e-5, atol=1e-5)


def test_every_linear_layer_is_replaced_and_the_embedding_is_not():
    model = tiny_model(**SIZES, tie_word_embeddings=True)
    embedding = model.get_input_embeddings().weight.clone()
    linears = {name for name, module in model.named_modules() if type(module) is nn.Linear}
    assert quantize_linears(model, 8) == []
    assert {name for name, module in model.named_modules() if isinstance(module, QuantizedLinear)} == linears
    assert torch.equal(model.get_input_embeddings().weight, embedding)
    assert torch.equal(model.lm_head.weight, dequantize(*quantize(embedding, 8), 8))


def test_layers_that_have_to_stay_are_named():
    model = tiny_model(intermediate_size=80, hidden_size=64, head_dim=16, num_attention_heads=4)
    assert quantize_linears(model, 4) == [f"model.layers.{i}.mlp.down_proj" for i in range(3)]
    assert type(model.model.layers[0].mlp.down_proj) is nn.Linear


@native
@pytest.mark.parametrize("bits", [8, 4])
def test_a_verify_is_bit_for_bit_what_steps_are(bits):
    """Neither the product nor the attention of a row depends on the rows beside it."""
    model = tiny_model(**SIZES)
    quantize_linears(model, bits)
    target = TargetModel(model)
    ids, logits = torch.tensor([PROMPT]), []
    for sizes in ((5,), (1,) * 5, (2, 3)):
        cache = target.allocate(LayerSizes(1, 128))
        target.dense_forward(cache, ids[:, :100], (0,))
        cache.commit(0, 100, 1)
        parts = []
        for rows in sizes:
            start = cache.lengths[0]
            parts.append(target.dense_forward(cache, ids[:, start : start + rows], (0,)))
            cache.commit(0, rows, 1)
        logits.append(torch.cat(parts, 1))
    assert torch.equal(logits[0], logits[1])
    assert torch.equal(logits[0], logits[2])


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_greedy_output_is_that_of_the_quantized_model(family, bits):
    model = tiny_model(family, **SIZES)
    quantize_linears(model, bits)
    expected = model.generate(torch.tensor([PROMPT]), max_new_tokens=40, do_sample=False)[0, len(PROMPT) :].tolist()
    rejected = 0
    for k in ("auto", 4, 7):
        decoder = SparseSpecDecoder(model, draft_config(k, budget=24))
        assert len(decoder.target.stand_ins._forwards) == 3  # merged, not packed
        result = decoder.decode(PROMPT, max_new_tokens=40)
        assert result.token_ids == expected
        rejected += result.stats.drafted - result.stats.accepted
    assert rejected
