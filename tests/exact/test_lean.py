"""Merged layers and packed weights compute what the model's own modules do, and leave the model as it was."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM

from spsl_cli import SparseSpecDecoder, UnsupportedModelError
from spsl_cli.decoding.kv_cache import LayerSizes
from spsl_cli.decoding.lean import merged_layer, stand_ins
from spsl_cli.decoding.lean.products import PackedProduct
from spsl_cli.decoding.lean.stand_ins import StandIns
from spsl_cli.decoding.target import TargetModel
from tests.models import VOCABULARY, draft_config, tiny_model

FAMILIES = {
    "llama": {},
    "mistral": {"sliding_window": 12},
    "ministral": {"sliding_window": 12},
    "qwen2": {},
    "qwen3": {},
    "smollm3": {"no_rope_layers": [1, 0, 1]},
}
PROMPT = [(7 * i * i + 3 * i) % VOCABULARY for i in range(50)]


def of_family(family):
    sizes = {
        "vocab_size": VOCABULARY, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 3,
        "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0,
    }  # fmt: skip
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **{**sizes, **FAMILIES[family]})
    model = AutoModelForCausalLM.from_config(config).eval().requires_grad_(requires_grad=False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=0.3)  # norms and biases too are nothing special
    return model


def forwards(target):
    """Logits of a prefill chunk, of two unequal rows, and of one token each."""
    cache = target.allocate(LayerSizes(2, 64))
    ids = torch.tensor([PROMPT])
    parts = [target.dense_forward(cache, ids[:, :40], (0,))]
    cache.commit(0, 40, 1)
    parts.append(target.dense_forward(cache, ids[:, :3], (1,)))
    cache.commit(1, 3, 1)
    parts.append(target.dense_forward(cache, torch.stack((ids[0, 40:45], ids[0, 3:8])), (0, 1)))
    cache.commit(0, 5, 1)
    cache.commit(1, 5, 1)
    parts.append(target.dense_forward(cache, torch.stack((ids[0, 45:46], ids[0, 8:9])), (0, 1)))
    return parts


def without_stand_ins(model):
    target = TargetModel(model)
    target.stand_ins._forwards = []
    return target


@pytest.mark.parametrize("family", FAMILIES)
def test_merged_layers_compute_the_same(family):
    model = of_family(family)
    target = TargetModel(model)
    assert len(target.stand_ins._forwards) == 3
    for merged, own in zip(forwards(target), forwards(without_stand_ins(model)), strict=True):
        assert float((merged - own).abs().max() / own.abs().max()) < 1e-5


@pytest.mark.parametrize("family", FAMILIES)
def test_packed_weights_compute_the_same(family):
    model = of_family(family)
    target = TargetModel(model)
    target.stand_ins.pack("copy")
    assert len(target.stand_ins._forwards) == 4  # the layers, and the output layer
    for packed, own in zip(forwards(target), forwards(without_stand_ins(model)), strict=True):
        assert float((packed - own).abs().max() / own.abs().max()) < 1e-5


@pytest.mark.parametrize("family", ["starcoder2", "gpt2"])
def test_layers_of_other_kinds_run_as_they_are_with_packed_weights(family):
    config = AutoConfig.for_model(family, vocab_size=61, n_layer=2, n_embd=48, n_head=6, hidden_size=48,
                                  num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2,
                                  intermediate_size=64)  # fmt: skip
    model = AutoModelForCausalLM.from_config(config).eval()
    target = TargetModel(model)
    assert target.stand_ins._forwards == []
    target.stand_ins.pack("copy")
    linears = [module for module in model.modules() if type(module) is nn.Linear]
    assert [module for module, _ in target.stand_ins._forwards] == linears
    for packed, own in zip(forwards(target), forwards(without_stand_ins(model)), strict=True):
        assert float((packed - own).abs().max() / own.abs().max()) < 1e-5


@pytest.mark.parametrize("pack", ["off", "copy"])
def test_between_forwards_the_model_is_its_own(pack):
    model, ids = tiny_model(), torch.tensor([PROMPT])
    before = model(ids).logits
    decoder = SparseSpecDecoder(model, pack=pack)
    for _ in decoder.stream(PROMPT, max_new_tokens=6):
        assert torch.equal(model(ids).logits, before)
    assert not any("forward" in vars(module) for module in model.modules())


def test_a_forward_that_fails_leaves_nothing_in_place():
    model = tiny_model()
    target = TargetModel(model)
    with pytest.raises(IndexError):
        target.dense_forward(target.allocate(LayerSizes(1, 8)), torch.tensor([[VOCABULARY + 5]]), (0,))
    assert not any("forward" in vars(module) for module in model.modules())


def listened_to(model):
    model.model.layers[1].mlp.up_proj.register_forward_hook(lambda *_: None)


def replaced(model):
    module = model.model.layers[1].self_attn
    module.forward = module.forward


class OtherLinear(nn.Linear):
    """As adapters and quantised layers are: a linear layer, and something else."""


def adapted(model):
    model.model.layers[1].self_attn.q_proj.__class__ = OtherLinear


def another_activation(model):
    model.model.layers[1].mlp.act_fn = nn.GELU()


def one_bias(model):
    model.model.layers[1].mlp.up_proj.bias = nn.Parameter(torch.zeros(64))


@pytest.mark.parametrize("change", [listened_to, replaced, adapted, another_activation, one_bias])
def test_a_layer_that_is_not_as_it_came_runs_as_it_is(change):
    model = tiny_model()
    change(model)
    stands_in_for = [layer for layer, _ in StandIns(model)._forwards]
    assert stands_in_for == [model.model.layers[0], model.model.layers[2]]
    ids = torch.tensor([PROMPT])
    output = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False)
    want = output[0, len(PROMPT) :].tolist()
    for pack in ("off", "copy"):
        assert SparseSpecDecoder(model, draft_config(3), pack=pack).decode(PROMPT, max_new_tokens=12).token_ids == want


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_layers_of_another_type_run_as_they_are(dtype):
    kept = StandIns(tiny_model(dtype=dtype))
    kept.pack("copy")
    assert kept._forwards == []


def test_a_merged_layer_that_computes_something_else_is_refused(monkeypatch):
    monkeypatch.setattr(merged_layer.SignedSine, "__call__", lambda _self, sine: sine[:, :, None])
    with pytest.raises(UnsupportedModelError, match="differ from the model's own"):
        SparseSpecDecoder(tiny_model())


def test_replacing_gives_the_models_own_weights_back():
    want = SparseSpecDecoder(tiny_model(), draft_config(3)).decode(PROMPT, max_new_tokens=20).token_ids
    model = tiny_model()
    decoder = SparseSpecDecoder(model, draft_config(3), pack="replace")
    assert all(module.weight.numel() == 0 for module in model.modules() if type(module) is nn.Linear)
    assert model.get_input_embeddings().weight.numel() > 0
    assert decoder.decode(PROMPT, max_new_tokens=20).token_ids == want
    assert decoder.decode_batch([PROMPT, PROMPT[:20]], max_new_tokens=20)[0].token_ids == want


def test_replacing_keeps_weights_that_are_the_embeddings_too():
    model = tiny_model(tie_word_embeddings=True)
    decoder = SparseSpecDecoder(model, pack="replace")
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert model.lm_head.weight.numel() == VOCABULARY * 48
    assert len(decoder.decode(PROMPT, max_new_tokens=4).token_ids) == 4


def test_weights_that_change_are_packed_again():
    model = tiny_model()
    decoder = SparseSpecDecoder(model, draft_config(3), pack="copy")
    before = decoder.decode(PROMPT, max_new_tokens=20).token_ids
    other = tiny_model(seed=3)
    model.load_state_dict(other.state_dict())
    want = SparseSpecDecoder(other, draft_config(3)).decode(PROMPT, max_new_tokens=20).token_ids
    assert want != before
    assert decoder.decode(PROMPT, max_new_tokens=20).token_ids == want


@pytest.mark.parametrize(("free", "packed"), [(None, False), (10**5, False), (10**9, True)])
@pytest.mark.parametrize("large", [False, True])
def test_auto_packs_large_weights_where_memory_is_plenty(monkeypatch, free, packed, large):
    if large:
        monkeypatch.setattr(stand_ins, "LEAST", 0)
    monkeypatch.setattr(stand_ins, "available_memory", lambda _device: free)
    decoder = SparseSpecDecoder(tiny_model())
    assert (len(decoder.target.stand_ins._forwards) == 4) is (packed and large)


def test_pack_is_one_of_four():
    with pytest.raises(ValueError, match="pack is one of auto, copy, replace, off, got True"):
        SparseSpecDecoder(tiny_model(), pack=True)


@pytest.mark.parametrize("shape", [(960, 576), (1536, 576), (576, 1536), (61, 48)])
def test_a_packed_product_of_32_rows_does_not_care_where_a_row_stands(shape):
    """Strict mode in float32 rests on it."""
    torch.manual_seed(1)
    linear = nn.Linear(shape[1], shape[0], bias=False)
    product, row = PackedProduct([linear]), torch.randn(shape[1])
    with torch.inference_mode():
        results = []
        for place in (0, 1, 5, 13, 30, 31):
            x = torch.randn(1, 32, shape[1])
            x[0, place] = row
            results.append(product(x)[0, place])
        assert all(torch.equal(result, results[0]) for result in results)
