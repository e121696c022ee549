"""The attention of one sequence, as pure functions on tensors: prefill, verify and plain steps, draft, and its mass.

Grouped queries are packed: the G query heads that share a KV head become G*q rows of one product, so keys and values
are read once and never repeated. Everything returns the log-sum-exp of the scores beside the output: partial results
are merged by it, and the attention mass (Eq. 3) is computed from it later without a second normalisation.

Names of dimensions: Hq query heads, Hkv KV heads, G = Hq / Hkv, q query rows, n key rows, D head size.
"""

from __future__ import annotations

from typing import Any

import torch

MASS_ROWS = 8
"""Query positions whose scores are held at once in `attention_mass`: bounds its scratch to G*8 rows a KV head."""

LARGEST_FLASH_HEAD = 256


def pack(query: torch.Tensor, kv_heads: int) -> torch.Tensor:
    """[Hq, q, D] -> [Hkv, G*q, D], row g*q + i being query head g of the group at query position i."""
    heads, rows, size = query.shape
    return query.reshape(kv_heads, heads // kv_heads * rows, size)


def unpack(packed: torch.Tensor, rows: int) -> torch.Tensor:
    """[Hkv, G*q, D] -> [q, Hq, D], the layout that Hugging Face attention modules expect back."""
    kv_heads, packed_rows, size = packed.shape
    return packed.reshape(kv_heads * packed_rows // rows, rows, size).transpose(0, 1)


def band_mask(
    rows: int,
    keys: int,
    window: int | None,
    groups: int,
    dtype: torch.dtype,
    device: torch.device,
    *,
    beyond: int = 0,
) -> torch.Tensor:
    """[G*q, n] additive mask for packed queries that are the last `rows` of `keys` positions: 0 or -inf.

    A query sees itself and what is before it; with a `window`, that many positions, itself counted. `beyond`: of the
    keys so many stand behind the queries, and none sees them.
    """
    end = keys - beyond
    behind = torch.arange(end - rows, end, device=device)[:, None] - torch.arange(keys, device=device)  # [q, n]
    hidden = behind < 0
    if window is not None:
        hidden |= behind >= window
    return torch.zeros(rows, keys, dtype=dtype, device=device).masked_fill_(hidden, float("-inf")).repeat(groups, 1)


def scaled_dot_product(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scale: float,
    *,
    mask: torch.Tensor | None = None,
    causal: bool = False,
    softcap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention of [H, m, D] over [H, n, D]: output [H, m, D] and log-sum-exp [H, m] (float32 or better).

    `mask` [m, n] is additive; `causal` means m == n and row i sees keys 0..i; `softcap` bounds the scores. The fused
    kernel on the CPU, the same written out elsewhere, and where scores are capped or values have another size.
    """
    if query.device.type == "cpu" and softcap is None and keys.shape[-1] == values.shape[-1]:
        output, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(  # noqa: SLF001 the public one has no lse
            query[None],
            keys[None],
            values[None],
            is_causal=causal,
            attn_mask=None if mask is None else mask[None, None],
            scale=scale,
        )
        return output[0], lse[0]
    if mask is None and softcap is None and _has_flash(query, keys, values):
        output, lse, *_ = torch.ops.aten._scaled_dot_product_flash_attention(  # noqa: SLF001 likewise
            query[None], keys[None], values[None], 0.0, causal, scale=scale
        )
        return output[0], lse[0]
    return written_out(query, keys, values, scale, mask=mask, causal=causal, softcap=softcap)


def _has_flash(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> bool:
    """Whether torch's fused kernel for NVIDIA GPUs takes these: 16 bit, one head size up to 256, Ampere or newer."""
    size = query.shape[-1]
    return (
        query.is_cuda
        and query.dtype in (torch.float16, torch.bfloat16)
        and size == keys.shape[-1] == values.shape[-1]
        and size % 8 == 0
        and size <= LARGEST_FLASH_HEAD
        and torch.cuda.get_device_capability(query.device) >= (8, 0)
    )


def written_out(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scale: float,
    *,
    mask: torch.Tensor | None = None,
    causal: bool = False,
    softcap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The plain twin of `scaled_dot_product`: same arguments, same results, scores held as [H, m, n] in float32."""
    accumulate = torch.promote_types(query.dtype, torch.float32)
    scores = capped(torch.bmm(query, keys.transpose(1, 2)).to(accumulate) * scale, softcap)
    if causal:
        above = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(above, float("-inf"))
    if mask is not None:
        scores = scores + mask
    lse = scores.logsumexp(-1)
    weights = (scores - lse[..., None]).exp().to(values.dtype)
    return torch.bmm(weights, values), lse


def capped(scores: torch.Tensor, softcap: float | None) -> torch.Tensor:
    """Scores bent smoothly into (-softcap, softcap), as Gemma 2 does; unchanged without."""
    return scores if softcap is None else softcap * torch.tanh(scores / softcap)


def attend_few(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scale: float,
    mask: torch.Tensor | None,
    softcap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A few query rows over all keys (verify, plain step, draft step).

    query [Hq, q, D]; keys, values [Hkv, n, D]; mask [G*q, n] or None for a single row.
    Returns output [q, Hq, D] and log-sum-exp [Hkv, G, q].
    """
    rows, kv_heads = query.shape[1], keys.shape[0]
    output, lse = scaled_dot_product(pack(query, kv_heads), keys, values, scale, mask=mask, softcap=softcap)
    return unpack(output, rows), lse.view(kv_heads, -1, rows)


def attend_chunk(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scale: float,
    softcap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A prefill chunk: the last q of n positions over all of them, causal among themselves.

    The past is one packed product without a mask, the chunk itself a causal square for each query head of a group; the
    two are merged by their log-sum-exp. Shapes as in `attend_few`.
    """
    (heads, rows, _), (kv_heads, total, _) = query.shape, keys.shape
    past, groups = total - rows, heads // kv_heads
    output, lse = _by_group(query, keys[:, past:], values[:, past:], scale, causal=True, softcap=softcap)
    if past:
        past_output, past_lse = scaled_dot_product(
            pack(query, kv_heads), keys[:, :past], values[:, :past], scale, softcap=softcap
        )
        share = torch.sigmoid(past_lse - lse)[..., None].to(output.dtype)  # weight of the past in the merged softmax
        output = torch.lerp(output, past_output, share)
        lse = torch.logaddexp(past_lse, lse)
    return unpack(output, rows), lse.view(kv_heads, groups, rows)


def attend_windowed_chunk(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scale: float,
    mask: torch.Tensor,
    softcap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A prefill chunk of a sliding-window layer: as `attend_chunk`, over the keys in reach under a mask [q, n]."""
    rows, kv_heads = query.shape[1], keys.shape[0]
    output, lse = _by_group(query, keys, values, scale, mask=mask, softcap=softcap)
    return unpack(output, rows), lse.view(kv_heads, -1, rows)


def _by_group(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float, **options: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """`scaled_dot_product` for one query head of every group after the other: [Hkv, G*q, D] and [Hkv, G*q]."""
    grouped = query.view(keys.shape[0], -1, *query.shape[1:])
    parts = [scaled_dot_product(heads, keys, values, scale, **options) for heads in grouped.unbind(1)]
    outputs, lses = zip(*parts, strict=True)
    return torch.stack(outputs, dim=1).flatten(1, 2), torch.stack(lses, dim=1).flatten(1, 2)


def with_sinks(output: torch.Tensor, lse: torch.Tensor, sinks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Let a learned score [Hq] for attending to nothing enter the softmax, as gpt-oss does. Shapes as in `attend_few`.

    It takes a share of every row and adds no value, so the output shrinks and the log-sum-exp grows.
    """
    kv_heads, groups, rows = lse.shape
    nothing = sinks.to(lse.dtype).view(kv_heads, groups, 1)
    share = torch.sigmoid(lse - nothing).reshape(kv_heads * groups, rows).t()[..., None]  # [q, Hq, 1]
    return output * share.to(output.dtype), torch.logaddexp(lse, nothing)


def attention_mass(
    query: torch.Tensor,
    lse: torch.Tensor,
    keys: torch.Tensor,
    scale: float,
    *,
    softcap: float | None = None,
    per_query_head: bool = False,
) -> torch.Tensor:
    """Attention mass a(q -> i) of the last w positions on all n, summed over the query heads of a KV head (Eq. 3).

    query [Hq, w, D] and lse [Hkv, G, w] as the dense attention left them, keys [Hkv, n, D], the queries standing at
    positions n-w .. n-1. Returns [w, Hkv, n] in float32, or [w, Hq, n] not summed; a row sums to G (to 1) over the keys
    it may see, to less where there are attention sinks; later keys are 0.
    """
    kv_heads, groups, rows = lse.shape
    keys_total = keys.shape[1]
    heads = kv_heads * groups if per_query_head else kv_heads
    grouped = query.view(kv_heads, groups, rows, -1)
    mass = torch.empty(rows, heads, keys_total, dtype=torch.float32, device=keys.device)
    transposed = keys.transpose(1, 2)
    for start in range(0, rows, MASS_ROWS):
        part = grouped[:, :, start : start + MASS_ROWS].flatten(1, 2)  # [Hkv, G*w', D]
        shift = lse[:, :, start : start + MASS_ROWS].flatten(1, 2)[..., None]
        if part.dtype == torch.float32 and softcap is None:
            scores = torch.baddbmm(shift, part, transposed, beta=-1.0, alpha=scale)
        else:
            scores = capped(torch.bmm(part, transposed).to(shift.dtype) * scale, softcap) - shift
        weights = scores.exp_().view(kv_heads, groups, -1, keys_total)
        weights = weights.flatten(0, 1) if per_query_head else weights.sum(1)
        mass[start : start + MASS_ROWS] = weights.transpose(0, 1)
    above = torch.ones(rows, rows, dtype=torch.bool, device=keys.device).triu(1)
    mass[:, :, keys_total - rows :].masked_fill_(above[:, None], 0.0)
    return mass
