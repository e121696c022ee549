"""What a prefill leaves behind, to be used again under another prompt that begins with the same tokens.

A prompt is prefilled in pieces that end at `splits`, the same for every prompt with the same beginning. Rows are used
again up to the end of a piece only, and what follows is cut as it would be without them: so they are, bit for bit, what
the prefill would have computed, and so is everything behind them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.sparse_view import Rows

CHUNK = {"cpu": 512, "cuda": 2048}
"""How many tokens of a prompt one forward takes, by kind of device."""


@dataclass(frozen=True)
class Prefix:
    """The first n positions of a prompt: their tokens, where the pieces of their prefill ended, and their rows.

    rows: of one layer after the other, keys and values [Hkv, n, D]; read once.
    """

    token_ids: Sequence[int]
    splits: Sequence[int]
    rows: Iterator[Rows]


def splits_of(length: int, chunk: int, wanted: Collection[int] = ()) -> list[int]:
    """Where the pieces of a prefill of so many tokens end: after every `chunk`, at the places `wanted`, and at last."""
    return sorted({*range(chunk, length, chunk), *(place for place in wanted if 0 < place < length), length})


def usable(prefix_ids: Sequence[int], prefix_splits: Sequence[int], ids: Sequence[int], splits: Sequence[int]) -> int:
    """Up to which position rows of a prefix are those of the prompt `ids` too: a common split, or 0."""
    common = next(
        (i for i, (mine, other) in enumerate(zip(ids, prefix_ids, strict=False)) if mine != other),
        min(len(ids), len(prefix_ids)),
    )
    last = 0
    for mine, other in zip(splits, prefix_splits, strict=False):
        if mine != other or mine > common:
            break
        last = mine
    return last


def saved_positions(
    prefix_ids: Sequence[int],
    prefix_splits: Sequence[int],
    ids: Sequence[int],
    *,
    chunk: int,
    wanted: Collection[int] = (),
    window: int = 16,
) -> int:
    """How many positions rows of that prefix save the prompt `ids`, which is prefilled by these pieces.

    The last `window` queries are always computed: the importance begins with them.
    """
    last = len(ids) - max(window, 1)
    return usable(prefix_ids, prefix_splits, ids, [end for end in splits_of(len(ids), chunk, wanted) if end <= last])


def restore(cache: DecoderCache, sequence: int, rows: Iterator[Rows], count: int) -> None:
    """Write the first `count` of these rows to the cache as committed positions of the sequence."""
    for layer, (keys, values) in zip(cache.layers, rows, strict=True):
        layer.write_committed(sequence, Rows(keys[:, :count], values[:, :count]))
    cache.lengths[sequence] = count


def rows_of(cache: DecoderCache, sequence: int, count: int, *, release: bool = False) -> Iterator[Rows]:
    """The first `count` rows of every layer. With `release` a layer's memory is given up when the next is asked for."""
    for layer in cache.layers:
        yield Rows(*(store[sequence, :, :count] for store in layer.dense))
        if release:
            layer.release()
