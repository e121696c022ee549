"""Every Triton kernel against the same in float64, on shapes of the models and on awkward ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from spsl_cli.decoding import kernels
from spsl_cli.decoding.attention import attend_few, attention_mass, band_mask
from spsl_cli.decoding.kernels.launch import no_kernels

LIMITS = {torch.float32: 1e-5, torch.bfloat16: 1e-2, torch.float16: 2e-3}
"""Largest error as a share of the largest magnitude."""

# Query heads, KV heads, head size, rows, keys.
TINY = [(4, 2, 32, 3, 77), (2, 2, 40, 1, 20)]
FULL = [*TINY, (32, 8, 128, 1, 32_768), (32, 8, 128, 9, 32_801), (32, 8, 128, 17, 4_099), (8, 1, 64, 5, 1_000)]


def check_kernels(device: torch.device, *, tiny: bool = False) -> tuple[list[dict[str, Any]], str | None]:
    """The error of each kernel on each shape and type, and why none was checked, if none was."""
    reason = no_kernels(device)
    if reason is not None:
        return [], reason
    dtypes = [torch.float32] if tiny else [torch.float32, torch.bfloat16]
    found = []
    for shape in TINY if tiny else FULL:
        for dtype in dtypes:
            for name, error, limit in _errors(device, dtype, shape):
                found.append({
                    "kernel": name, "dtype": str(dtype).removeprefix("torch."), "shape": list(shape),
                    "error": error, "limit": limit, "ok": error <= limit,
                })  # fmt: skip
    return found, None


def _errors(device: torch.device, dtype: torch.dtype, shape: tuple[int, ...]) -> Iterator[tuple[str, float, float]]:
    heads, kv_heads, size, rows, count = shape
    generator = torch.Generator(device).manual_seed(count)

    def numbers(*sizes: int) -> torch.Tensor:
        return torch.randn(*sizes, generator=generator, device=device).to(dtype)

    query, keys, values = numbers(heads, rows, size), numbers(kv_heads, count, size), numbers(kv_heads, count, size)
    scale, limit = size**-0.5, LIMITS[dtype]
    mask = band_mask(rows, count, None, heads // kv_heads, torch.float64, device)
    exact_query, exact_keys, exact_values = query.double(), keys.double(), values.double()
    output, lse = attend_few(exact_query, exact_keys, exact_values, scale, mask)
    mass = attention_mass(exact_query, lse, exact_keys, scale)

    given = torch.full((rows, kv_heads, count), float("nan"), device=device)
    own_output, own_lse = kernels.attend_few(query, keys, values, scale, mass=given)
    yield "verify: output", _apart(own_output, output), limit
    yield "verify: log-sum-exp", _apart(own_lse, lse), limit
    yield "verify: mass", _apart(given, mass), limit
    yield "mass", _apart(kernels.attention_mass(query, lse.float(), keys, scale), mass), limit

    few = max(1, count // 10)
    positions = torch.stack([torch.randperm(count - rows, device=device)[:few] for _ in range(kv_heads)])
    yield "draft", _draft_error(query, (keys, values), positions, rows, scale), limit
    yield from _selection_errors(device, (keys, values), positions, count)


def _draft_error(
    query: torch.Tensor,
    dense: tuple[torch.Tensor, torch.Tensor],
    positions: torch.Tensor,
    rows: int,
    scale: float,
) -> float:
    """Of attention over the rows at `positions` and the last `rows` behind them."""
    own = tuple(store[:, -rows:] for store in dense)
    chosen = [
        torch.cat((store.gather(1, positions[..., None].expand(-1, -1, store.shape[2])), last), 1).double()
        for store, last in zip(dense, own, strict=True)
    ]
    mask = band_mask(rows, chosen[0].shape[1], None, len(query) // len(positions), torch.float64, query.device)
    expected, _ = attend_few(query.double(), chosen[0], chosen[1], scale, mask)
    output, _ = kernels.attend_at(query, dense, positions, (own[0].contiguous(), own[1].contiguous()), scale)
    return _apart(output, expected)


def _selection_errors(
    device: torch.device, dense: tuple[torch.Tensor, torch.Tensor], positions: torch.Tensor, count: int
) -> Iterator[tuple[str, float, float]]:
    """Of the kernels that choose and copy rows: how many are wrong; none may be."""
    heads, few = positions.shape
    scores = torch.rand(heads, count, device=device)
    expected = scores.topk(few, dim=1).values.sort(1).values
    found = scores.gather(1, kernels.largest(scores, few).long()).sort(1).values
    yield "top-K", float((found != expected).sum()), 0.0
    view = tuple(
        torch.full((few, heads, store.shape[2]), float("nan"), dtype=store.dtype, device=device) for store in dense
    )
    held = torch.zeros(heads, few, dtype=torch.int64, device=device)
    kernels.gather(dense, (view[0], view[1]), positions, held, 0)
    wrong = 0.0
    for store, rows in zip(dense, view, strict=True):
        true = store.gather(1, held[..., None].expand(-1, -1, store.shape[2]))
        wrong += float((rows.transpose(0, 1) != true).sum())
    same = torch.equal(held.sort(1).values, positions.sort(1).values)
    yield "gather", wrong + (0.0 if same else 1.0), 0.0


def _apart(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference as a share of the largest magnitude; infinite where numbers are missing."""
    difference = (actual.double() - expected.double()).abs().max()
    return float(difference / expected.abs().max().clamp_min(1e-30)) if difference.isfinite() else float("inf")
