"""Weights of few bits: their grid, the compiled product, and models made of them, which decode as they are."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from spsl_cli import SparseSpecDecoder
from spsl_cli.decoding.target import TargetModel
from spsl_cli.native import kernels
from spsl_cli.quantized.grid import GROUP, as_it_is, dequantize, quantize
from spsl_cli.quantized.linear import MOST_ROWS, QuantizedLinear, multiply, quantize_linears
from tests.exact.rows import logits_in_parts
from tests.models import draft_config, tiny_model

SIZES = {"hidden_size": 64, "intermediate_size": 96, "head_dim": 16, "num_attention_heads": 4}
PROMPT = [(5 * i * i + i) % 60 + 1 for i in range(200)]
native = pytest.mark.skipif(not kernels.available(), reason="no C compiler")


def layer(inputs, outputs, *, bias=True, seed=0):
    torch.manual_seed(seed)
    return nn.Linear(inputs, outputs, bias=bias).requires_grad_(requires_grad=False)


def quantized(linear, bits):
    return QuantizedLinear(linear, quantize(linear.weight, bits))


@pytest.mark.parametrize("bits", [8, 4])
def test_the_grid_is_as_fine_as_it_says(bits):
    weight = layer(96, 5).weight
    weight[2, 32:64] = 0.25  # a group of equal weights
    stored = quantize(weight, bits)
    found = dequantize(stored)
    groups, differences = weight.view(5, 3, GROUP), (found - weight).view(5, 3, GROUP).abs()
    width = groups.abs().amax(2) / 127 if bits == 8 else (groups.amax(2) - groups.amin(2)) / 15
    assert (differences.amax(2) <= width * 0.5 + groups.abs().amax(2) * 2**-10).all()  # scales are float16 on 4 bits
    assert float(differences.max()) > 1e-4
    assert float(differences[2, 1].max()) < 1e-6
    again = quantize(found, bits)
    assert torch.equal(dequantize(again), found)


@native
@pytest.mark.parametrize("bits", [8, 4])
def test_kernels_and_torch_find_the_same_numbers(bits, monkeypatch):
    weight = torch.cat((layer(64, 50).weight, layer(64, 50, seed=2).weight * 1e-6, in_file("q4_1", 9, 64)))
    weight[7, 32:] = -0.125
    found = quantize(weight, bits)
    monkeypatch.setattr(kernels, "available", lambda: False)
    for mine, other in zip(found, quantize(weight, bits), strict=True):
        assert mine is other is None or torch.equal(mine, other)
    found_weights = dequantize(found)
    monkeypatch.undo()
    assert torch.equal(dequantize(found), found_weights)


def test_tiny_weights_are_not_lost_to_float16():
    weight = layer(64, 3).weight * 1e-7
    for bits, share in ((8, 0.01), (4, 0.1)):
        assert (dequantize(quantize(weight, bits)) - weight).abs().max() < share * weight.abs().max()


def in_file(kind, outputs=3, inputs=96):
    """Weights as a GGUF file of that kind gives them: float16 scales, numbers that meet both ends of their range."""
    torch.manual_seed(1)
    groups = (outputs, inputs // GROUP)
    scale = (torch.rand(*groups, 1) * 0.01 + 0.002).half().float()
    if kind == "q8_0":
        numbers, least = torch.randint(-127, 128, (*groups, GROUP)), torch.zeros(1)
        numbers[..., 5] = 127
    else:
        numbers = torch.randint(0, 16, (*groups, GROUP))
        numbers[..., 3], numbers[..., 9] = 0, 15
        least = (torch.randn(*groups, 1) * 0.05).half().float() if kind == "q4_1" else -8 * scale
    return (numbers * scale + least).view(outputs, inputs)


@native
@pytest.mark.parametrize(("kind", "bits"), [("q8_0", 8), ("q4_0", 4), ("q4_1", 4)])
def test_weights_of_a_file_of_few_bits_are_kept_as_they_are(kind, bits, monkeypatch):
    weight = in_file(kind)
    stored = as_it_is(weight)
    assert stored is not None
    assert stored.bits == bits
    assert torch.equal(dequantize(stored), weight)
    monkeypatch.setattr(kernels, "available", lambda: False)
    assert torch.equal(dequantize(stored), weight)


@native
@pytest.mark.parametrize("row", [0, 2])
def test_weights_beside_the_grid_are_left_alone(row):
    weight = in_file("q4_1")
    weight[row, 40] *= 1.001
    assert torch.equal(as_it_is(weight).numbers, weight)


@native
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("shape", [(32, 1), (64, 7), (576, 40), (96, 513)], ids=str)
def test_the_product_against_float64_and_row_by_row(bits, shape):
    module = quantized(layer(*shape), bits)
    x = torch.randn(19, shape[0])
    found = module(x)
    want = x.double() @ module.weight.double().T + module.bias.double()
    assert (found - want).abs().max() < 1e-6 * want.abs().max()
    for rows in (1, 2, 3, 4, 6, 17):
        assert torch.equal(module(x[:rows]), found[:rows])
        assert torch.equal(module(x[rows : rows + 1]), found[rows : rows + 1])


@pytest.mark.parametrize("bits", [8, 4])
def test_with_and_without_kernels(bits, monkeypatch):
    modules = [quantized(layer(64, outputs, seed=outputs, bias=outputs == 5), bits) for outputs in (5, 8)]
    x = torch.randn(2, 3, 64)
    found = multiply(modules, x)
    assert found.shape == (2, 3, 13)
    monkeypatch.setattr(kernels, "available", lambda: False)
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
    assert torch.equal(model.lm_head.weight, dequantize(quantize(embedding, 8)))


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
    together, alone, in_two = (logits_in_parts(target, PROMPT, sizes) for sizes in ((5,), (1,) * 5, (2, 3)))
    assert torch.equal(together, alone)
    assert torch.equal(together, in_two)


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


@native
def test_weights_that_lie_on_a_grid_are_packed_into_it():
    """The same model, bit for bit, where the weights were rounded before; any other one takes what it took."""
    rounded, model = tiny_model(**SIZES), tiny_model(**SIZES, seed=1)
    for name, parameter in rounded.named_parameters():
        if parameter.dim() > 1:
            parameter.copy_(dequantize(quantize(parameter, 8 if "embed" in name or "lm_head" in name else 4)))
    expected = rounded.generate(torch.tensor([PROMPT]), max_new_tokens=40, do_sample=False)[0, len(PROMPT) :].tolist()
    decoder, other = SparseSpecDecoder(rounded, pack="copy"), SparseSpecDecoder(model, pack="copy")
    assert decoder.decode(PROMPT, max_new_tokens=40).token_ids == expected
    linears = [module for module in rounded.modules() if type(module) is nn.Linear]
    few = sum(linear.weight.numel() * (9 if linear is rounded.lm_head else 6) // 8 for linear in linears)
    assert decoder.target.stand_ins.saved_bytes == sum(linear.weight.nbytes for linear in linears) - few
    assert other.target.stand_ins.saved_bytes == 0
    rounded.model.layers[0].mlp.up_proj.weight.add_(0.01)  # it no longer lies there
    expected = rounded.generate(torch.tensor([PROMPT]), max_new_tokens=40, do_sample=False)[0, len(PROMPT) :].tolist()
    assert decoder.decode(PROMPT, max_new_tokens=40).token_ids == expected
