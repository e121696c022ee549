"""Where a static forward stands, and what follows from it, computed once for all layers. All of it on the device."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch


@dataclass
class StepFrame:
    """Where the static forward under way writes and what it sees, as tensors: set anew by every call of the step.

    dense, view: for each row of the batch and each of its tokens [R, q] the position in the dense cache, and the slot
    in the sparse view.
    """

    dense: torch.Tensor
    view: torch.Tensor
    _masks: dict[tuple[str, int, int, int], torch.Tensor] = field(default_factory=dict)
    _reaches: dict[tuple[int, int], torch.Tensor] = field(default_factory=dict)
    _lengths: dict[tuple[str, int], torch.Tensor] = field(default_factory=dict)

    def move(self, dense: torch.Tensor, view: torch.Tensor) -> None:
        """To other places; what was concluded from the old ones is void."""
        self.dense, self.view = dense, view
        self._masks, self._reaches, self._lengths = {}, {}, {}

    def length(self, name: str, i: int, own: torch.Tensor) -> torch.Tensor:
        """How many rows the last of row i's tokens sees where there is no window: one number, int32.

        own: where the tokens are [q]. name: what tells these places from others in the same forward.
        """
        if (name, i) not in self._lengths:
            self._lengths[name, i] = (own[-1:] + 1).int()
        return self._lengths[name, i]

    def reach(self, i: int, window: int, count: int) -> torch.Tensor:
        """The `count` positions [count] that hold the window of every token of row i, oldest first."""
        key = (i, window)
        if key not in self._reaches:
            first = (self.dense[i, :1] - (window - 1)).clamp_min(0)
            self._reaches[key] = first + torch.arange(count, device=self.dense.device)
        return self._reaches[key]

    def mask(
        self,
        name: str,
        i: int,
        own: torch.Tensor,
        keys: torch.Tensor | int,
        groups: int,
        dtype: torch.dtype,
        window: int | None = None,
    ) -> torch.Tensor:
        """[G*q, n] additive mask, 0 or -inf, of row i's tokens over keys at these places [n], or at the first n.

        own, name: as in `length`.
        """
        key = (name, i, groups, window or 0)
        if key not in self._masks:
            places = torch.arange(keys, device=own.device) if isinstance(keys, int) else keys
            behind = own[:, None] - places
            hidden = behind < 0
            if window is not None:
                hidden = hidden | (behind >= window)
            seen = torch.zeros(hidden.shape, dtype=dtype, device=own.device)
            self._masks[key] = seen.masked_fill_(hidden, float("-inf")).repeat(groups, 1)
        return self._masks[key]
