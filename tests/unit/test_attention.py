"""The attention functions against the textbook formula in float64."""

from __future__ import annotations

import math

import pytest
import torch

from spsl_cli.decoding.attention import (
    attend_chunk,
    attend_few,
    attention_mass,
    band_mask,
    scaled_dot_product,
    written_out,
)

HEADS, KV_HEADS, SIZE = 6, 2, 16


def tensors(rows, keys, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((HEADS, rows, SIZE), (KV_HEADS, keys, SIZE), (KV_HEADS, keys, SIZE))
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def textbook(query, keys, values, scale):
    """Causal attention of the last rows: output [q, Hq, D], weights [Hq, q, n], log-sum-exp [Hq, q]."""
    rows, total = query.shape[1], keys.shape[1]
    groups = HEADS // KV_HEADS
    keys, values = keys.repeat_interleave(groups, 0), values.repeat_interleave(groups, 0)
    scores = query @ keys.transpose(1, 2) * scale
    positions = torch.arange(total - rows, total)[:, None]
    scores = scores.masked_fill(torch.arange(total)[None] > positions, float("-inf"))
    weights = scores.softmax(-1)
    return (weights @ values).transpose(0, 1), weights, scores.logsumexp(-1)


@pytest.mark.parametrize("rows", [1, 2, 5, 17])
@pytest.mark.parametrize("keys", [17, 200])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 3e-6), (torch.bfloat16, 0.03)]
)
def test_few_rows(rows, keys, dtype, tolerance):
    query, k, v = tensors(rows, keys, dtype)
    mask = band_mask(rows, keys, None, HEADS // KV_HEADS, dtype, torch.device("cpu")) if rows > 1 else None
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
    mask = band_mask(rows, 90, None, HEADS // KV_HEADS, dtype, torch.device("cpu"))
    _, lse = attend_few(query, k, v, 1 / math.sqrt(SIZE), mask)
    mass = attention_mass(query, lse, k, 1 / math.sqrt(SIZE))
    weights = textbook(query.double(), k.double(), v.double(), 1 / math.sqrt(SIZE))[1]
    expected = weights.view(KV_HEADS, HEADS // KV_HEADS, rows, 90).sum(1).transpose(0, 1)
    assert mass.shape == (rows, KV_HEADS, 90)
    torch.testing.assert_close(mass.double(), expected, rtol=0, atol=tolerance)


def test_keys_are_not_copied():
    """A forward over 50,000 rows must not allocate another 50,000 rows."""
    query, k, v = tensors(5, 50_000, torch.float32)
    mask = band_mask(5, 50_000, None, HEADS // KV_HEADS, torch.float32, torch.device("cpu"))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        attend_few(query, k, v, 0.3, mask)
    allocated = max(event.self_cpu_memory_usage for event in profile.key_averages())
    assert 0 < allocated < k.nbytes / 4
