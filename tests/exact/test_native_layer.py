"""A layer's few rows in compiled code: against float64, row by row, in whole models, and when weights change."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from spsl_cli import SparseSpecDecoder
from spsl_cli.decoding.kv_cache import LayerSizes
from spsl_cli.decoding.lean.native_layer import NativeLayer
from spsl_cli.decoding.target import TargetModel
from spsl_cli.native.layer import FewRows, Norm
from spsl_cli.native.library import native_library
from spsl_cli.quantized.grid import as_it_is, dequantize, quantize
from spsl_cli.quantized.linear import MOST_ROWS, QuantizedLinear
from tests.exact.rows import logits_in_parts
from tests.models import draft_config, generate, tiny_model

SIZES = {"hidden_size": 64, "intermediate_size": 96, "head_dim": 16, "num_attention_heads": 4}
PROMPT = [(5 * i * i + i) % 60 + 1 for i in range(200)]
QUERY_HEADS, KEY_HEADS, SIZE, WIDTH, MIDDLE = 4, 2, 16, 64, 96

pytestmark = pytest.mark.skipif(native_library().functions is None, reason="no C compiler")


class Reference:
    """The two halves in float64, written out."""

    def __init__(self, *, bias, head_norms, rotates):
        torch.manual_seed(3)
        heads = (QUERY_HEADS * SIZE, KEY_HEADS * SIZE, KEY_HEADS * SIZE)
        shapes = [(WIDTH, n) for n in heads] + [(heads[0], WIDTH), (WIDTH, MIDDLE), (WIDTH, MIDDLE), (MIDDLE, WIDTH)]
        self.linears = [nn.Linear(*shape, bias=bias).requires_grad_(requires_grad=False) for shape in shapes]
        self.norms = [Norm(torch.randn(WIDTH), 1e-5), Norm(torch.randn(WIDTH), 1e-6)]
        self.head_norms = [Norm(torch.randn(SIZE), 1e-5), Norm(torch.randn(SIZE), 1e-3)] if head_norms else []
        self.rotates = rotates
        kept = [QuantizedLinear(linear, as_it_is(linear.weight)) for linear in self.linears]
        self.kept = kept
        matrices = [linear.matrix() for linear in kept]
        self.native = FewRows(matrices, self.norms, self.head_norms, SIZE, rotates=rotates)

    def before(self, hidden, cosine, sine):
        x = normed(hidden.double(), self.norms[0])
        parts = [self.product(i, x).unflatten(-1, (-1, SIZE)) for i in range(3)]
        for i, norm in enumerate(self.head_norms):
            parts[i] = normed(parts[i], norm)
        if self.rotates:
            for i in range(2):
                first, second = parts[i].chunk(2, -1)
                turned = torch.cat((-second, first), -1)
                parts[i] = parts[i] * cosine.double()[..., None, :] + turned * sine.double()[..., None, :]
        return torch.cat(parts, -2)

    def after(self, hidden, attended):
        x = hidden.double() + self.product(3, attended.double().flatten(2))
        y = normed(x, self.norms[1])
        return x + self.product(6, nn.functional.silu(self.product(4, y)) * self.product(5, y))

    def product(self, i, x):
        linear = self.linears[i]
        bias = 0 if linear.bias is None else linear.bias.double()
        return x @ linear.weight.double().T + bias


def normed(x, norm):
    return x * (x.square().mean(-1, keepdim=True) + norm.epsilon).rsqrt() * norm.weight.double()


def inputs(sequences, rows):
    torch.manual_seed(rows)
    hidden = torch.randn(sequences, rows, WIDTH) * 3
    positions = torch.randn(2, sequences, rows, SIZE)
    return hidden, positions[0], positions[1], torch.randn(sequences, rows, QUERY_HEADS, SIZE)


@pytest.mark.parametrize("options", [(False, False, True), (True, True, True), (True, False, False)], ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (3, 4)], ids=str)
def test_both_halves_against_float64(options, shape):
    layer = Reference(**dict(zip(("bias", "head_norms", "rotates"), options, strict=True)))
    hidden, cosine, sine, attended = inputs(*shape)
    for found, want in (
        (layer.native.before_attention(hidden, (cosine, sine)), layer.before(hidden, cosine, sine)),
        (layer.native.after_attention(hidden, attended), layer.after(hidden, attended)),
    ):
        assert found.shape == want.shape
        assert (found - want).abs().max() < 1e-5 * want.abs().max()


def test_gates_far_from_zero():
    layer = Reference(bias=False, head_norms=False, rotates=True)
    for linear in layer.kept[4:6]:
        linear.numbers.mul_(1e3)
    layer.linears[4].weight.data, layer.linears[5].weight.data = layer.kept[4].weight, layer.kept[5].weight
    hidden, _, _, attended = inputs(1, 5)
    found, want = layer.native.after_attention(hidden, attended), layer.after(hidden, attended)
    assert (layer.product(4, normed(hidden.double(), layer.norms[1])).abs() > 200).any()
    assert (found - want).abs().max() < 1e-5 * want.abs().max()


def test_a_row_is_bit_for_bit_what_it_is_alone():
    layer = Reference(bias=True, head_norms=True, rotates=True)
    hidden, cosine, sine, attended = inputs(1, 23)
    heads, out = layer.native.before_attention(hidden, (cosine, sine)), layer.native.after_attention(hidden, attended)
    for i in range(23):
        row = slice(i, i + 1)
        place = (cosine[:, row], sine[:, row])
        assert torch.equal(layer.native.before_attention(hidden[:, row], place)[0, 0], heads[0, i])
        assert torch.equal(layer.native.after_attention(hidden[:, row], attended[:, row])[0, 0], out[0, i])


def kept_in(bits, **options):
    """A model whose weights are exactly those of so many bits."""
    model = tiny_model(**SIZES, **options)
    for parameter in model.parameters():
        if parameter.dim() > 1 and bits == 16:
            parameter.copy_(parameter.bfloat16())
        elif parameter.dim() > 1 and bits < 16:
            parameter.copy_(dequantize(quantize(parameter, bits)))
    return model


def native_layers(decoder):
    return [layer for _, layer in decoder.target.stand_ins._forwards if type(layer) is NativeLayer]


@pytest.mark.parametrize("bits", [32, 16, 8, 4])
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_greedy_output_is_the_models_own(family, bits):
    model = kept_in(bits, family=family)
    expected = generate(model, PROMPT, 40)
    rejected = 0
    for k in ("auto", 4, 7):
        decoder = SparseSpecDecoder(model, draft_config(k, budget=24), pack="copy")
        layers = native_layers(decoder)
        assert len(layers) == 3
        numbers = {linear.bits for layer in layers for linear in layer._out._quantized}
        assert numbers == {bits}
        result = decoder.decode(PROMPT, max_new_tokens=40)
        assert result.token_ids == expected
        rejected += result.stats.drafted - result.stats.accepted
    assert rejected


@pytest.mark.parametrize("bits", [32, 16])
def test_a_verify_is_bit_for_bit_what_steps_are(bits):
    target = TargetModel(kept_in(bits))
    target.stand_ins.pack("copy")
    together, alone, in_two = (logits_in_parts(target, PROMPT, sizes) for sizes in ((5,), (1,) * 5, (2, 3)))
    assert torch.equal(together, alone)
    assert torch.equal(together, in_two)


def test_many_rows_are_computed_as_in_any_merged_layer():
    model = kept_in(32)
    target = TargetModel(model)
    target.stand_ins.pack("copy")
    ids = torch.tensor([PROMPT])
    assert ids.shape[1] > MOST_ROWS
    found = target.dense_forward(target.allocate(LayerSizes(1, 256)), ids, (0,))
    torch.testing.assert_close(found, model(ids).logits, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bits", [32, 16])
def test_weights_as_they_are_take_no_more_memory(bits):
    """Those of 32 bits are the model's own tensors, those of 16 half of them."""
    model = kept_in(bits)
    decoder = SparseSpecDecoder(model, pack="copy")
    linears = [module for module in model.modules() if type(module) is nn.Linear]
    size = sum(linear.weight.nbytes for linear in linears)
    assert decoder.target.stand_ins.saved_bytes == (0 if bits == 32 else size // 2)
    if bits == 32:
        numbers = native_layers(decoder)[0]._down._quantized[0].numbers
        assert numbers.data_ptr() == model.model.layers[0].mlp.down_proj.weight.data_ptr()


def scaled_norm(model):
    model.model.layers[1].input_layernorm.weight.data = model.model.layers[1].input_layernorm.weight * 2


def in_place(model):
    model.model.layers[2].mlp.up_proj.weight.mul_(-1.0)


def exchanged(model):
    model.model.layers[0].mlp.up_proj.weight.data = torch.randn(96, 64)


def loaded(model):
    model.load_state_dict(tiny_model(**SIZES, seed=5).state_dict(), assign=True)


@pytest.mark.parametrize("bits", [32, 16, 4])
@pytest.mark.parametrize("change", [scaled_norm, in_place, exchanged, loaded])
def test_weights_that_change_are_followed(change, bits):
    model = kept_in(bits)
    decoder = SparseSpecDecoder(model, draft_config(3), pack="copy")
    before = decoder.decode(PROMPT, max_new_tokens=24).token_ids
    change(model)
    want = generate(model, PROMPT, 24)
    assert want != before
    assert decoder.decode(PROMPT, max_new_tokens=24).token_ids == want


@pytest.mark.parametrize("sizes", [{"head_dim": 8}, {"hidden_size": 48}, {"intermediate_size": 80}], ids=str)
def test_other_shapes_are_merged_as_ever(sizes):
    model = tiny_model(**{**SIZES, **sizes})
    decoder = SparseSpecDecoder(model, draft_config(3), pack="copy")
    assert native_layers(decoder) == []
    assert len(decoder.target.stand_ins._forwards) == 4
    assert decoder.decode(PROMPT, max_new_tokens=24).token_ids == generate(model, PROMPT, 24)
