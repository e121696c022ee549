"""The native kernels against float64, against their twins in torch, and without the compiler they need."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import torch

from spsl_cli import SparseSpecDecoder
from spsl_cli.decoding import attention
from spsl_cli.decoding.config import INDEXES, DecodeConfig
from spsl_cli.native import kernels, library
from spsl_cli.native.library import native_library
from tests.models import draft_config, tiny_model

GCC = shutil.which("gcc")
PROMPT = [(5 * i * i + i) % 60 + 1 for i in range(300)]
SHAPES = [  # query heads, KV heads, head size, keys, rows
    (6, 2, 8, 1, 1), (6, 2, 8, 5, 4), (9, 3, 64, 700, 5), (8, 8, 40, 37, 1), (8, 2, 128, 1030, 3), (4, 1, 24, 9, 9),
    (7, 1, 64, 256, 2), (4, 2, 16, 257, 17), (14, 2, 64, 511, 1), (16, 2, 32, 513, 32), (2, 1, 256, 300, 6),
]  # fmt: skip

pytestmark = pytest.mark.skipif(native_library().functions is None, reason="no C compiler")


@pytest.fixture
def fresh_library(monkeypatch):
    """Looked for anew in this test, and again after it."""
    native_library.cache_clear()
    yield
    native_library.cache_clear()


def tensors(heads, kv_heads, size, keys, rows, poison=0):
    """Queries, keys and values as rows of larger stores; what lies around them is poison."""
    torch.manual_seed(heads * 1000 + keys + rows)
    store = torch.full((2, kv_heads, keys + 5, size), float("nan"))
    store[:, :, :keys] = torch.randn(2, kv_heads, keys, size) * 2
    query = torch.randn(heads, rows, size) * 2
    return query, store[0, :, : keys + poison], store[1, :, : keys + poison]


def in_float64(query, keys, values, window=None):
    """Output and log-sum-exp by torch."""
    groups, scale = query.shape[0] // keys.shape[0], query.shape[-1] ** -0.5
    mask = attention.band_mask(query.shape[1], keys.shape[1], window, groups, torch.float64, keys.device)
    return attention.attend_few(query.double(), keys.double(), values.double(), scale, mask)


@pytest.mark.parametrize("window", [None, 1, 7, 300])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_attention_against_float64(shape, window):
    query, k, v = tensors(*shape)
    want, want_lse = in_float64(query, k, v, window)
    output, lse = kernels.attend_few(query, k, v, query.shape[-1] ** -0.5, window=window)
    assert (output - want).abs().max() < 1e-5 * want.abs().max()
    assert (lse - want_lse).abs().max() < 1e-5 * want_lse.abs().max().clamp_min(1)


@pytest.mark.parametrize("per_query_head", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_mass_against_float64(shape, per_query_head):
    query, k, v = tensors(*shape)
    _, lse = in_float64(query, k, v)
    scale = query.shape[-1] ** -0.5
    want = attention.attention_mass(query.double(), lse, k.double(), scale, per_query_head=per_query_head)
    mass = kernels.attention_mass(query, lse.float(), k, scale, per_query_head=per_query_head)
    assert mass.shape == want.shape
    assert (mass - want).abs().max() < 2e-5
    assert (mass[want == 0] == 0).all()  # of keys behind the query


@pytest.mark.parametrize("per_query_head", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_mass_out_of_the_attention_itself(shape, per_query_head):
    """The same attention, bit for bit, and the mass that its weights are."""
    query, k, v = tensors(*shape)
    (heads, rows, _), scale = query.shape, query.shape[-1] ** -0.5
    _, lse = in_float64(query, k, v)
    want = attention.attention_mass(query.double(), lse, k.double(), scale, per_query_head=per_query_head)
    mass = torch.full((rows, heads if per_query_head else k.shape[0], k.shape[1]), float("nan"))
    output, lse = kernels.attend_few(query, k, v, scale, mass=mass)
    assert mass.shape == want.shape
    assert (mass - want).abs().max() < 2e-5
    assert (mass[want == 0] == 0).all()
    alone, own = kernels.attend_few(query, k, v, scale)
    assert torch.equal(output, alone)
    assert torch.equal(lse, own)


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_keys_beyond_the_queries_are_not_seen_whatever_they_hold(rows):
    query, k, v = tensors(6, 2, 64, 300, rows, poison=5)
    k[:, 300:], v[:, 300:] = 1e4, 1e9
    seen, seen_lse = kernels.attend_few(query, k[:, :300], v[:, :300], 0.125)
    output, lse = kernels.attend_few(query, k, v, 0.125, beyond=5)
    assert torch.equal(output, seen)
    assert torch.equal(lse, seen_lse)


def test_very_unequal_scores():
    query, k, v = torch.ones(1, 1, 8), torch.ones(1, 600, 8), torch.randn(1, 600, 8)
    k[0, 450] = 1e3
    output, lse = kernels.attend_few(query, k, v, 1.0)
    torch.testing.assert_close(output[0], v[:, 450])
    assert float(lse) == 8e3


@pytest.mark.parametrize("rows", [2, 3, 5, 9, 32])
def test_a_row_is_bit_for_bit_what_it_is_alone(rows):
    query, k, v = tensors(9, 3, 64, 1000, rows)
    output, lse = kernels.attend_few(query, k, v, 0.125)
    for i in range(rows):
        seen = 1000 - rows + 1 + i
        alone, own = kernels.attend_few(query[:, i : i + 1], k[:, :seen], v[:, :seen], 0.125)
        assert torch.equal(output[i], alone[0])
        assert torch.equal(lse[..., i], own[..., 0])


def test_the_number_of_threads_does_not_matter():
    query, k, v = tensors(9, 3, 64, 3000, 4)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(kernels.attend_few(query, k, v, 0.125))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for result in results[1:] for a, b in zip(result, results[0], strict=True))


@pytest.mark.parametrize(
    "tensor",
    [torch.ones(2, 1, 12), torch.ones(2, 1, 8).double(), torch.ones(2, 8, 2).transpose(1, 2)],
    ids=["head of 12", "float64", "gaps"],
)
def test_what_the_kernels_do_not_take(tensor):
    assert kernels.suits(torch.ones(2, 1, 8), torch.ones(2, 1, 8))
    assert not kernels.suits(torch.ones(2, 1, 8), torch.ones(2, 1, 16))
    assert not kernels.suits(torch.ones(2, 1, 8), softcap=30.0)
    assert not kernels.suits(tensor, tensor)


@pytest.mark.parametrize("index", INDEXES)
def test_the_same_tokens_without_them(index, monkeypatch):
    config = DecodeConfig(k=4, index=index)
    used = []
    right = kernels.attend_few
    monkeypatch.setattr(kernels, "attend_few", lambda *a, **o: (used.append(1), right(*a, **o))[1])
    want = SparseSpecDecoder(tiny_model(), config).decode(PROMPT, max_new_tokens=24).token_ids
    assert used
    used.clear()
    monkeypatch.setattr(kernels, "suits", lambda *_, **__: False)
    assert SparseSpecDecoder(tiny_model(), config).decode(PROMPT, max_new_tokens=24).token_ids == want
    assert not used


@pytest.mark.usefixtures("fresh_library")
@pytest.mark.parametrize(
    ("variables", "path", "reason"),
    [
        ({"SPSL_NATIVE": "off"}, None, "turned off by SPSL_NATIVE"),
        ({}, "", "no C compiler"),
        ({"CC": "/no/such/cc"}, None, "/no/such/cc"),
        ({"CC": "false"}, None, "could not compile"),
    ],
)
def test_without_a_library_torch_does_the_work(monkeypatch, tmp_path, variables, path, reason):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if path is not None:
        monkeypatch.setenv("PATH", path)
    found = native_library()
    assert found.functions is None
    assert reason in found.reason
    tokens = SparseSpecDecoder(tiny_model(), draft_config(3)).decode(PROMPT, max_new_tokens=8).token_ids
    assert len(tokens) == 8


@pytest.mark.usefixtures("fresh_library")
def test_the_library_is_compiled_once(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert native_library().functions is not None
    made = list(tmp_path.rglob("*"))
    assert sorted(file.suffix for file in made if file.is_file()) == [".sha256", ".so"]
    native_library.cache_clear()
    run = subprocess.run

    def no_compilation(command, **options):
        assert command[1:] == ["--version"]
        return run(command, **options)

    monkeypatch.setattr(library.subprocess, "run", no_compilation)
    assert native_library().functions is not None


@pytest.mark.usefixtures("fresh_library")
@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: len(whole) // 3],
        pytest.param(lambda _: b"", marks=pytest.mark.slow),
        pytest.param(lambda _: b"no library", marks=pytest.mark.slow),
    ],
)
def test_a_damaged_library_is_made_anew(monkeypatch, tmp_path, damage):
    """Loading half of one would end the process without a word."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = native_library() and next(tmp_path.rglob("*.so")).parent
    (file,) = folder.glob("*.so")
    whole = file.read_bytes()
    file.unlink()  # the one that is loaded stays as it is
    file.write_bytes(damage(whole))
    native_library.cache_clear()
    assert native_library().functions is not None
    assert file.read_bytes() == whole


@pytest.mark.usefixtures("fresh_library")
def test_a_compiler_may_be_a_command_with_options(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", f"{GCC or 'cc'} -O2")
    assert native_library().reason.endswith("-O2")
    assert native_library().functions is not None


@pytest.mark.usefixtures("fresh_library")
def test_a_user_without_a_home(monkeypatch):
    def nowhere():
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr(library, "cache_root", nowhere)
    assert native_library().functions is None
    assert "home directory" in native_library().reason


@pytest.mark.usefixtures("fresh_library")
def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    found = native_library()
    assert found.functions is None
    assert "Not a directory" in found.reason


@pytest.mark.skipif(GCC is None, reason="no gcc")
def test_the_source_gives_no_warnings(tmp_path):
    flags = [*library.FLAGS, "-Wall", "-Wextra", "-Werror"]
    subprocess.run([GCC, *flags, *map(str, library.SOURCES), "-o", str(tmp_path / "out.so"), "-lm"], check=True)
