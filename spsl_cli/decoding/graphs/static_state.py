"""What a static step is told and what it leaves behind: tensors at fixed addresses, filled once for many steps."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from spsl_cli.decoding.config import K_MAX, SamplingConfig

START, SLOT, DEPTH, LAST, TOKENS = range(5)
"""Columns of `StepState.inputs`."""


class StepState:
    """The buffers of one step for R rows of q tokens.

    inputs [R, 4 + q]: for each row the position of its first token, its slot in the view, how many steps were made,
    the last position there is, and the tokens; one copy from the host sets them all. With tokens chosen on the device,
    a step moves on by itself: the chosen token, one position and slot further.

    shifts [L, R]: for each layer with a view how many slots further its rows are than in the average one.

    record [K_MAX, R, 4]: of each step's choice the token, the entropy of what it was chosen from, the margin of the
    likeliest and the token's probability, in float64, so that one copy to the host tells them all. Where tokens are
    drawn, `uniforms` [K_MAX, R] are the throws of the dice, and `distributions` [K_MAX, R, V] what was drawn from.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        device: torch.device,
        sampling: SamplingConfig | None,
        like: torch.Tensor,
    ) -> None:
        """shape: R, q and L. like: a tensor [V, ...] of the type that logits have."""
        rows, tokens, layers = shape
        self.inputs = torch.zeros(rows, TOKENS + tokens, dtype=torch.int64, device=device)
        self.offsets = torch.arange(tokens, device=device)
        self.onward = torch.zeros(TOKENS + tokens, dtype=torch.int64, device=device)
        self.onward[[START, SLOT, DEPTH]] = 1
        self.record = torch.zeros(K_MAX, rows, 4, dtype=torch.float64, device=device)
        self.shifts = torch.zeros(layers, rows, dtype=torch.int64, device=device)
        self.uniforms = torch.zeros(K_MAX, rows, dtype=torch.float64, device=device)
        self.distributions: torch.Tensor | None = None
        if sampling is not None and sampling.temperature > 0:
            dtype = torch.promote_types(like.dtype, torch.float32)
            self.distributions = torch.zeros(K_MAX, rows, like.shape[0], dtype=dtype, device=device)

    @property
    def tokens(self) -> torch.Tensor:
        """[R, q], a view."""
        return self.inputs[:, TOKENS:]

    @property
    def depth(self) -> torch.Tensor:
        """[1]: how many steps were made, the same for all rows."""
        return self.inputs[0, DEPTH : DEPTH + 1]

    def places(self, column: int) -> torch.Tensor:
        """[R, q]: where every token is, from `START` or `SLOT` on."""
        return self.inputs[:, column, None] + self.offsets

    @property
    def positions(self) -> torch.Tensor:
        """[R, q]: their positions for the model. Rows run beyond their end stay at its last position."""
        return self.places(START).minimum(self.inputs[:, LAST, None])

    def enter(
        self,
        tokens: Sequence[Sequence[int]],
        starts: Sequence[int],
        slots: Sequence[int],
        lasts: Sequence[int],
        uniforms: Sequence[Sequence[float]] = (),
        shifts: Sequence[Sequence[int]] = (),
    ) -> None:
        """Begin at these places; `uniforms`: for each step to come a throw for every row. Waits for nothing."""
        lines = [
            [start, slot, 0, last, *line] for line, start, slot, last in zip(tokens, starts, slots, lasts, strict=True)
        ]
        self._copy(self.inputs, torch.tensor(lines))
        if shifts:
            self._copy(self.shifts, torch.tensor(shifts))
        if uniforms and self.distributions is not None:
            self._copy(self.uniforms[: len(uniforms)], torch.tensor(uniforms, dtype=torch.float64))

    def _copy(self, to: torch.Tensor, values: torch.Tensor) -> None:
        pinned = values.pin_memory() if to.device.type == "cuda" else values  # from other memory a copy waits
        to.copy_(pinned, non_blocking=True)

    def move_on(self, chosen: torch.Tensor) -> None:
        """Go on behind the chosen tokens [R]."""
        self.inputs.add_(self.onward)
        self.tokens.copy_(chosen[:, None])
