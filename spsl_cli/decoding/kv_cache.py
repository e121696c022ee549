"""The dense KV cache and the sparse view that drafts read, for every sequence of a batch.

Bookkeeping: a sequence has `length` committed positions, whose exact rows are 0 .. length-1 of the dense cache. Dense
forwards write at length, length+1, ...; committing and rolling back move `length` and touch no row. Drafts write behind
the gathered rows of the sparse view only, so no approximate row ever enters the dense cache.

A layer is a Hugging Face cache layer: its `update` stores what the attention module projected, and hands the layer
itself to the attention function through the keyword arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeVar

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from spsl_cli.decoding.importance import ImportanceWindow
from spsl_cli.errors import UnsupportedModelError


class Mode(Enum):
    """What the forward under way reads and writes: the dense cache, or the sparse view."""

    DENSE = "dense"
    DRAFT = "draft"


@dataclass
class ForwardState:
    """What all layers need to know of the forward under way; set once before it, read by every layer.

    sequences: which rows of the cache the batch rows of this forward are.
    starts: for each of them the position (dense) or the slot (draft) that its first token is written to.
    keep: how many of the last query rows are kept for the attention mass (0: none).
    masks: for each of them the additive mask [G*q, n] of a forward with few rows; empty where none is needed.
    """

    mode: Mode = Mode.DENSE
    sequences: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    keep: int = 0
    masks: tuple[torch.Tensor, ...] = ()


@dataclass
class PendingQueries:
    """Queries whose mass is not counted yet: query [Hq, w, D] and lse [Hkv, G, w] of the last w committed positions."""

    query: torch.Tensor
    lse: torch.Tensor


@dataclass
class LayerSizes:
    """What a layer allocates: sequences, dense positions, and slots of the sparse view (0: none is ever drafted)."""

    sequences: int
    capacity: int
    sparse_slots: int
    window: int


class Rows(NamedTuple):
    """Keys and values of the same positions."""

    keys: torch.Tensor
    values: torch.Tensor


class LayerCache(CacheLayerMixin):  # type: ignore[no-untyped-call]  # transformers does not type its subclass hook
    """One layer's rows.

    Dense: [B, Hkv, capacity, D]. Sparse view: [B, slots, Hkv, D], a slot's heads together, so that a gather writes it
    front to back. Both are allocated when they are first needed.
    """

    is_sliding = False

    def __init__(self, state: ForwardState, sizes: LayerSizes) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.state = state
        self.sizes = sizes
        self.scaling = 1.0
        self.kept: dict[int, PendingQueries] = {}  # of the last forward, committed or not
        self.pending: dict[int, PendingQueries] = {}  # committed, not yet in `importance`
        self._dense: Rows | None = None
        self._sparse: Rows | None = None
        self._importance: ImportanceWindow | None = None

    @property
    def dense(self) -> Rows:
        """All rows, committed and written ahead."""
        return _allocated(self._dense)

    @property
    def sparse(self) -> Rows:
        """The sparse view: gathered rows, then those of the draft under way."""
        return _allocated(self._sparse)

    @property
    def importance(self) -> ImportanceWindow:
        """S of this layer."""
        return _allocated(self._importance)

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Allocate the dense rows, sized by the first key and value states [B, Hkv, q, D] seen."""
        _, heads, _, key_size = key_states.shape
        shape = (self.sizes.sequences, heads, self.sizes.capacity)
        self._dense = Rows(
            key_states.new_empty(*shape, key_size), value_states.new_empty(*shape, value_states.shape[-1])
        )
        self.is_initialized = True

    def prepare_drafting(self) -> None:
        """Allocate sparse view and importance; done after the prefill, whose workspace is free again by then."""
        keys, values = self.dense
        sequences, heads, capacity, size = keys.shape
        shape = (sequences, self.sizes.sparse_slots, heads)
        self._sparse = Rows(keys.new_empty(*shape, size), values.new_empty(*shape, values.shape[-1]))
        self._importance = ImportanceWindow(sequences, self.sizes.window, heads, capacity, keys.device)

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        *_: Any,
        kwargs: dict[str, Any] | None = None,
        **__: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the new rows [R, Hkv, q, D] where the forward under way wants them; returns them unchanged."""
        if kwargs is None:
            raise UnsupportedModelError("the model's attention does not hand its arguments to the cache")
        kwargs["spsl_layer"] = self
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        drafting, rows = self.state.mode is Mode.DRAFT, key_states.shape[2]
        for store, new in zip(self.sparse if drafting else self.dense, (key_states, value_states), strict=True):
            for i, (sequence, start) in enumerate(zip(self.state.sequences, self.state.starts, strict=True)):
                if drafting:
                    store[sequence, start : start + rows] = new[i].transpose(0, 1)
                else:
                    store[sequence, :, start : start + rows] = new[i]
        return key_states, value_states

    def rows(self, sequence: int, end: int) -> Rows:
        """Keys and values [Hkv, end, D] that the forward under way attends to, for one sequence."""
        if self.state.mode is Mode.DRAFT:
            return Rows(*(store[sequence, :end].transpose(0, 1) for store in self.sparse))
        return Rows(*(store[sequence, :, :end] for store in self.dense))

    def gather(self, sequence: int, positions: torch.Tensor) -> None:
        """Fill the sparse view with the dense rows at `positions` [Hkv, n] (Eq. 5)."""
        heads, count = positions.shape
        capacity = self.sizes.capacity
        flat = (positions + torch.arange(0, heads * capacity, capacity, device=positions.device)[:, None]).t().flatten()
        for dense, sparse in zip(self.dense, self.sparse, strict=True):
            target = sparse[sequence, :count].view(count * heads, -1)
            torch.index_select(dense[sequence].view(heads * capacity, -1), 0, flat, out=target)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Key length and offset for a mask; only asked for by models that build one, which the probe refuses."""
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        """Positions before the forward under way (of its first sequence)."""
        return self.state.starts[0] if self.state.starts else 0

    def get_max_length(self) -> int:
        """The capacity in positions."""
        return self.sizes.capacity


@dataclass
class DecoderCache:
    """All layers, and for every sequence how many positions are committed and how many the sparse view holds."""

    layers: list[LayerCache]
    state: ForwardState
    lengths: list[int]
    sparse_sizes: list[int] = field(default_factory=list)

    @classmethod
    def allocate(cls, layer_count: int, sizes: LayerSizes) -> DecoderCache:
        """A cache for `layer_count` layers; memory is taken when the first forward shows shapes and devices."""
        state = ForwardState()
        layers = [LayerCache(state, sizes) for _ in range(layer_count)]
        return cls(layers, state, [0] * sizes.sequences, [0] * sizes.sequences)

    def as_hugging_face(self) -> Cache:
        """The same layers as the object that model forwards take."""
        return Cache(layers=list(self.layers))

    def commit(self, sequence: int, count: int, window: int) -> None:
        """The first `count` rows of the last dense forward are committed: their queries count, the others never do."""
        self.lengths[sequence] += count
        for layer in self.layers:
            kept = layer.kept.pop(sequence, None)
            if kept is None:
                continue
            query, lse = kept.query[:, :count], kept.lse[:, :, :count]
            before = layer.pending.get(sequence)
            if before is not None:
                query, lse = torch.cat((before.query, query), 1), torch.cat((before.lse, lse), 2)
            layer.pending[sequence] = PendingQueries(query[:, -window:], lse[:, :, -window:])


T = TypeVar("T")


def _allocated(part: T | None) -> T:
    if part is None:
        raise RuntimeError("this part of the cache is allocated by the prefill, which has not run")
    return part
