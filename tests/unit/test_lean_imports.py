"""torch and transformers without the parts that no run uses: what is left out, what is there when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM, Gemma3TextConfig, LlamaConfig, Phi3Config, Qwen3Config

from spsl_cli import lean_imports
from spsl_cli.models import load, loading, resolve
from tests.unit.test_models_loading import save_tiny


def run(code: str, *arguments: str) -> str:
    """What `code` prints in a process of its own, after the lean import."""
    start = "import sys\nfrom spsl_cli import lean_imports\nlean_imports.import_libraries()\n"
    command = [sys.executable, "-W", "error", "-c", start + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_compiler_and_what_else_no_run_uses_stays_out_from_the_import_to_the_answer(tmp_path):
    code = """
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.models import load, resolve
model = load(resolve(sys.argv[1]), device="cpu").model
print(SparseSpecDecoder(model).decode(list(range(5, 60)), max_new_tokens=24).token_ids)
left_out = ("sympy", "scipy", "torch._dynamo.eval_frame", "torch.distributed.tensor", "transformers.audio_utils")
print([name for name in left_out if name in sys.modules])
"""
    folder = save_tiny(tmp_path / "tiny")
    tokens, imported = run(code, str(folder)).splitlines()
    assert imported == "[]"
    model = AutoModelForCausalLM.from_pretrained(folder)
    own = model.generate(torch.arange(5, 60)[None], max_new_tokens=24, min_new_tokens=24, do_sample=False)
    assert tokens == str(own[0, 55:].tolist())


def test_what_was_put_off_comes_when_it_is_asked_for():
    code = """
import torch, transformers
before = type(sys.modules["transformers"]).__name__
marked = torch.compiler.disable(lambda x: x + 1)
print(before, transformers.__version__ == __import__("importlib.metadata").metadata.version("transformers"), marked(1))
kept = list(torch._dynamo.marks)
print(transformers.GPT2Config().model_type, type(sys.modules["transformers"]).__name__)
print(transformers.models.llama.LlamaConfig is sys.modules["transformers.models.llama.configuration_llama"].LlamaConfig)
from transformers import PreTrainedModel, AutoModelForCausalLM, ProcessorMixin
print(PreTrainedModel is sys.modules["transformers.modeling_utils"].PreTrainedModel, ProcessorMixin.__name__)
print(torch._dynamo.config.suppress_errors, hasattr(torch._dynamo, "marks"), marked(2))
print(sorted({name for name, _ in kept}))
print(all(f._dynamo_marked_constant for name, f in kept if name == "assume_constant_result"))
print(hasattr(torch._dynamo, "no_such_name"))
import scipy
"""
    lines = run(code).splitlines()
    assert lines[0] == "_PutOff True 2"
    assert lines[1] == "gpt2 _LazyModule"
    assert lines[2:5] == ["True", "True ProcessorMixin", "False False 3"]
    assert lines[5:] == ["['allow_in_graph', 'assume_constant_result']", "True", "False"]


def test_garbage_is_collected_again():
    assert run("import gc; print(gc.isenabled(), gc.get_freeze_count() > 100_000)") == "True True\n"


def test_where_all_is_imported_nothing_changes():
    code = "import sys, transformers.modeling_utils, torch._dynamo\nbefore = dict(sys.modules)\n"
    code += "from spsl_cli import lean_imports\nlean_imports.import_libraries()\n"
    code += "print([name for name in before if sys.modules[name] is not before[name]], type(torch._dynamo).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] module\n"


SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LONG = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],
    "long_factor": [2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7],
    "original_max_position_embeddings": 256,
}
CONFIGS = {
    "llama": LlamaConfig(**SIZES),
    "llama3": LlamaConfig(
        **SIZES,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 10000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 256,
        },
    ),
    "yarn": LlamaConfig(**SIZES, rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 2.0}),
    "qwen3": Qwen3Config(**SIZES, head_dim=16),
    "gemma3": Gemma3TextConfig(**SIZES, head_dim=16),
    "phi3, longrope": Phi3Config(**SIZES, rope_parameters=LONG),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_model_made_without_the_compiler_is_the_same_bit_for_bit(name, tmp_path, monkeypatch):
    folder = save_tiny(tmp_path / "words")
    torch.manual_seed(1)
    AutoModelForCausalLM.from_config(CONFIGS[name]).save_pretrained(folder)
    ours = load(resolve(str(folder)), device="cpu").model
    monkeypatch.setattr(loading, "without_compiler", lambda read: read())
    plain = load(resolve(str(folder)), device="cpu").model
    mine, stock = ({**dict(m.named_parameters()), **dict(m.named_buffers())} for m in (ours, plain))
    assert mine.keys() == stock.keys()
    for key, tensor in stock.items():
        assert mine[key].dtype == tensor.dtype, key
        assert torch.equal(mine[key], tensor), key
    ids = torch.arange(5, 45)[None]
    assert torch.equal(ours(ids).logits, plain(ids).logits)


def test_a_model_that_mixes_positions_with_weights_without_numbers_is_read_in_torchs_way():
    calls = []

    def read():
        calls.append(torch.arange(3, device=None).device.type)
        with torch.device("meta"):
            return torch.cat((torch.arange(3.0), torch.zeros(2)))

    assert loading.without_compiler(read).shape == (5,)
    assert len(calls) == 2


@pytest.mark.parametrize("error", [RuntimeError("out of luck"), ValueError("meta")])
def test_another_failure_is_told_at_once_and_torch_is_as_before(error):
    calls, before = [], (torch.arange, torch.nn.init.normal_)

    def read():
        calls.append(1)
        raise error

    with pytest.raises(type(error)):
        loading.without_compiler(read)
    assert calls == [1]
    assert (torch.arange, torch.nn.init.normal_) == before


@pytest.mark.parametrize("name", lean_imports._HOMES)
def test_a_name_at_home_elsewhere_is_the_one_that_transformers_gives(name):
    there = getattr(import_module(lean_imports._HOMES[name]), name)
    assert getattr(transformers, name) is there
