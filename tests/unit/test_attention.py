"""The attention functions against the textbook formula in float64."""

from __future__ import annotations

import math

import pytest
import torch

from spsl_cli.decoding.attention import (
    attend_chunk,
    attend_few,
    attend_windowed_chunk,
    attention_mass,
    band_mask,
    scaled_dot_product,
    with_sinks,
    written_out,
)

HEADS, KV_HEADS, SIZE = 6, 2, 16
GROUPS = HEADS // KV_HEADS
CPU = torch.device("cpu")


def tensors(rows, keys, dtype=torch.float64, seed=0, value_size=SIZE):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((HEADS, rows, SIZE), (KV_HEADS, keys, SIZE), (KV_HEADS, keys, value_size))
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def textbook(query, keys, values, scale, *, window=None, softcap=None, sinks=None):
    """Causal attention of the last rows: output [q, Hq, D], weights [Hq, q, n], log-sum-exp [Hq, q]."""
    rows, total = query.shape[1], keys.shape[1]
    keys, values = keys.repeat_interleave(GROUPS, 0), values.repeat_interleave(GROUPS, 0)
    scores = query @ keys.transpose(1, 2) * scale
    if softcap is not None:
        scores = softcap * (scores / softcap).tanh()
    for row in range(rows):
        position = total - rows + row
        scores[:, row, position + 1 :] = float("-inf")
        if window is not None:
            scores[:, row, : max(0, position - window + 1)] = float("-inf")
    denominator = scores.exp().sum(-1)
    if sinks is not None:
        denominator = denominator + sinks.exp()[:, None]
    weights = scores.exp() / denominator[..., None]
    return (weights @ values).transpose(0, 1), weights, denominator.log()


@pytest.mark.parametrize("rows", [1, 2, 5, 17])
@pytest.mark.parametrize("keys", [17, 200])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 3e-6), (torch.bfloat16, 0.03)]
)
def test_few_rows(rows, keys, dtype, tolerance):
    query, k, v = tensors(rows, keys, dtype)
    mask = band_mask(rows, keys, None, GROUPS, dtype, CPU) if rows > 1 else None
    output, lse = attend_few(query, k, v, 0.3, mask)
    expected, _, expected_lse = textbook(query.double(), k.double(), v.double(), 0.3)
    torch.testing.assert_close(output.double(), expected, rtol=0, atol=tolerance)
    torch.testing.assert_close(lse.reshape(HEADS, rows).double(), expected_lse, rtol=0, atol=10 * tolerance)


@pytest.mark.parametrize(("rows", "keys"), [(33, 33), (33, 34), (64, 200), (7, 100)])
def test_prefill_chunk(rows, keys):
    query, k, v = tensors(rows, keys)
    output, lse = attend_chunk(query, k, v, 0.25)
    expected, _, expected_lse = textbook(query, k, v, 0.25)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(lse.reshape(HEADS, rows), expected_lse, rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [True, False])
def test_written_out_is_the_twin_of_the_fused_kernel(causal):
    query, k, v = tensors(40, 40, torch.float32)
    mask = None if causal else torch.randn(40, 40)
    fused = scaled_dot_product(query[:KV_HEADS], k, v, 0.2, causal=causal, mask=mask)
    plain = written_out(query[:KV_HEADS], k, v, 0.2, causal=causal, mask=mask)
    torch.testing.assert_close(fused[0], plain[0], rtol=0, atol=2e-6)
    torch.testing.assert_close(fused[1], plain[1], rtol=0, atol=2e-6)


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 16])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 1e-5), (torch.bfloat16, 0.05)])
def test_mass_is_the_summed_attention(rows, dtype, tolerance):
    query, k, v = tensors(rows, 90, dtype)
    mask = band_mask(rows, 90, None, GROUPS, dtype, CPU)
    _, lse = attend_few(query, k, v, 1 / math.sqrt(SIZE), mask)
    mass = attention_mass(query, lse, k, 1 / math.sqrt(SIZE))
    weights = textbook(query.double(), k.double(), v.double(), 1 / math.sqrt(SIZE))[1]
    expected = weights.view(KV_HEADS, GROUPS, rows, 90).sum(1).transpose(0, 1)
    assert mass.shape == (rows, KV_HEADS, 90)
    torch.testing.assert_close(mass.double(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("rows", "keys", "window", "beyond"), [(1, 9, 4, 0), (4, 9, 3, 0), (3, 8, None, 2), (5, 12, 6, 4)]
)
def test_band_mask(rows, keys, window, beyond):
    """Told one entry at a time: a query sees itself and so many before it, and nothing behind."""
    mask = band_mask(rows, keys, window, 2, torch.float32, CPU, beyond=beyond)
    assert mask.shape == (2 * rows, keys)
    for packed in range(2 * rows):
        position = keys - beyond - rows + packed % rows
        for key in range(keys):
            seen = key <= position and (window is None or position - key < window)
            assert mask[packed, key].item() == (0.0 if seen else float("-inf"))


@pytest.mark.parametrize("softcap", [None, 3.0])
@pytest.mark.parametrize("window", [None, 5, 64])
@pytest.mark.parametrize("beyond", [0, 7])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 3e-6)])
def test_few_rows_in_a_window_with_soft_caps(softcap, window, beyond, dtype, tolerance):
    """Also with keys behind the queries, which strict mode reads and nobody sees, whatever stands there."""
    query, k, v = tensors(6, 80, dtype)
    mask = band_mask(6, 80 + beyond, window, GROUPS, dtype, CPU, beyond=beyond)
    behind = torch.full((KV_HEADS, beyond, SIZE), 50.0, dtype=dtype)
    output, lse = attend_few(query, torch.cat((k, behind), 1), torch.cat((v, behind), 1), 0.8, mask, softcap)
    exact = query.double(), k.double(), v.double()
    expected, _, expected_lse = textbook(*exact, 0.8, window=window, softcap=softcap)
    torch.testing.assert_close(output.double(), expected, rtol=0, atol=tolerance)
    torch.testing.assert_close(lse.reshape(HEADS, 6).double(), expected_lse, rtol=0, atol=10 * tolerance)


@pytest.mark.parametrize("softcap", [None, 3.0])
@pytest.mark.parametrize(("rows", "keys", "window"), [(40, 40, 12), (33, 100, 50), (64, 100, 7)])
def test_prefill_chunk_in_a_window(rows, keys, window, softcap):
    query, k, v = tensors(rows, keys)
    mask = band_mask(rows, keys, window, 1, torch.float64, CPU)
    output, lse = attend_windowed_chunk(query, k, v, 0.8, mask, softcap)
    expected, _, expected_lse = textbook(query, k, v, 0.8, window=window, softcap=softcap)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(lse.reshape(HEADS, rows), expected_lse, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("rows", "keys"), [(33, 33), (40, 100)])
def test_prefill_chunk_with_soft_caps(rows, keys):
    query, k, v = tensors(rows, keys)
    output, lse = attend_chunk(query, k, v, 0.8, 2.0)
    expected, _, expected_lse = textbook(query, k, v, 0.8, softcap=2.0)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(lse.reshape(HEADS, rows), expected_lse, rtol=0, atol=1e-12)


@pytest.mark.parametrize("value_size", [4, 24])
def test_values_of_another_size_than_keys(value_size):
    few, k, v = tensors(5, 60, value_size=value_size)
    chunk = tensors(40, 60, value_size=value_size)[0]
    windowed = band_mask(40, 60, 9, 1, torch.float64, CPU)
    for query, window, (output, lse) in (
        (few, None, attend_few(few, k, v, 0.3, band_mask(5, 60, None, GROUPS, torch.float64, CPU))),
        (chunk, None, attend_chunk(chunk, k, v, 0.3)),
        (chunk, 9, attend_windowed_chunk(chunk, k, v, 0.3, windowed)),
    ):
        expected, _, expected_lse = textbook(query, k, v, 0.3, window=window)
        assert output.shape == (query.shape[1], HEADS, value_size)
        torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(lse.flatten(0, 1), expected_lse, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rows", [1, 4])
def test_sinks_take_their_share(rows):
    """From next to nothing to nearly all; each query head has its own."""
    query, k, v = tensors(rows, 50)
    sinks = torch.tensor([-8.0, -1.0, 0.0, 2.0, 6.0, 12.0], dtype=torch.float64)
    mask = band_mask(rows, 50, None, GROUPS, torch.float64, CPU)
    output, lse = with_sinks(*attend_few(query, k, v, 0.3, mask), sinks)
    expected, weights, expected_lse = textbook(query, k, v, 0.3, sinks=sinks)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(lse.reshape(HEADS, rows), expected_lse, rtol=0, atol=1e-12)
    mass = attention_mass(query, lse, k, 0.3, per_query_head=True)
    torch.testing.assert_close(mass.transpose(0, 1).double(), weights, rtol=0, atol=1e-6)
    assert (mass.sum(-1) < 1).all()


@pytest.mark.parametrize("softcap", [None, 3.0])
@pytest.mark.parametrize("per_query_head", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
def test_mass_by_query_head_and_under_soft_caps(softcap, per_query_head, dtype, tolerance):
    """17 rows: more than are held at once."""
    rows, keys = 17, 70
    query, k, v = tensors(rows, keys, dtype)
    mask = band_mask(rows, keys, None, GROUPS, dtype, CPU)
    _, lse = attend_few(query, k, v, 0.8, mask, softcap)
    mass = attention_mass(query, lse, k, 0.8, softcap=softcap, per_query_head=per_query_head)
    _, weights, _ = textbook(query.double(), k.double(), v.double(), 0.8, softcap=softcap)
    expected = weights if per_query_head else weights.view(KV_HEADS, GROUPS, rows, keys).sum(1)
    assert mass.shape == (rows, HEADS if per_query_head else KV_HEADS, keys)
    torch.testing.assert_close(mass.double(), expected.transpose(0, 1), rtol=0, atol=tolerance)


def test_keys_are_not_copied():
    """A forward over 50,000 rows must not allocate another 50,000 rows."""
    query, k, v = tensors(5, 50_000, torch.float32)
    mask = band_mask(5, 50_000, None, GROUPS, torch.float32, CPU)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        attend_few(query, k, v, 0.3, mask)
    allocated = max(event.self_cpu_memory_usage for event in profile.key_averages())
    assert 0 < allocated < k.nbytes / 4
