"""Does this model, run on our cache and attention, compute what it computes by itself? A short forward tells.

A configuration alone does not settle it: a model may have layers that keep state elsewhere, attention that scales,
caps or masks in its own way, a window that its configuration does not tell, or positions that it counts itself.
"""

from __future__ import annotations

import torch

from spsl_cli.decoding.attend import FEW_ROWS
from spsl_cli.decoding.kv_cache import DecoderCache, LayerSizes
from spsl_cli.decoding.positions import exact_positions
from spsl_cli.decoding.target import TargetModel
from spsl_cli.errors import UnsupportedModelError

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3}
LOOSE_TOLERANCE = 0.1
"""Largest difference of logits, as a share of their largest magnitude.

The loose one is for 16 bit. There a mixture of experts may send a token to another expert by a rounding, and then its
logits are others; so of each row of each forward the median over its tokens has to be within it.
"""

LONGEST_WINDOW = 512
"""A sliding window up to this many positions is looked past; over a longer one the probe would cost too much."""

PREFILL, VERIFY = FEW_ROWS + 3, 5
COMPARED = PREFILL + VERIFY + 1
BEHIND = 3
"""By how many positions the second row of the probe's batch is behind the first."""

_WHATEVER_MODELS_RAISE = (AttributeError, LookupError, RuntimeError, TypeError, ValueError)


class Probe:
    """What the model computes by itself for a short text, to hold the decoder's forwards against.

    Models with a window of at most `LONGEST_WINDOW` positions get a prefill chunk of that length first, so that all
    forwards compared look past it.
    """

    def __init__(self, target: TargetModel) -> None:
        self.target = target
        self._before = _window_to_fill(target)
        length = self._before + COMPARED
        self._token_ids = (torch.arange(length, device=target.device) * 7919 + 11)[None] % target.vocabulary
        name = type(target.model).__name__
        try:
            self._expected = target.own_logits(self._token_ids, COMPARED)
        except torch.OutOfMemoryError:
            raise
        except _WHATEVER_MODELS_RAISE as error:
            raise UnsupportedModelError(
                f"{name} does not give logits for {length} tokens by itself ({type(error).__name__}: {error})"
            ) from error
        if self._expected.dim() != 2 or len(self._expected) != COMPARED:  # noqa: PLR2004
            raise UnsupportedModelError(f"{name} does not give logits for every token")
        if not self._expected.isfinite().all():
            raise UnsupportedModelError(f"{name} gives logits that are not finite: are its weights sound?")

    def check(self) -> None:
        """Compare logits of a prefill chunk, a verify and a plain step of two rows with the model's own.

        Raises UnsupportedModelError, with what differed.
        """
        name = type(self.target.model).__name__
        try:
            parts = _run(self.target, self._token_ids[0], self._before)
        except torch.OutOfMemoryError:
            raise
        except _WHATEVER_MODELS_RAISE as error:
            raise UnsupportedModelError(
                f"{name} does not run on the decoder's cache ({type(error).__name__}: {error})"
            ) from error
        difference = max(_difference(part, self._expected[start - self._before :].float()) for start, part in parts)
        tolerance = TOLERANCE.get(self.target.dtype, LOOSE_TOLERANCE)
        if not difference <= tolerance:
            raise UnsupportedModelError(
                f"{name}: logits on the decoder's attention differ from the model's own by {difference:.1e} "
                f"of their magnitude (at most {tolerance:g} is rounding)"
            )


def _difference(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """Of logits [n, V] from those of the same positions (and later ones), as a share of their magnitude."""
    scale = expected.abs().max().clamp_min(1e-6)
    of_tokens = (actual.float() - expected[: len(actual)]).abs().amax(-1) / scale
    return float(of_tokens.max() if actual.dtype in TOLERANCE else of_tokens.median())


def _window_to_fill(target: TargetModel) -> int:
    """The smallest attention window, 0 if there is none or if it is too long to be looked past."""
    window = min((window for window in target.windows if window is not None), default=0)
    limit = exact_positions(target.model.config)
    reachable = limit is None or window + COMPARED <= limit
    return window if window <= LONGEST_WINDOW and reachable else 0


def _run(target: TargetModel, token_ids: torch.Tensor, before: int) -> list[tuple[int, torch.Tensor]]:
    """Run `token_ids` [T] as a decoding would, the first `before` for the cache alone.

    Returns, for every row of every forward compared, its first position and its logits [n, V].
    """
    cache = target.allocate(LayerSizes(2, len(token_ids)))
    parts: list[tuple[int, torch.Tensor]] = []

    def forward(rows: int, *sequences: int) -> None:
        starts = [cache.lengths[sequence] for sequence in sequences]
        inputs = torch.stack([token_ids[start : start + rows] for start in starts])
        parts.extend(zip(starts, target.dense_forward(cache, inputs, sequences), strict=True))
        for sequence in sequences:
            cache.commit(sequence, rows, 1)

    if before:
        target.dense_forward(cache, token_ids[None, :before], (0,), logits=1)
        cache.commit(0, before, 1)
    forward(PREFILL, 0)
    unused = [i for i, layer in enumerate(cache.layers) if not layer.is_initialized]
    if unused:
        raise UnsupportedModelError(
            f"{type(target.model).__name__}: layers {unused[:8]} do not attend through the cache"
        )
    _copy_first_row(cache)
    forward(VERIFY, 0, 1)
    forward(1, 0, 1)
    return parts


def _copy_first_row(cache: DecoderCache) -> None:
    """Give the second sequence what the first one holds, but for the last `BEHIND` positions."""
    with torch.inference_mode():
        for layer in cache.layers:
            for rows in layer.dense:
                rows[1] = rows[0]
    cache.commit(1, cache.lengths[0] - BEHIND, 1)
