"""The dense KV cache and the sparse view that drafts read, for every sequence of a batch.

Bookkeeping: a sequence has `length` committed positions, whose exact rows are 0 .. length-1 of the dense cache. Dense
forwards write at length, length+1, ...; committing and rolling back move `length` and touch no row. Drafts write behind
the gathered rows of the sparse view. Only sliding-window layers, which are always read as they are, let a draft write
at its positions behind `length`; the verify that follows writes them again. So no committed row is ever approximate.

A layer is a Hugging Face cache layer: its `update` stores what the attention module projected, and hands the layer
itself to the attention function through the keyword arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from spsl_cli.decoding.forward_state import ForwardState, Mode, PendingQueries
from spsl_cli.decoding.importance import Importance, make_importance
from spsl_cli.decoding.sparse_view import Rows, SparseView
from spsl_cli.errors import UnsupportedModelError

JOINING = 64
"""Slots of a view for positions that join it between two refreshes."""


@dataclass(frozen=True)
class LayerSizes:
    """What a layer allocates for the dense rows: sequences, and positions of each.

    `zeroed`: rows not written yet are read, under a mask, so they must hold numbers.
    """

    sequences: int
    capacity: int
    zeroed: bool = False


@dataclass(frozen=True)
class DraftSizes:
    """What a layer allocates for drafting: slots of the sparse view, whether query heads have a view each, and S.

    `window` is W of Eq. 3, 0 without importance. Instead of W rows `decayed` keeps a sum that forgets, `summed` a sum.
    """

    slots: int
    per_query_head: bool = False
    window: int = 16
    decayed: bool = False
    summed: bool = False


class LayerCache(CacheLayerMixin):  # type: ignore[no-untyped-call]  # transformers does not type its subclass hook
    """One layer's rows.

    Dense: [B, Hkv, capacity, D]. Dense rows, sparse view and importance are allocated when first needed.
    `attention_window`: how many positions this layer sees, None for all; one that slides has no sparse view.
    `shifts`: how many rows more than in the average layer are gathered here, for each sequence.
    """

    is_sliding = False

    def __init__(self, state: ForwardState, sizes: LayerSizes, attention_window: int | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.state = state
        self.sizes = sizes
        self.attention_window = attention_window
        self.shifts = [0] * sizes.sequences
        self.groups = 1  # with `scaling` and `softcap`: as the attention module calls with them
        self.scaling = 1.0
        self.softcap: float | None = None
        self.kept: dict[int, PendingQueries] = {}  # of the last forward, committed or not
        self.pending: dict[int, PendingQueries] = {}  # committed, not yet in `importance`
        self._draft_sizes: DraftSizes | None = None
        self._dense: Rows | None = None
        self._view: SparseView | None = None
        self._importance: Importance | None = None

    @property
    def dense(self) -> Rows:
        """All rows, committed and written ahead."""
        return _allocated(self._dense)

    @property
    def view(self) -> SparseView:
        """The rows that drafts read."""
        return _allocated(self._view)

    @property
    def importance(self) -> Importance:
        """S of this layer."""
        return _allocated(self._importance)

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Allocate the dense rows, sized by the first key and value states [B, Hkv, q, D] seen."""
        _, heads, _, key_size = key_states.shape
        shape = (self.sizes.sequences, heads, self.sizes.capacity)
        self._dense = Rows(
            key_states.new_empty(*shape, key_size), value_states.new_empty(*shape, value_states.shape[-1])
        )
        if self.sizes.zeroed:
            for store in self._dense:
                store.zero_()
        self.is_initialized = True

    def write_committed(self, sequence: int, rows: Rows) -> None:
        """Take over rows [Hkv, n, D] of another cache as those of positions 0 .. n-1."""
        if not self.is_initialized:
            self.lazy_initialization(rows.keys[None], rows.values[None])
        for store, new in zip(self.dense, rows, strict=True):
            store[sequence, :, : new.shape[1]] = new

    def release(self) -> None:
        """Give up all memory; the layer is as it was before the first forward."""
        self._dense = self._view = self._importance = self._draft_sizes = None
        self.is_initialized = False

    def prepare_drafting(self, sizes: DraftSizes) -> None:
        """Allocate sparse view and importance; done after the prefill, whose workspace is free again by then.

        What is there already for the same sizes stays.
        """
        if self.attention_window is not None or sizes == self._draft_sizes:
            return
        sequences, heads, capacity, _ = self.dense.keys.shape
        heads *= self.groups if sizes.per_query_head else 1
        self._view = self._importance = None  # free the old ones first
        self._view = SparseView(self.dense, sizes.slots, heads)
        if sizes.window:
            shape, device = (sequences, sizes.window, heads, capacity), self.dense.keys.device
            self._importance = make_importance(*shape, device, decayed=sizes.decayed, summed=sizes.summed)
        self._draft_sizes = sizes

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
        state, rows = self.state, key_states.shape[2]
        if self.reads_view:
            for i, (sequence, slot) in enumerate(zip(state.sequences, state.slots, strict=True)):
                self.view.write(sequence, slot + self.shifts[sequence], Rows(key_states[i], value_states[i]))
        else:
            for store, new in zip(self.dense, (key_states, value_states), strict=True):
                for i, (sequence, start) in enumerate(zip(state.sequences, state.starts, strict=True)):
                    store[sequence, :, start : start + rows] = new[i]
        return key_states, value_states

    def new_mass(self, rows: int, like: torch.Tensor) -> torch.Tensor:
        """Room for the attention mass of so many queries on all keys [H, n, D], by the heads of the importance."""
        sizes = self._draft_sizes
        heads = like.shape[0] * (self.groups if sizes is not None and sizes.per_query_head else 1)
        return torch.empty(rows, heads, like.shape[1], dtype=torch.float32, device=like.device)

    def forget(self, sequence: int) -> None:
        """Drop all queries and mass of this sequence, and what its view holds."""
        self.kept.pop(sequence, None)
        self.pending.pop(sequence, None)
        if self._importance is not None:
            self._importance.clear(sequence)
        if self._view is not None:
            self._view.forget(sequence)

    @property
    def reads_view(self) -> bool:
        """Whether the forward under way runs over the sparse view of this layer."""
        return self.state.mode is Mode.DRAFT and self.attention_window is None

    def visible(self, i: int, rows: int) -> tuple[Rows, int]:
        """Keys and values [H, n, D] for the `rows` queries of row i of the forward under way.

        And how many of them stand behind the queries, where only whole blocks are read.
        """
        state = self.state
        sequence, start = state.sequences[i], state.starts[i]
        if self.reads_view:
            return self.view.seen(sequence, state.slots[i] + self.shifts[sequence] + rows), 0
        first = 0 if self.attention_window is None else max(0, start + 1 - self.attention_window)
        end = start + rows
        beyond = -end % state.align
        block = slice(first - first % state.align, end + beyond)
        return Rows(*(store[sequence, :, block] for store in self.dense)), beyond

    def gather(self, sequence: int, positions: torch.Tensor) -> None:
        """Fill the sparse view with the dense rows at `positions` [H, n], H as in the view."""
        self.view.gather(sequence, positions, Rows(*(store[sequence] for store in self.dense)))

    def append(self, sequence: int, slot: int, positions: slice) -> None:
        """Copy the dense rows at these positions into the sparse view, from this slot of the average layer on."""
        self.view.write(
            sequence, slot + self.shifts[sequence], Rows(*(store[sequence, :, positions] for store in self.dense))
        )

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
    """All layers, and of every sequence: committed positions, positions in the average view, and where it must end.

    `coverage`: the share of the attention mass that the positions in the view hold, as of the last refresh.

    `viewed`: up to which position the view knows what was committed. `joined`: how many have joined since the refresh.

    `ends`: rows at such a position or behind it may be run in a batch, beside rows that still want them, or to keep a
    forward's shape; they are never committed.
    """

    layers: list[LayerCache]
    state: ForwardState
    lengths: list[int]
    ends: list[int]
    sparse_sizes: list[int] = field(default_factory=list)
    coverage: list[float] = field(default_factory=list)
    viewed: list[int] = field(default_factory=list)
    joined: list[int] = field(default_factory=list)

    @classmethod
    def allocate(
        cls, windows: Sequence[int | None], sizes: LayerSizes, ends: Sequence[int] | None = None
    ) -> DecoderCache:
        """A cache for layers of these attention windows; memory is taken when a forward shows shapes and devices."""
        state = ForwardState()
        layers = [LayerCache(state, sizes, window) for window in windows]
        empty = [0] * sizes.sequences
        full = [sizes.capacity] * sizes.sequences
        covered = [1.0] * sizes.sequences
        return cls(layers, state, empty, list(ends or full), empty[:], covered, empty[:], empty[:])

    def as_hugging_face(self) -> Cache:
        """The same layers as the object that model forwards take."""
        return Cache(layers=list(self.layers))

    @property
    def position_bytes(self) -> int:
        """Bytes of keys and values at one position of one sequence, in all layers that see every position."""
        return sum(
            store[0, :, 0].numel() * store.element_size() for layer in self.drafting_layers for store in layer.dense
        )

    @property
    def drafting_layers(self) -> list[LayerCache]:
        """Those with a sparse view: all that see every position."""
        return [layer for layer in self.layers if layer.attention_window is None]

    def commit(self, sequence: int, count: int, window: int, *, with_rejected: bool = False) -> None:
        """The first `count` rows of the last dense forward are committed.

        Of their queries the last `window` wait to be counted, with those that waited already. `with_rejected`: instead,
        all queries of this forward wait, those that are not committed too.
        """
        self.lengths[sequence] += count
        for layer in self.layers:
            kept = layer.kept.pop(sequence, None)
            if kept is None:
                continue
            waiting = layer.pending.get(sequence)
            if not with_rejected:
                kept = kept.until(self.lengths[sequence])
                kept = kept if waiting is None else waiting.followed_by(kept, window)
            layer.pending[sequence] = kept

    def forget(self, sequence: int) -> None:
        """Drop all that was concluded from the rows of this sequence."""
        self.sparse_sizes[sequence] = self.viewed[sequence] = self.joined[sequence] = 0
        for layer in self.layers:
            layer.forget(sequence)


T = TypeVar("T")


def _allocated(part: T | None) -> T:
    if part is None:
        raise RuntimeError("this part of the cache is allocated by the prefill, which has not run")
    return part
