"""Cache layers over the same rows as the decoder's, written and read at positions that only the device knows.

Where the eager layers slice up to a length, these hand the length itself to a kernel that reads it on the device, or,
where none takes the tensors, attend over a fixed number of rows under a mask. Nothing is copied: what a static step
writes, the next dense forward overwrites, and the other way round. Under a mask rows are read too that nothing was
written to, so they must hold numbers: `blank` sees to that.

Knows nothing of tokens, and nothing of graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from transformers import AttentionInterface
from transformers.cache_utils import Cache, CacheLayerMixin

from spsl_cli.decoding import kernels
from spsl_cli.decoding.attend import checked_call
from spsl_cli.decoding.attention import attend_few, with_sinks
from spsl_cli.decoding.forward_state import Mode
from spsl_cli.decoding.graphs.static_frame import StepFrame
from spsl_cli.decoding.kv_cache import DecoderCache, LayerCache
from spsl_cli.decoding.sparse_view import Rows
from spsl_cli.decoding.target import _SWITCHING, TargetModel
from spsl_cli.errors import UnsupportedModelError

STATIC_NAME = "spsl_static_step"


class Sight(NamedTuple):
    """What a static forward runs over: the dense cache or the view, of which sequences, and how much of it.

    tokens: of each row. keys: how many rows layers without a window attend to, from the first on.
    """

    mode: Mode
    sequences: tuple[int, ...]
    tokens: int
    keys: int


class StaticLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]  # transformers does not type its subclass hook
    """One layer's rows of some sequences, as views [H, n, D] of its dense rows or of its sparse view.

    shift [R]: how many slots further this layer's view is written than the frame says; None: none.
    `kept`: queries [R, Hq, q, D] and log-sum-exps [R, Hkv, G, q] of the last forward over dense rows without a window,
    for the attention mass.
    """

    is_compileable = True
    is_sliding = False

    def __init__(
        self, layer: LayerCache, frame: StepFrame, sight: Sight, name: str, shift: torch.Tensor | None
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.attention_window = layer.attention_window
        self.frame = frame
        self.kept: tuple[torch.Tensor, torch.Tensor] | None = None
        self._reads_view = sight.mode is Mode.DRAFT and layer.attention_window is None
        self._keeps = sight.mode is Mode.DENSE and layer.attention_window is None
        self._name, self._shift = name, shift
        own = layer.view.rows if self._reads_view else layer.dense
        self._stores = [Rows(*(store[sequence] for store in own)) for sequence in sight.sequences]
        if self._reads_view:  # [slots, H, D] there
            self._stores = [Rows(*(store.transpose(0, 1) for store in rows)) for rows in self._stores]
        capacity, keys = self._stores[0].keys.shape[1], sight.keys
        self._reach = None  # how many rows are looked at for a window that is shorter than everything
        if self.attention_window is not None:
            reach = self.attention_window + sight.tokens - 1
            self._reach = reach if reach < capacity else None
            keys = capacity
        self._seen = [Rows(*(store[:, :keys] for store in rows)) for rows in self._stores]
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Nothing: the rows are there."""

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        *_: Any,
        kwargs: dict[str, Any] | None = None,
        **__: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the new rows [R, Hkv, q, D] where the frame says; returns them unchanged."""
        if kwargs is None:
            raise UnsupportedModelError("the model's attention does not hand its arguments to the cache")
        kwargs["spsl_layer"] = self
        for i, rows in enumerate(self._stores):
            places = self._places(i)
            for store, new in zip(rows, (key_states[i], value_states[i]), strict=True):
                copies = store.shape[0] // new.shape[0]  # more than one where every query head has a view of its own
                store.index_copy_(1, places, new.repeat_interleave(copies, 0) if copies > 1 else new)
        return key_states, value_states

    def attend(
        self,
        query: torch.Tensor,
        scaling: float,
        softcap: float | None = None,
        sinks: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Query [R, Hq, q, D], its keys and values written already -> [R, q, Hq, D]."""
        outputs, lses = [], []
        for i, own in enumerate(query.unbind(0)):
            output, lse = self._attend_row(i, own, scaling, softcap)
            if sinks is not None:
                output, lse = with_sinks(output, lse, sinks)
            outputs.append(output)
            lses.append(lse)
        if self._keeps:
            self.kept = (query, torch.stack(lses))
        return torch.stack(outputs)

    def _attend_row(
        self, i: int, query: torch.Tensor, scaling: float, softcap: float | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Row i of the batch, query [Hq, q, D]: output [q, Hq, D] and log-sum-exp [Hkv, G, q]."""
        (keys, values), window, own = self._seen[i], self.attention_window, self._places(i)
        if kernels.suits(query, keys, values):
            length = self.frame.length(self._name, i, own)
            return kernels.attend_few(query, keys, values, scaling, length=length, window=window, softcap=softcap)
        at: torch.Tensor | int = keys.shape[1]
        if window is not None and self._reach is not None:
            at = self.frame.reach(i, window, self._reach)
            keys, values = keys.index_select(1, at), values.index_select(1, at)
        groups = query.shape[0] // keys.shape[0]
        mask = self.frame.mask(self._name, i, own, at, groups, query.dtype, window)
        return attend_few(query, keys, values, scaling, mask, softcap)

    def _places(self, i: int) -> torch.Tensor:
        """Where the tokens [q] of row i are written."""
        places = self.frame.view[i] if self._reads_view else self.frame.dense[i]
        return places if self._shift is None else places + self._shift[i]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:  # noqa: ARG002 it is always the same
        """Key length and offset for a mask; only asked for by models that build one, which the probe refuses."""
        return self.get_max_length(), 0

    def get_seq_length(self) -> torch.Tensor:  # type: ignore[override]  # a tensor, as transformers' own static layer
        """Positions before the forward under way (of its first sequence)."""
        return self.frame.dense[0, 0]

    def get_max_length(self) -> int:
        """Rows of a sequence."""
        return self._stores[0].keys.shape[1]


def static_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    _key: torch.Tensor,
    _value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    *,
    spsl_layer: StaticLayer | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """What attention modules call in a static step: query [R, Hq, q, D] -> [R, q, Hq, D]."""
    layer, scaling = checked_call(module, query, attention_mask, scaling, spsl_layer, options)
    return layer.attend(query, scaling, softcap, s_aux), None


AttentionInterface.register(STATIC_NAME, static_attention)


def static_cache(cache: DecoderCache, frame: StepFrame, sight: Sight, shifts: torch.Tensor | None = None) -> Cache:
    """The rows of some sequences as the object that model forwards take; `shifts` [L, R] of the layers with a view."""
    layers, viewed = [], 0
    for layer in cache.layers:
        name, shift = "dense", None
        if layer.attention_window is None and sight.mode is Mode.DRAFT:
            name = "view"
            if shifts is not None:
                name, shift = f"view {viewed}", shifts[viewed]
            viewed += 1
        layers.append(StaticLayer(layer, frame, sight, name, shift))
    return Cache(layers=list(layers))


def blank(cache: DecoderCache, *, views: bool) -> None:
    """Let all rows that are not committed be zeros, and with `views` all slots that no view holds: before any draft."""
    with torch.inference_mode():
        for layer in cache.layers:
            for store in layer.dense:
                for sequence, length in enumerate(cache.lengths):
                    store[sequence, :, length:].zero_()
        for layer in cache.drafting_layers if views else ():
            for sequence, size in enumerate(cache.sparse_sizes):
                held = size + layer.shifts[sequence] if size else 0
                for store in layer.view.rows:
                    store[sequence, held:].zero_()


@contextmanager
def attending_statically(target: TargetModel) -> Iterator[None]:
    """Within, the model attends through `StaticLayer`s and computes by its own modules; afterwards as before."""
    configs = target._configs  # noqa: SLF001 the target's own switch puts its stand-ins in place, too
    with _SWITCHING, torch.inference_mode():
        before = [config._attn_implementation_internal for config in configs]  # noqa: SLF001
        try:
            for config in configs:
                config._attn_implementation_internal = STATIC_NAME  # noqa: SLF001
            yield
        finally:
            for config, name in zip(configs, before, strict=True):
                config._attn_implementation_internal = name  # noqa: SLF001
