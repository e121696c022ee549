"""The GPU check, small and on the CPU: what it measures, what it leaves out, and its arithmetic by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types

import pytest
import torch
from transformers import DynamicCache

from spsl_cli.bench.gpu_check import cell, check, filled, main, shapes
from spsl_cli.bench.gpu_check.cell import Cell, controller_seconds
from spsl_cli.bench.gpu_check.eager import EagerStep
from spsl_cli.bench.gpu_check.filled import filled_cache, some_tokens
from spsl_cli.bench.gpu_check.floors import Bytes, best_speedup, fraction, tokens_a_round, verify_seconds
from spsl_cli.bench.gpu_check.targets import TARGETS, verdicts
from spsl_cli.bench.gpu_check.timing import Timing
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.graphs.suitability import choose_steps
from spsl_cli.decoding.target import TargetModel

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def target():
    return TargetModel(shapes.build(shapes.TINY, CPU, torch.float32))


def test_the_whole_check_small_on_the_cpu(capfd):
    assert main(["--tiny"]) == 0
    output = capfd.readouterr()
    *tables, line = output.out.splitlines()
    report = json.loads(line)
    assert report["schema"] == "spsl.gpu-check/1"
    assert [(found["length"], found["batch"]) for found in report["cells"]] == [(256, 1), (512, 1), (256, 2), (512, 2)]
    for found in report["cells"]:
        assert set(found["verify_s"]) == {"0", "4", "8", "16"}
        assert found["of_floor"]["ar"] == pytest.approx(
            (found["bytes"]["weights"] + found["bytes"]["kv"]) / report["bandwidth_bytes_per_s"] / found["ar_s"]
        )
        assert found["bytes"]["kv"] == found["length"] * found["batch"] * 2 * 2 * 2 * 32 * 4
        assert found["eager_hf_s"] > 0
        assert 1 <= found["speedup_0.95"]["k"] <= 16
    (left,) = report["left_out"]
    assert (left["weights"], left["reason"]) == ("4bit", "bitsandbytes' 4-bit kernels are for CUDA")
    assert any("milliseconds a step" in row for row in tables)
    assert "\x1b" not in output.out


def test_without_a_gpu_it_leaves_with_5_and_one_line(monkeypatch, capfd):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main([]) == 5
    output = capfd.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert "needs a CUDA device" in line
    assert "--tiny" in line


def test_a_wrong_kernel_is_exit_1(monkeypatch, capfd):
    wrong = {"kernel": "draft", "dtype": "float32", "shape": [1], "error": 0.5, "limit": 1e-5, "ok": False}
    monkeypatch.setattr(check, "check_kernels", lambda *_, **__: ([wrong], None))
    monkeypatch.setattr(check, "SMALL", check.Scale((), (), (), torch.float32, 1024))
    assert main(["--tiny"]) == 1
    assert "0 of 1 within their limit; wrong: draft float32 [1]: 5.0e-01" in capfd.readouterr().out


def test_what_there_is_no_time_for_is_named():
    report = check.run_check(CPU, tiny=True, seconds=0.0, tell=lambda _: None)
    assert report["cells"] == []
    assert {left["reason"] for left in report["left_out"]} >= {"no time was left"}


def test_what_does_not_fit_is_named(monkeypatch):
    monkeypatch.setattr(check, "free_memory", lambda _: 700_000)
    report = check.run_check(CPU, tiny=True, seconds=100.0, tell=lambda _: None)
    assert [found["length"] for found in report["cells"]] == [256]
    assert report["cells"][0]["eager_hf_s"] is None
    reasons = [left["reason"] for left in report["left_out"] if "GB" in left["reason"]]
    assert len(reasons) == 3


def test_a_cell_that_fails_takes_none_of_the_others_down(monkeypatch):
    measure = Cell.measure

    def fail(self, *arguments):
        if self.length == 256:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate\nmuch")
        return measure(self, *arguments)

    monkeypatch.setattr(Cell, "measure", fail)
    monkeypatch.setattr(check, "SMALL", check.Scale((shapes.TINY,), (256, 512), (1,), torch.float32, 1024))
    report = check.run_check(CPU, tiny=True, seconds=100.0, tell=lambda _: None)
    assert [found["length"] for found in report["cells"]] == [512]
    assert report["left_out"][0]["reason"] == "OutOfMemoryError: CUDA out of memory. Tried to allocate"


def test_a_filled_cache_is_one_that_a_run_could_have_left(target):
    config = DecodeConfig(budget=0.25)
    cache = filled_cache(target, 200, 2, config)
    assert cache.lengths == [200, 200]
    assert cache.sparse_sizes == [50, 50]
    for layer in cache.drafting_layers:
        assert layer.pending == {}
        assert all(store[:, :, :200].isfinite().all() for store in layer.dense)
        for sequence in range(2):
            scores = layer.importance.scores(sequence, 200)
            assert scores.sum(1) == pytest.approx(torch.full((2,), 2 * 10.3), rel=0.05)  # G * (1 - (15/16)^16) * 16
            view = layer.view.seen(sequence, 50).keys
            dense = layer.dense.keys[sequence, :, :200]
            same = (view[:, :, None] == dense[:, None]).all(-1)
            assert (same.sum(-1) == 1).all()


def test_the_eager_step_is_hugging_faces_own_forward_over_our_rows(target):
    cache = filled_cache(target, 60, 1, DecodeConfig())
    step = EagerStep(target, cache)
    seen = {}
    target.model.register_forward_hook(lambda *found: seen.update(logits=found[2].logits), with_kwargs=False)
    try:
        step()
        step()
    finally:
        target.model._forward_hooks.clear()
    expected = target.dense_forward(cache, some_tokens(target, 1, 1), (0,))
    torch.testing.assert_close(seen["logits"], expected, rtol=1e-4, atol=1e-5)
    assert step._cache.get_seq_length() == 60
    assert isinstance(step._cache, DynamicCache)
    assert target.model.config._attn_implementation == "sdpa"


def test_steps_of_fixed_shape_are_timed_where_there_are_some(target, monkeypatch):
    monkeypatch.setattr(cell, "choose_steps", lambda *given: choose_steps(*given, wanted=True))
    monkeypatch.setattr(cell, "timed", lambda work, *_: (work(), Timing(1.0, 0.5))[1])
    measured = Cell(target, 128, 2)
    found = measured.measure(1e9, None)
    assert measured._graphs() == {f"verify_{k}": 1.0 for k in (0, 4, 8, 16)} | {"draft": 1.0 / 8}
    assert found["graphs"] == "the model is on cpu"
    assert found["host_s"] == {"ar": 0.5, "draft": 0.5 / 8}
    assert measured.cache.lengths == [128, 128]


def test_kernels_are_compared_under_the_interpreter():
    code = (
        "import json, torch\n"
        "from spsl_cli.bench.gpu_check import kernels\n"
        "kernels.TINY = [(4, 2, 32, 2, 40)]\n"
        "print(json.dumps(kernels.check_kernels(torch.device('cpu'), tiny=True)))"
    )
    pytest.importorskip("triton", reason="Triton is not installed")
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    output = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    found, reason = json.loads(output.stdout)
    assert reason is None
    assert {each["kernel"] for each in found} == {
        "verify: output", "verify: log-sum-exp", "verify: mass", "mass", "draft", "top-K", "gather",
    }  # fmt: skip
    assert [each for each in found if not each["ok"]] == []


def test_4bit_weights_take_the_place_of_all_but_the_output(monkeypatch):
    """With a stand-in for bitsandbytes: which layers are replaced, and by what."""

    class Few(torch.nn.Module):
        def __init__(self, inputs, outputs, **options):
            super().__init__()
            self.made = (inputs, outputs, options["quant_type"])

    fake = types.SimpleNamespace(nn=types.SimpleNamespace(Linear4bit=Few, Params4bit=lambda data, **_: data.clone()))
    monkeypatch.setitem(sys.modules, "bitsandbytes", fake)
    model = shapes.build(shapes.TINY, CPU, torch.float32)
    shapes.to_4bit(model)
    made = [module.made for module in model.modules() if isinstance(module, Few)]
    assert len(made) == 2 * 7
    assert made[0] == (64, 128, "nf4")
    assert type(model.lm_head) is torch.nn.Linear


def test_why_there_is_no_4bit(monkeypatch):
    monkeypatch.setattr(shapes.importlib.util, "find_spec", lambda _: None)
    assert "spsl[gpu]" in shapes.why_not_4bit(torch.device("cuda"))
    monkeypatch.setattr(shapes.importlib.util, "find_spec", lambda _: "there")
    assert shapes.why_not_4bit(torch.device("cuda")) is None


def test_floors_by_hand():
    sizes = Bytes(weights=600, kv=400, view=50)
    assert (sizes.plain, sizes.draft, sizes.gather) == (1000, 650, 100)
    assert fraction(1000, bandwidth=100.0, seconds=20.0) == 0.5


def test_a_verify_between_two_measured_ones():
    measured = {0: 1.0, 4: 1.2, 8: 1.4, 16: 2.2}
    assert [verify_seconds(measured, k) for k in (0, 2, 4, 6, 8, 12, 16)] == pytest.approx(
        [1.0, 1.1, 1.2, 1.3, 1.4, 1.8, 2.2]
    )


def test_the_speedup_that_times_come_to():
    assert tokens_a_round(0.5, 2) == pytest.approx(1 + 0.5 + 0.25)
    free = dict.fromkeys((0, 4, 8, 16), 1.0)
    assert best_speedup(0.9, 1.0, 0.0, free).k == 16
    assert best_speedup(0.9, 1.0, 0.0, free).speedup == pytest.approx((1 - 0.9**17) / 0.1)
    dear = best_speedup(0.9, 1.0, 1.0, free)
    assert (dear.k, dear.speedup) == (1, pytest.approx(1.9 / 2))
    assert best_speedup(0.9, 1.0, 0.0, free, fixed=1.0).speedup == pytest.approx((1 - 0.9**17) / 0.2)


def test_targets_take_the_worst_cell():
    def one(**changes):
        cell = {
            "model": "m", "weights": "bfloat16", "length": 131_072, "batch": 1, "ar_s": 1.0, "refresh_s": 0.02,
            "verify_s": {"0": 1.0, "4": 1.1, "8": 1.15, "16": 1.5}, "launch_gap": 0.01,
            "of_floor": {"ar": 0.9, "draft": 0.8}, "speedup_0.95": {"k": 8, "over_ar": 1.5, "over_eager_hf": 6.0},
        }  # fmt: skip
        return cell | changes

    met = verdicts(
        [one(), one(length=65_536), one(weights="4bit", **{"speedup_0.95": {"over_ar": 2.5, "over_eager_hf": 9.0}})]
    )
    assert len(met) == len(TARGETS)
    assert all(each["met"] for each in met)
    missed = verdicts([one(), one(of_floor={"ar": 0.5, "draft": 0.8}, launch_gap=None)])
    assert {each["target"]: each["worst"] for each in missed if each["met"] is False} == {
        "AR, share of the bandwidth floor": 0.5
    }
    assert all(each["met"] is None for each in verdicts([]))


def test_the_controllers_share_is_told():
    assert 0 < controller_seconds(rounds=3) < 1
    assert filled.ROOM >= 17
