"""A model that its owner changes, between runs or from another thread, is decoded as what it is then, and keeps it."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM

from spsl_cli import SparseSpecDecoder, UnsupportedModelError, hf_generate
from spsl_cli.decoding.config import DecodeConfig
from tests.models import draft_config, tiny_model

PROMPT = [(5 * i * i + i) % 60 + 1 for i in range(60)]
NEW = 16


class Adapter(nn.Module):
    """A linear layer and a low-rank term beside it, as adapters have it."""

    def __init__(self, base):
        super().__init__()
        torch.manual_seed(3)
        self.base = base
        self.down = nn.Linear(base.in_features, 2, bias=False)
        self.up = nn.Linear(2, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + 3 * self.up(self.down(x))


def layers(model):
    return [(layer, layer.self_attn, layer.mlp) for layer in model.model.layers]


def adapted(model):
    for _, attention, _ in layers(model):
        attention.q_proj, attention.v_proj = Adapter(attention.q_proj), Adapter(attention.v_proj)
    model.eval()


def listened_to(model):
    for _, attention, mlp in layers(model):
        attention.v_proj.register_forward_hook(lambda _, __, output: output * 1.7)
        mlp.register_forward_pre_hook(lambda _, inputs: (inputs[0] * 1.5,))


def patched(model):
    for layer, _, _ in layers(model):
        own = layer.mlp.forward
        layer.mlp.forward = lambda x, own=own: own(x) * 1.5
    own_head = model.lm_head.forward
    model.lm_head.forward = lambda x: own_head(x).roll(1, -1)


def another_mlp(model):
    model.model.layers[1].mlp = nn.Identity()


def another_norm(model):
    norm = nn.LayerNorm(48).eval().requires_grad_(requires_grad=False)
    norm.weight.copy_(torch.linspace(-3, 3, 48))
    model.model.layers[1].post_attention_layernorm = norm


def other_weights(model):
    torch.manual_seed(5)
    for parameter in model.model.layers[0].parameters():
        parameter.add_(torch.randn_like(parameter), alpha=0.5)


def other_biases(model):
    torch.manual_seed(6)
    for _, attention, _ in layers(model):
        attention.q_proj.bias.normal_()
        attention.v_proj.bias.normal_()


CHANGES = [adapted, listened_to, patched, another_mlp, another_norm, other_weights, other_biases]


def own(model):
    return model.generate(torch.tensor([PROMPT]), max_new_tokens=NEW, do_sample=False)[0, len(PROMPT) :].tolist()


@pytest.mark.parametrize("pack", ["off", "copy"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_between_two_runs_is_followed(change, pack):
    model = tiny_model("qwen2")
    decoder = SparseSpecDecoder(model, draft_config(3), pack=pack)
    before = own(model)
    assert decoder.decode(PROMPT, max_new_tokens=NEW).token_ids == before
    change(model)
    after = own(model)
    assert after != before
    assert decoder.decode(PROMPT, max_new_tokens=NEW).token_ids == after
    assert own(model) == after


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_before_and_between_calls_of_generate(change):
    model = tiny_model("qwen2")
    for alter in (lambda _: None, change):
        alter(model)
        output = model.generate(
            torch.tensor([PROMPT]), max_new_tokens=NEW, do_sample=False, custom_generate=hf_generate,
            decode_config=DecodeConfig(k=3),
        )  # fmt: skip
        assert output[0, len(PROMPT) :].tolist() == own(model)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_another_type_between_two_runs(dtype):
    model = tiny_model()
    decoder = SparseSpecDecoder(model, draft_config(3), pack="copy")
    model.to(dtype)
    tokens = decoder.decode(PROMPT, max_new_tokens=NEW).token_ids
    assert decoder.target.dtype is dtype
    if dtype is torch.float64:
        assert tokens == own(model)


def test_attention_that_differs_by_part_stays_so():
    """A model of several parts may run each by an implementation of its own."""
    sizes = {
        "vocab_size": 61, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "head_dim": 8,
        "num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 8,
    }  # fmt: skip
    config = AutoConfig.for_model("gemma3_text", **sizes)
    model = AutoModelForCausalLM.from_config(config).eval()
    inner = model.model.config = type(config)(**config.to_dict())
    model.config._attn_implementation_internal, inner._attn_implementation_internal = "sdpa", "eager"
    SparseSpecDecoder(model)
    assert (model.config._attn_implementation, inner._attn_implementation) == ("sdpa", "eager")


def test_several_threads_make_decoders_of_one_model_and_use_them():
    model, failures, outputs = tiny_model(), [], []
    expected = own(model)

    def work():
        try:
            for _ in range(4):
                outputs.append(SparseSpecDecoder(model, draft_config(3)).decode(PROMPT, max_new_tokens=NEW).token_ids)
                output = model.generate(torch.tensor([PROMPT]), max_new_tokens=NEW, custom_generate=hf_generate)
                outputs.append(output[0, len(PROMPT) :].tolist())
        except Exception as error:  # noqa: BLE001 whatever it is, it is shown below
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert outputs == [expected] * 32
    assert model.config._attn_implementation == "sdpa"


def test_weights_that_were_given_away():
    model = tiny_model()
    SparseSpecDecoder(model, pack="replace")
    with pytest.raises(ValueError, match="gave its weights to a decoder"):
        SparseSpecDecoder(model)


def test_autocast_is_refused():
    model = tiny_model()
    decoder = SparseSpecDecoder(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for refused in (lambda: SparseSpecDecoder(model), lambda: decoder.decode(PROMPT)):
            with pytest.raises(ValueError, match="autocast"):
                refused()


class LastOnly(nn.Module):
    """Gives the last token's logits whatever is asked for."""

    def forward(self, x):
        return x[:, -1:]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda model: model.model, "by itself"),
        (lambda model: setattr(model, "lm_head", LastOnly()) or model, "logits"),
        (lambda model: model.to("meta"), "meta|by itself|logits"),
        (lambda model: model.lm_head.weight.fill_(float("nan")) is None or model, "not finite"),
    ],
    ids=["no head", "last only", "no weights", "NaN"],
)
def test_what_is_no_language_model_says_so(broken, words):
    with pytest.raises(UnsupportedModelError, match=words):
        SparseSpecDecoder(broken(tiny_model()))


def test_encoder_decoder_models_and_few_positions():
    t5 = AutoConfig.for_model("t5", vocab_size=61, d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=4)
    gpt2 = AutoConfig.for_model("gpt2", vocab_size=61, n_positions=20, n_embd=32, n_layer=1, n_head=4)
    from transformers import AutoModelForSeq2SeqLM  # noqa: PLC0415

    for model in (AutoModelForSeq2SeqLM.from_config(t5), AutoModelForCausalLM.from_config(gpt2)):
        with pytest.raises(UnsupportedModelError):
            SparseSpecDecoder(model.eval())
