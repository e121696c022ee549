"""What is noted of a system while its cell is measured: rates, tokens, where they first differ from plain decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spsl_cli.bench.systems.base import Decoded
from spsl_cli.comparison import first_difference

if TYPE_CHECKING:
    from spsl_cli.decoding.run import DecodingRun


@dataclass(frozen=True)
class Difference:
    """A decoding has another token than the plain one at `index`; `margin`: of the choice there, in logits.

    None where it is not known: in rows behind the first, and where one output ends before the other.
    """

    index: int
    margin: float | None


@dataclass
class Trace:
    """One system. `rates` of every counted decoding, of all batches; `decodings` of the batch under way, counted
    or not.

    `beside`: for each of the rates that of the plain loop around it.
    `typical`: of every batch the counted decoding whose rate is the median (of two the slower), so that its times and
    the median rate are of one repeat. `unavailable`: why the system does not run here.
    """

    name: str
    rates: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    decodings: list[Decoded] = field(default_factory=list)
    counted: list[Decoded] = field(default_factory=list)
    typical: list[Decoded] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    unavailable: str | None = None

    def note(self, decoded: Decoded, peak: int | None, *, counted: bool) -> None:
        """One decoding."""
        self.decodings.append(decoded)
        if counted:
            self.rates.append(decoded.tokens_per_s)
            self.counted.append(decoded)
        if peak is not None:
            self.peaks.append(peak)

    def end_batch(self) -> None:
        """What is kept of a batch is its typical decoding."""
        if kept := self.counted or self.decodings:
            ordered = sorted(kept, key=lambda decoded: decoded.tokens_per_s)
            self.typical.append(ordered[(len(ordered) - 1) // 2])
        self.decodings, self.counted = [], []

    @property
    def new_tokens(self) -> int:
        """Of all rows and batches."""
        return sum(len(ids) for decoded in self.typical for ids in decoded.token_ids)


def first_differences(decodings: Sequence[Decoded], plain: Decoded, run: DecodingRun) -> list[Difference]:
    """Where each of these decodings of `run` first differs from the plain one, row by row; each place once."""
    places = set()
    for decoded in decodings:
        for row, (ours, theirs) in enumerate(zip(decoded.token_ids, plain.token_ids, strict=True)):
            index = first_difference(ours, theirs)
            if index is not None:
                places.add((row, index))
    last = max((index for row, index in places if row == 0), default=0)
    margins = run.margins(last) if last else []
    return [
        Difference(index, margins[index - 1] if row == 0 and 0 < index <= len(margins) else None)
        for row, index in sorted(places)
    ]
