"""The Triton kernels against float64 and against their twins in torch, without a GPU: interpreted, and compiled only.

Whether Triton interprets is settled when it is imported, which transformers does. So the tests proper are functions
named `case_`, run by a pytest in a process of its own: interpreted on the CPU; and compiled, where there is a GPU.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch

from spsl_cli.decoding import attention, kernels
from spsl_cli.decoding.kernels import launch

DEVICE = torch.device("cpu" if launch.interpreted() or not torch.cuda.is_available() else "cuda")
TOLERANCE = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
F32, F16, BF16 = TOLERANCE
ATTENTION = [  # query heads, KV heads, head size, keys, rows, window, softcap, type
    (6, 2, 8, 1, 1, None, None, F32), (4, 4, 40, 37, 1, None, None, F32), (2, 1, 64, 130, 5, None, 20.0, F32),
    (6, 2, 32, 65, 4, 7, None, F32), (4, 1, 24, 9, 9, None, None, F32), (10, 2, 80, 100, 3, 1, None, F16),
    (6, 1, 256, 40, 6, None, None, F32), (7, 1, 128, 97, 2, 300, None, BF16), (8, 1, 16, 260, 16, None, None, F32),
    (16, 2, 64, 150, 2, None, None, BF16), (2, 2, 72, 33, 20, 12, 5.0, F32), (4, 2, 96, 50, 1, 20, None, BF16),
    (3, 1, 128, 80, 7, None, 30.0, F16), (5, 1, 8, 129, 1, None, None, F32),
]  # fmt: skip
DRAFT = [  # query heads, KV heads, heads of the index, head size, positions, own rows, rows, type
    (6, 2, 2, 16, 70, 1, 1, F32), (6, 2, 6, 40, 100, 4, 1, F32), (8, 1, 1, 64, 65, 5, 3, BF16),
    (4, 1, 1, 128, 0, 2, 2, F32), (5, 1, 1, 32, 1, 1, 1, F16), (4, 2, 2, 8, 33, 17, 17, F32),
]  # fmt: skip

_SET_UP: set[str] = set()
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")


def run_cases(prefix, **environment):
    """Run the functions of this file with such a prefix by a pytest of their own."""
    options = ("-q", "--noconftest", "-p", "no:cacheprovider", "-o", f"python_functions={prefix}_")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, __file__],
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@needs_triton
def test_interpreted():
    run_cases("case", TRITON_INTERPRET="1", CUDA_VISIBLE_DEVICES="")


@needs_triton
def test_compiled_for_a_gpu_that_is_not_there(tmp_path):
    run_cases("compile", TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path))


@needs_triton
@pytest.mark.skipif(launch.no_kernels(torch.device("cuda")) is not None, reason="no GPU of Ampere's age or newer")
def test_on_this_gpu():
    run_cases("case", TRITON_INTERPRET="0", CUBLAS_WORKSPACE_CONFIG=":4096:8")  # what determinism asks for


def test_importing_the_package_does_not_import_triton():
    code = "import sys, spsl_cli.decoding.kernels; print('triton' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"False"


@needs_triton
def test_which_tensors_suit(monkeypatch):
    rows = torch.zeros(2, 3, 64)
    assert "CUDA" in kernels.unsuitable(rows)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert kernels.suits(rows, rows, rows)
    assert kernels.suits(rows.bfloat16(), rows.bfloat16())
    for others, reason in (
        ([rows.double()], "float32"),
        ([rows, rows.half()], "one type"),
        ([rows, torch.zeros(2, 3, 64, device="meta")], "different devices"),
        ([torch.zeros(2, 3, 20)], "multiple of 8"),
        ([torch.zeros(2, 3, 264)], "256"),
        ([rows, torch.zeros(2, 3, 32)], "one head size"),
        ([rows, torch.zeros(2, 64, 3).transpose(1, 2)[..., :64].expand(2, 3, 64).mT.contiguous().mT], "gaps"),
    ):
        assert reason in kernels.unsuitable(*others)
    monkeypatch.setenv("SPSL_TRITON", "off")
    assert "SPSL_TRITON" in kernels.unsuitable(rows)


def test_old_gpus_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (7, 5))
    monkeypatch.setattr(torch.version, "hip", None)
    launch._no_kernels_on_gpu.cache_clear()
    try:
        assert "7.5" in launch.no_kernels(torch.device("cuda", 0))
    finally:
        launch._no_kernels_on_gpu.cache_clear()


def test_tiles_fit_into_the_shared_memory_of_any_ampere():
    """Queries, and two stages of keys and values: under the 99 KB that the smallest has."""
    for size in range(8, 257, 8):
        for item in (2, 4):
            for rows in (1, 4, 36, 256):
                cut = launch.tile(rows, size, item)
                assert min(cut.rows, cut.keys, cut.size) >= 16  # what a product takes
                assert cut.size >= size
                assert (cut.rows + 2 * cut.stages * cut.keys) * cut.size * item <= 99 * 1024


@pytest.fixture
def poisoned(monkeypatch):
    """Memory that nothing was written to holds NaN; and the interpreter is not set up anew for every helper."""
    if launch.interpreted():
        from triton.runtime.interpreter import InterpretedFunction  # noqa: PLC0415 settles whether it interprets

        call = InterpretedFunction.__call__

        def called(self, *args, **named):
            if self.fn.__module__ in _SET_UP:
                return self.rewrite()(*args, **named)
            _SET_UP.add(self.fn.__module__)
            return call(self, *args, **named)

        monkeypatch.setattr(InterpretedFunction, "__call__", called)
    torch.use_deterministic_algorithms(mode=True)  # which also fills what `empty` gives
    assert torch.empty(3, device=DEVICE).isnan().all()
    assert torch.zeros(1, device=DEVICE).new_empty(3).isnan().all()
    yield
    torch.use_deterministic_algorithms(mode=False)


def drawn(*shape, dtype=F32, scale=1.0):
    return (torch.randn(*shape, device=DEVICE) * scale).to(dtype)


def stored(kv_heads, count, size, dtype):
    """Keys and values as rows of larger stores; what lies behind them is poison."""
    store = torch.full((2, kv_heads, count + 9, size), float("nan"), dtype=dtype, device=DEVICE)
    store[:, :, :count] = drawn(2, kv_heads, count, size, dtype=dtype, scale=2)
    return store


def in_float64(query, keys, values, *, window=None, softcap=None, beyond=0):
    """Output and log-sum-exp by torch."""
    groups, scale = query.shape[0] // keys.shape[0], query.shape[-1] ** -0.5
    mask = attention.band_mask(query.shape[1], keys.shape[1], window, groups, torch.float64, DEVICE, beyond=beyond)
    scores = torch.bmm(attention.pack(query, len(keys)).double(), keys.double().mT) * scale
    scores = attention.capped(scores, softcap) + mask
    lse = scores.logsumexp(-1)
    weights = (scores - lse[..., None]).exp()
    output = attention.unpack(torch.bmm(weights, values.double()), query.shape[1])
    return output, lse.view(len(keys), groups, -1), weights.view(len(keys), groups, query.shape[1], -1)


def close(found, wanted, dtype=F32):
    """Nothing is NaN, and no number is further off than the tolerance of the type allows, relative to the largest."""
    assert found.shape == wanted.shape
    error = (found.double() - wanted.double()).abs().max()
    assert error <= TOLERANCE[dtype] * wanted.abs().max().clamp_min(1), float(error)


@pytest.mark.parametrize("shape", ATTENTION, ids=str)
def case_attention(shape, poisoned, monkeypatch):
    """Output, log-sum-exp and mass of all rows, out of more splits than there are tiles for."""
    from spsl_cli.decoding.kernels import verify  # noqa: PLC0415 after the environment is settled

    heads, kv_heads, size, count, rows, window, softcap, dtype = shape
    monkeypatch.setattr(verify, "splits", lambda *_: 3)
    torch.manual_seed(count)
    query = drawn(rows, heads, size, dtype=dtype, scale=2).transpose(0, 1)
    keys, values = stored(kv_heads, count, size, dtype)[:, :, :count].unbind(0)
    want, want_lse, weights = in_float64(query, keys, values, window=window, softcap=softcap)
    per_query_head = bool(rows % 2)
    mass = torch.full((rows, heads if per_query_head else kv_heads, count), float("nan"), device=DEVICE)
    output, lse = kernels.attend_few(query, keys, values, size**-0.5, window=window, softcap=softcap, mass=mass)
    close(output, want, dtype)
    close(lse, want_lse)
    weights = weights.flatten(0, 1) if per_query_head else weights.sum(1)
    close(mass, weights.transpose(0, 1), dtype)
    assert (mass[weights.transpose(0, 1) == 0] == 0).all()  # of keys that a row does not see
    assert output.dtype is dtype


@pytest.mark.parametrize("shape", [s for s in ATTENTION if s[5] is None][::2], ids=str)
def case_mass_afterwards(shape, poisoned):
    heads, kv_heads, size, count, rows, _, softcap, dtype = shape
    per_query_head = bool(size % 3)
    query, store = drawn(heads, rows, size, dtype=dtype, scale=2), stored(kv_heads, count, size, dtype)
    keys = store[0, :, :count]
    _, lse, _ = in_float64(query, keys, keys, softcap=softcap)
    options = {"softcap": softcap, "per_query_head": per_query_head}
    want = attention.attention_mass(query.double(), lse, keys.double(), size**-0.5, **options)
    close(kernels.attention_mass(query, lse.float(), keys, size**-0.5, **options), want)
    length = torch.tensor([count], dtype=torch.int32, device=DEVICE)
    mass = kernels.attention_mass(query, lse.float(), store[0], size**-0.5, length=length, **options)
    close(mass[..., :count], want)
    assert (mass[..., count:] == 0).all()


@pytest.mark.parametrize(("window", "beyond"), [(None, 0), (11, 0), (None, 6)])
def case_length_on_the_device(window, beyond, poisoned):
    """As on the rows in sight, though the launch is that for the whole store; of the rows behind nothing is read."""
    store, query = stored(2, 70, 16, F32), drawn(4, 3, 16, scale=2)
    keys, values = store[:, :, :70].unbind(0)
    want, want_lse, weights = in_float64(query, keys, values, window=window, beyond=beyond)
    mass = torch.full((3, 2, 79), float("nan"), device=DEVICE)
    length = torch.tensor([70], dtype=torch.int32, device=DEVICE)
    options = {"window": window, "beyond": beyond, "mass": mass}
    output, lse = kernels.attend_few(query, store[0], store[1], 0.25, length=length, **options)
    close(output, want)
    close(lse, want_lse)
    close(mass[..., :70], weights.sum(1).transpose(0, 1))
    assert (mass[..., 70 - beyond :] == 0).all()


def case_rows_that_see_nothing(poisoned):
    """Four queries of which two stand before the first key: 0, -inf and no mass, and the others are not disturbed."""
    store, query = stored(2, 5, 16, F32), drawn(4, 4, 16)
    keys, values = store[:, :, :5].unbind(0)
    mass = torch.full((4, 2, 5), float("nan"), device=DEVICE)
    output, lse = kernels.attend_few(query, keys, values, 0.25, beyond=3, mass=mass)
    assert (output[:2] == 0).all()
    assert (lse[..., :2] == float("-inf")).all()
    assert (mass[:2] == 0).all()
    want, want_lse, weights = in_float64(query[:, 2:], keys[:, :2], values[:, :2])
    close(output[2:], want)
    close(lse[..., 2:], want_lse)
    close(mass[2:, :, :2], weights.sum(1).transpose(0, 1))


def case_sinks(poisoned):
    """A score for attending to nothing enters through the log-sum-exp, into the output and into the mass."""
    store, query, sinks = stored(2, 40, 32, F32), drawn(6, 3, 32), drawn(6)
    keys, values = store[:, :, :40].unbind(0)
    output, lse = attention.with_sinks(*kernels.attend_few(query, keys, values, 0.2), sinks)
    packed = attention.pack(query, 2).double()
    scores = torch.bmm(packed, keys.double().mT) * 0.2 + attention.band_mask(3, 40, None, 3, torch.float64, DEVICE)
    scores = torch.cat((scores, sinks.double().view(2, 3, 1).expand(2, 3, 3).reshape(2, 9, 1)), 2)
    weights = scores.softmax(-1)[..., :-1]
    close(output, attention.unpack(torch.bmm(weights, values.double()), 3))
    close(kernels.attention_mass(query, lse, keys, 0.2), weights.view(2, 3, 3, 40).sum(1).transpose(0, 1))


@pytest.mark.parametrize("shape", DRAFT, ids=str)
def case_draft_in_place(shape, poisoned):
    heads, kv_heads, indexes, size, count, written, rows, dtype = shape
    torch.manual_seed(count)
    dense, own = stored(kv_heads, 110, size, dtype), stored(kv_heads, written, size, dtype)
    positions = torch.stack([torch.randperm(110, device=DEVICE)[:count] for _ in range(indexes)])
    query, share = drawn(heads, rows, size, dtype=dtype, scale=2), indexes // kv_heads
    read = [[torch.cat((dense[s, h // share][positions[h]], own[s, h // share, :written])) for h in range(indexes)]
            for s in (0, 1)]  # fmt: skip
    want, want_lse, _ = in_float64(query, *map(torch.stack, read))
    mine = own[:, :, :written]
    output, lse = kernels.attend_at(query, (dense[0], dense[1]), positions.int(), (mine[0], mine[1]), size**-0.5)
    close(output, want, dtype)
    close(lse, want_lse)
    padded = torch.nn.functional.pad(positions, (0, 5), value=1 << 40)  # nothing is read there
    lengths = [torch.tensor([n], dtype=torch.int32, device=DEVICE) for n in (count, written)]
    options = {"length": lengths[0], "own_length": lengths[1]}
    output, lse = kernels.attend_at(query, (dense[0], dense[1]), padded, (own[0], own[1]), size**-0.5, **options)
    close(output, want, dtype)
    close(lse, want_lse)


def case_gathering_copies_what_is_new(poisoned):
    """The view holds the rows of the index and of nothing else, and a row that was there is not written again."""
    capacity, dense = 150, (drawn(2, 150, 24), drawn(2, 150, 24))
    view = tuple(torch.full((90, 4, 24), float("nan"), device=DEVICE) for _ in dense)
    held, before = torch.full((4, 90), 1 << 40, device=DEVICE), 0
    torch.manual_seed(1)
    for count in (60, 60, 90, 7, 0, 40, 1):
        positions = torch.stack([torch.randperm(capacity, device=DEVICE)[:count] for _ in range(4)])
        was = held[:, :before].clone()
        for store in view:
            store[:before] = -7.0  # stands for the row that is there
        kernels.gather(dense, view, positions, held, before)
        for head in range(4):
            now = held[head, :count]
            assert torch.equal(now.sort().values, positions[head].sort().values)
            stayed = torch.zeros(count, dtype=torch.bool, device=DEVICE)
            common = min(count, before)
            stayed[:common] = now[:common] == was[head, :common]
            assert set(was[head, :common].tolist()) & set(now.tolist()) == set(now[stayed].tolist())
            for rows, store in zip(dense, view, strict=True):
                assert torch.equal(store[:count, head][~stayed], rows[head // 2, now[~stayed]])
                assert (store[:count, head][stayed] == -7.0).all()
        for rows, store in zip(dense, view, strict=True):  # as it is without the stand-ins
            store[:count] = torch.stack([rows[head // 2, held[head, :count]] for head in range(4)], 1)
        before = count


@pytest.mark.parametrize(("size", "count"), [(1, 1), (4500, 700), (4097, 4097), (300, 7), (300, 0), (4096, 4095)])
def case_largest(size, count, poisoned):
    """Exactly the largest, with ties across the border, infinities, both zeros, denormals and equal rows."""
    torch.manual_seed(size)
    scores = drawn(6, size).mul_(1e-3)
    scores[1] = torch.randint(0, 3, (size,), device=DEVICE)
    scores[2, : size // 2] = float("-inf")
    scores[3] = -scores[3].exp() * 1e-42
    scores[4] = 0.0
    scores[4, ::2] = -0.0
    scores[5, :3] = float("inf")
    positions = kernels.largest(scores, count, offset=10) - 10
    assert (positions[:, 1:] > positions[:, :-1]).all()
    assert ((positions >= 0) & (positions < size)).all()
    found, wanted = scores.gather(1, positions), scores.topk(count, 1).values
    assert torch.equal(found.sort(1).values, wanted.sort(1).values)


def case_largest_of_a_length_on_the_device(poisoned):
    scores = drawn(3, 500)
    scores[:, 400:] = float("nan")
    out = torch.full((3, 90), -1, dtype=torch.int32, device=DEVICE)
    kernels.largest(scores[:, 4:], 80, out[:, 5:85], 4, length=torch.tensor([396], dtype=torch.int32, device=DEVICE))
    assert torch.equal(out[:, 5:85].long(), scores[:, 4:400].topk(80, 1).indices.sort(1).values + 4)
    assert (out[:, :5] == -1).all()
    assert (out[:, 85:] == -1).all()


def _counted(function, called):
    def counted(*args, **options):
        called.append(function.__name__)
        return function(*args, **options)

    return counted


@pytest.mark.parametrize(("index", "family"), [("sparsespec-l", "llama"), ("per-query-head", "qwen3")])
def case_decoder(index, family, poisoned, monkeypatch):
    """Verify, draft, mass, selection and gathering by the kernels: the tokens are those of their twins."""
    from spsl_cli import SparseSpecDecoder  # noqa: PLC0415 seconds
    from spsl_cli.decoding import engine  # noqa: PLC0415
    from spsl_cli.decoding.kernels import gathering, mass, topk, verify  # noqa: PLC0415
    from spsl_cli.native.library import native_library  # noqa: PLC0415
    from tests.models import draft_config, random_prompt, tiny_model  # noqa: PLC0415

    monkeypatch.setattr(engine, "PLAIN_STEPS", 0)
    monkeypatch.setenv("SPSL_NATIVE", "off")
    native_library.cache_clear()
    called = []
    for module, name in ((verify, "attend_few"), (mass, "attention_mass"), (topk, "largest"), (gathering, "gather")):
        monkeypatch.setattr(module, name, _counted(getattr(module, name), called))
    model = tiny_model(family, num_hidden_layers=2).to(DEVICE)
    decoder = SparseSpecDecoder(model, draft_config(k=2, index=index, budget=24, lookup=False))
    prompt = random_prompt(90)
    result = decoder.decode(prompt, max_new_tokens=5)
    assert set(called) == {"attend_few", "attention_mass", "largest", "gather"}
    assert result.stats.rounds > 0
    monkeypatch.setenv("SPSL_TRITON", "off")
    called.clear()
    assert decoder.decode(prompt, max_new_tokens=5).token_ids == result.token_ids
    assert not called


def compile_every_kernel(monkeypatch):
    """What the interpreter takes the compiler may refuse: each kernel becomes code for an A100, with no GPU at hand."""
    import triton  # noqa: PLC0415
    from triton.backends.compiler import GPUTarget  # noqa: PLC0415

    class Absent:
        def get_current_device(self):
            return 0

        def get_current_stream(self, _):
            return 0

        def get_current_target(self):
            return GPUTarget("cuda", 80, 32)

    compiled, run = {}, triton.JITFunction.run

    def only_compile(self, *args, grid, warmup, **options):
        compiled[self.__name__] = run(self, *args, grid=grid, warmup=True, **options)

    triton.runtime.driver.set_active(Absent())
    monkeypatch.setattr(triton.JITFunction, "run", only_compile)
    query, store = torch.zeros(8, 3, 64, dtype=BF16), torch.zeros(2, 2, 500, 64, dtype=BF16)
    length = torch.zeros(1, dtype=torch.int32)
    kernels.attend_few(query, *store, 0.1, window=9, softcap=5.0, mass=torch.zeros(3, 2, 500), length=length)
    kernels.attention_mass(query, torch.zeros(2, 4, 3), store[0], 0.1)
    kernels.attend_at(query, tuple(store), torch.zeros(2, 90, dtype=torch.int64), tuple(store), 0.1)
    kernels.gather(tuple(store), tuple(store.transpose(1, 2)), *torch.zeros(2, 2, 90, dtype=torch.int64), 0)
    kernels.largest(torch.zeros(2, 500), 90)
    assert len(compiled) == 8
    assert all(kernel.metadata.shared <= 99 * 1024 for kernel in compiled.values())
    assert "bar.sync" in compiled["assign_kernel"].asm["ptx"]
