"""The memory plan against tensors that were really allocated, and against figures that a person can check by hand."""

from __future__ import annotations

import weakref
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import AutoConfig

from spsl_cli.answer import ModelFacts
from spsl_cli.decoding import sizes
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.sizes import LEAST_CHUNK, capacity, chunk_of_run, draft_sizes, held_mass_rows, prefill_chunk
from spsl_cli.model_shape import layer_shapes, prefill_workspace, refresh_workspace
from spsl_cli.models.memory import MemoryPlan, RunShape, longest_context, memory_plan
from spsl_cli.outlook import Outlook
from tests.models import random_prompt, tiny_model

GB = 10**9
REAL = {  # as published, with the numbers of their weights
    "Qwen3-4B": (
        "qwen3", 4_022_468_096,
        {"num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
         "hidden_size": 2560, "intermediate_size": 9728, "vocab_size": 151_936},
    ),
    "Llama-3.1-8B": (
        "llama", 8_030_261_248,
        {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
         "hidden_size": 4096, "intermediate_size": 14_336, "vocab_size": 128_256},
    ),
    "Qwen2.5-14B": (
        "qwen2", 14_770_033_664,
        {"num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8,
         "hidden_size": 5120, "intermediate_size": 13_824, "vocab_size": 152_064},
    ),
}  # fmt: skip


def outlook_for(config, weights, *, dtype="bfloat16", device="cuda:0", available=None, decoding=None, limit=131_072):
    return Outlook(
        source=SimpleNamespace(),
        config=config,
        facts=ModelFacts("m", "r", dtype, device, None),
        decoding=decoding or DecodeConfig(),
        weights=weights,
        context_length=limit,
        available=available,
    )


def real(name, **options):
    family, weights, sizes = REAL[name]
    config = AutoConfig.for_model(family, max_position_embeddings=131_072, **sizes)
    return outlook_for(config, 2 * weights, **options)


class Live(TorchDispatchMode):
    """Bytes of the tensors made within and still alive, at their height."""

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0
        self._seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **(kwargs or {}))
        given = {each.untyped_storage()._cdata for each in tree_leaves((args, kwargs)) if torch.is_tensor(each)}
        for tensor in tree_leaves(output):
            storage = tensor.untyped_storage() if torch.is_tensor(tensor) else None
            if storage is None or storage._cdata in self._seen | given:
                continue
            self._seen.add(storage._cdata)
            self.now += storage.nbytes()
            weakref.finalize(storage, self._gone, storage._cdata, storage.nbytes())
        self.peak = max(self.peak, self.now)
        return output

    def _gone(self, key, size):
        self._seen.discard(key)
        self.now -= size


def stored(tensors):
    """Bytes of their storages, each once."""
    return sum({each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in tensors}.values())


def held_by(run):
    """What a run's cache holds, by the plan's names."""
    layers, drafting = run.cache.layers, run.cache.drafting_layers
    waiting = [queries for layer in layers for part in (layer.kept, layer.pending) for queries in part.values()]
    waiting += [seed for seeds in run._seeds for seed in seeds]
    tensors = [part for queries in waiting for part in (queries.query, queries.lse, queries.mass) if part is not None]
    views = [part for layer in drafting for part in (*layer.view.rows, layer.view._positions) if part is not None]
    dense = stored(part for layer in layers for part in layer.dense)
    return {
        "dense": dense,
        "draft_view": stored(views),
        "importance": stored(layer.importance.total for layer in drafting),
        "waiting": stored(tensors),
    }


SHAPES = {  # groups, widths and head norms as in the models above, a sixteenth to a thirty-second of the size
    "Qwen3-4B": ("qwen3", {"hidden_size": 160, "intermediate_size": 608, "num_attention_heads": 8,
                           "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 4096}),
    "Llama-3.1-8B": ("llama", {"hidden_size": 256, "intermediate_size": 896, "num_attention_heads": 8,
                               "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 4096}),
    "Qwen2.5-14B": ("qwen2", {"hidden_size": 320, "intermediate_size": 864, "num_attention_heads": 10,
                              "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 4096}),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", SHAPES)
def test_plans_are_within_5_percent_of_what_is_allocated(name, dtype):
    family, sizes = SHAPES[name]
    kind = getattr(torch, dtype)
    model = tiny_model(family, dtype=kind, num_hidden_layers=3, **sizes)
    config = DecodeConfig(k=8, controller="fixed", prefill_chunk=128)
    run = SparseSpecDecoder(model, config, pack="off").prepare(random_prompt(500), max_new_tokens=12)
    with Live() as live:
        for _ in run.prefill():
            pass
    for _ in run.decode():
        pass
    weights = stored(model.parameters())
    plan = outlook_for(model.config, weights, dtype=dtype, device="cpu", decoding=config).plan(512)
    held = held_by(run)
    position = held["dense"] // capacity(512)
    assert plan.kv == position * 512
    assert plan.importance == held["importance"]
    assert plan.draft_view == pytest.approx(held["draft_view"], rel=0.02)  # the native kernels' 8 bytes a slot
    assert plan.pending - position * 32 >= held["waiting"] * 0.9
    workspace = live.peak - held["dense"]
    assert plan.workspace == pytest.approx(workspace, rel=0.3)
    allocated = weights + sum(held.values()) + workspace
    assert plan.total == pytest.approx(allocated, rel=0.05)


@pytest.mark.parametrize("importance", ["decayed", "window"])
@pytest.mark.parametrize("index", ["sparsespec-l", "per-query-head", "streaming", "snapkv", "h2o", "pyramidkv"])
def test_view_and_importance_of_every_index(index, importance):
    model = tiny_model("qwen3")
    config = DecodeConfig(k=4, index=index, importance=importance, refresh_every=2)
    run = SparseSpecDecoder(model, config, pack="off").prepare(random_prompt(300), max_new_tokens=12)
    for _ in run.prefill():
        pass
    for _ in run.decode():
        pass
    plan = outlook_for(model.config, 0, dtype="float32", device="cpu", decoding=config).plan(312)
    drafting = run.cache.drafting_layers
    rows = stored(part for layer in drafting for part in layer.view.rows)
    held = [part for layer in drafting if layer._importance is not None for part in vars(layer.importance).values()]
    slots = draft_sizes(config, capacity(312), 3).slots
    heads = 6 if index == "per-query-head" else 2
    assert plan.draft_view == rows + 3 * heads * slots * 8
    assert plan.importance == stored(part for part in held if torch.is_tensor(part))


def test_layers_with_a_window_take_nothing_for_drafts():
    kinds = ["full_attention", "sliding_attention"] * 2
    sizes = {"num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2}
    both = AutoConfig.for_model("qwen3", layer_types=kinds, sliding_window=64, max_window_layers=0, **sizes)
    full = AutoConfig.for_model("qwen3", **sizes)
    run = RunShape(1000, slots=132, importance_bytes=4)
    plan, whole = (memory_plan(layer_shapes(config), 0, 4, run) for config in (both, full))
    assert plan.kv == whole.kv
    assert 2 * plan.draft_view == whole.draft_view
    assert 2 * plan.importance == whole.importance


def test_a_plan_of_llama_by_hand():
    plan = real("Llama-3.1-8B").plan(65_536)
    position = 32 * 2 * 8 * 128 * 2
    assert plan.weights == 16_060_522_496
    assert plan.kv == position * 65_536
    # a tenth of 65,536 positions and 32 spare ones, rounded up; room for two drafts, and for what joins a view
    assert plan.draft_view == position * (6_557 + 2 * 16 + 64)
    assert plan.importance == 32 * 8 * 4 * (65_536 + 32)
    queries = 32 * 32 * (128 * 2 + 4)
    assert plan.pending == 32 * position + 2 * 16 * queries + 9 * 32 * 8 * 4 * 65_536
    assert plan.total == sum(getattr(plan, part) for part in ("weights", "kv", "draft_view", "importance")) + (
        plan.pending + plan.workspace
    )


# What fits, with a twentieth for the allocator: by the arithmetic of the test above, scores not being held.
FITS = {
    "Qwen3-4B": {24: (True, True, False), 48: (True, True, True), 80: (True,) * 3, 141: (True,) * 3},
    "Llama-3.1-8B": {24: (True, False, False), 48: (True, True, True), 80: (True,) * 3, 141: (True,) * 3},
    "Qwen2.5-14B": {24: (False,) * 3, 48: (True, True, False), 80: (True,) * 3, 141: (True,) * 3},
}


@pytest.mark.parametrize("gigabytes", [24, 48, 80, 141])
@pytest.mark.parametrize("name", REAL)
def test_what_fits_on_real_cards(name, gigabytes, monkeypatch):
    monkeypatch.setattr("spsl_cli.decoding.sizes.is_fused", lambda *_: True)
    outlook = real(name, available=gigabytes * GB)
    found = tuple(outlook.plan(length).fits(gigabytes * GB) for length in (32_768, 65_536, 131_072))
    longest = outlook.longest_context
    assert found == FITS[name][gigabytes]
    assert [longest >= length for length in (32_768, 65_536, 131_072)] == list(found)
    if 0 < longest < 131_072:
        assert outlook.plan(longest).fits(gigabytes * GB)
        assert not outlook.plan(longest + 1).fits(gigabytes * GB)


def test_the_longest_context_is_found_exactly():
    def plan_at(tokens):
        return MemoryPlan(tokens, weights=1000, kv=10 * tokens, draft_view=0, importance=0)

    assert longest_context(plan_at, 2100, 10_000) == 100  # (1000 + 10 n) * 1.05 <= 2100
    assert longest_context(plan_at, 2099, 10_000) == 99
    assert longest_context(plan_at, 10**9, 77) == 77
    assert longest_context(plan_at, 1000, 77) == 0


@pytest.mark.parametrize(
    ("device", "free", "chunk"),
    [
        ("cuda", None, 2048), ("cuda", 10**6, 2048), ("cuda", 2047, 1024), ("cuda", 500, 256), ("cuda", -5, 64),
        ("cpu", None, 512), ("cpu", 10**6, 512), ("cpu", 300, 256), ("cpu", 1, LEAST_CHUNK),
    ],
)  # fmt: skip
def test_a_chunk_is_halved_until_its_workspace_fits(device, free, chunk):
    assert prefill_chunk(device, free, lambda tokens: tokens) == chunk


def test_a_chunk_that_the_user_named_stays():
    outlook = real("Qwen3-4B", available=1, decoding=DecodeConfig(prefill_chunk=777))
    assert outlook.chunk(100_000) == 777


def test_attention_that_holds_scores_makes_chunks_smaller(monkeypatch):
    monkeypatch.setattr("spsl_cli.decoding.sizes.is_fused", lambda *_: False)
    family, _, sizes = REAL["Llama-3.1-8B"]
    config = AutoConfig.for_model(family, **sizes)
    fused = prefill_workspace(config, layer_shapes(config), 2, 2048, 131_072, fused=True)
    written_out = prefill_workspace(config, layer_shapes(config), 2, 2048, 131_072, fused=False)
    assert written_out - fused == 32 * 2048 * 131_072 * 12
    outlook = real("Llama-3.1-8B", available=48 * GB)
    assert LEAST_CHUNK <= outlook.chunk(131_072) < outlook.chunk(8_192)


def test_no_speculation_takes_no_buffers_for_it():
    plan = real("Qwen3-4B", decoding=DecodeConfig(speculation=False)).plan(10_000)
    assert plan.draft_view == plan.importance == 0
    assert plan.pending == 32 * 147_456


def test_mass_is_held_where_it_is_wanted_soon():
    auto = DecodeConfig()
    assert held_mass_rows(auto) == 9
    assert held_mass_rows(replace(auto, k=4)) == 5
    assert held_mass_rows(replace(auto, k=16)) == held_mass_rows(replace(auto, refresh_every=2)) == 0
    assert held_mass_rows(replace(auto, index="streaming")) == held_mass_rows(replace(auto, index="snapkv")) == 0


def test_a_refresh_needs_scores_of_eight_queries_at_most():
    config = AutoConfig.for_model("llama", num_attention_heads=4, num_key_value_heads=2, hidden_size=64)
    assert refresh_workspace(layer_shapes(config), 1000, 0) == 0
    assert refresh_workspace(layer_shapes(config), 1000, 16) == 4 * 1000 * (2 * 8 * 4 + 16 * 2)


@pytest.mark.parametrize("gigabytes", [24, 48, 80])
def test_a_run_takes_the_chunk_that_was_planned(monkeypatch, gigabytes):
    """Within one halving: the weights are loaded by then, and a twentieth is left of what is free behind them."""
    outlook = real("Llama-3.1-8B", available=gigabytes * GB)
    monkeypatch.setattr(sizes, "available_memory", lambda _: gigabytes * GB - outlook.weights)
    for length in (8_192, 32_768, 65_536):
        found = chunk_of_run(DecodeConfig(), outlook.config, 2, "cuda:0", capacity(length), 1)
        assert found in (outlook.chunk(length), 2 * outlook.chunk(length))
    assert chunk_of_run(DecodeConfig(prefill_chunk=99), outlook.config, 2, "cuda:0", 1000, 1) == 99
