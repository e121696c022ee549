"""The attention of one layer in the forward under way: what its cache shows, by the function that suits the shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import torch

from spsl_cli.decoding import kernels as triton_kernels
from spsl_cli.decoding.attention import attend_chunk, attend_few, attend_windowed_chunk, with_sinks
from spsl_cli.decoding.forward_state import PendingQueries
from spsl_cli.decoding.kv_cache import LayerCache
from spsl_cli.errors import UnsupportedModelError
from spsl_cli.native import kernels

FEW_ROWS = 32
"""Up to this many query rows a forward is one packed product with a mask; longer ones are prefill chunks."""


def attend(
    layer: LayerCache,
    query: torch.Tensor,
    scaling: float,
    *,
    softcap: float | None = None,
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """Query [R, Hq, q, D], its keys and values written already -> [R, q, Hq, D]; queries wanted later are kept."""
    state, rows = layer.state, query.shape[2]
    layer.scaling, layer.softcap = scaling, softcap
    layer.groups = query.shape[1] // layer.dense.keys.shape[1]
    outputs = []
    for i, sequence in enumerate(state.sequences):
        output, lse, mass = attend_row(query[i], layer, i, with_mass=state.mass and sinks is None)
        if sinks is not None:
            output, lse = with_sinks(output, lse, sinks)
        if state.keep and layer.attention_window is None:
            kept = slice(state.rows - state.keep, state.rows)
            queries = query[i, :, kept]
            if rows > state.keep:  # do not hold a whole prefill chunk for its last rows
                queries = queries.clone()
            end = state.starts[i] + state.rows
            layer.kept[sequence] = PendingQueries(queries, lse[:, :, kept].clone(), end, mass)
        outputs.append(output)
    return torch.stack(outputs) if len(outputs) > 1 else outputs[0][None].contiguous()


class _Windowed(Protocol):
    """A layer that sees so many positions, None for all."""

    attention_window: int | None


L = TypeVar("L", bound=_Windowed)


def checked_call(
    module: torch.nn.Module,
    query: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None,
    layer: L | None,
    options: Mapping[str, Any],
) -> tuple[L, float]:
    """What an attention module called with: our layer, and its scaling, else that of query [R, Hq, q, D].

    UnsupportedModelError where it attends outside our cache, with a mask, or with a window that is not told.
    """
    if layer is None or attention_mask is not None:
        raise UnsupportedModelError(f"{type(module).__name__} attends outside the cache or with a mask of its own")
    check_window(layer, options.get("sliding_window"), type(module).__name__)
    return layer, query.shape[-1] ** -0.5 if scaling is None else scaling


def check_window(layer: _Windowed, told: int | None, name: str) -> None:
    """UnsupportedModelError where an attention module tells another window than the configuration."""
    if told not in (None, layer.attention_window):
        raise UnsupportedModelError(f"{name} has a sliding window its configuration does not tell")


def attend_row(
    query: torch.Tensor, layer: LayerCache, i: int, *, with_mass: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Attention of row i of the forward under way, query [Hq, q, D]: output, log-sum-exp, and if wanted the mass.

    The mass [q, H, n] comes at little cost from a kernel that has the scores; None where another one is used.
    """
    rows = query.shape[1]
    (keys, values), beyond = layer.visible(i, rows)
    scale, cap, window = layer.scaling, layer.softcap, layer.attention_window
    if rows <= FEW_ROWS:
        if kernels.suits(query, keys, values, softcap=cap):
            mass = layer.new_mass(rows, keys) if with_mass and window is None else None
            return *kernels.attend_few(query, keys, values, scale, beyond=beyond, window=window, mass=mass), mass
        if triton_kernels.suits(query, keys, values):
            mass = layer.new_mass(rows, keys) if with_mass and window is None else None
            few = triton_kernels.attend_few
            return *few(query, keys, values, scale, beyond=beyond, window=window, softcap=cap, mass=mass), mass
        groups = query.shape[0] // keys.shape[0]
        mask = layer.state.mask(rows, keys.shape[1], window, groups, query, beyond) if rows > 1 else None
        return *attend_few(query, keys, values, scale, mask, cap), None
    if window is None or keys.shape[1] <= window:
        return *attend_chunk(query, keys, values, scale, cap), None
    mask = layer.state.mask(rows, keys.shape[1], window, 1, query)
    return *attend_windowed_chunk(query, keys, values, scale, mask, cap), None
