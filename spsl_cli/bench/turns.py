"""In which order systems decode, and what the plain loop did right before and behind each: the two sides of a ratio.

A machine that others use too is faster and slower by turns, for a minute or for ten. The plain loop decodes between any
few other systems, so that what a ratio is made of lies seconds apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from spsl_cli.bench.systems.catalogue import AR
from spsl_cli.bench.traces import Trace

BETWEEN = 4
"""Other systems that decode between two turns of the plain loop, at most."""


def schedule(names: Sequence[str], repeats: int) -> Iterator[tuple[str, int]]:
    """Which system decodes next, in which repeat: 0 is not counted.

    In each further repeat another system is the first of those that are not `ar`. `ar`, if it is one of them, comes
    before every few of the others, and at last once more.
    """
    plain, others = AR in names, [name for name in names if name != AR]
    for repeat in range(repeats + 1):
        start = repeat % max(1, len(others))
        order = [*others[start:], *others[:start]]
        for begin in range(0, max(1, len(order)), BETWEEN):
            if plain and (repeat or not begin):
                yield AR, repeat
            yield from ((name, repeat) for name in order[begin : begin + BETWEEN])
    if plain:
        yield AR, repeats


class Neighbours:
    """Gives each counted decoding of a batch the plain loop's rate beside it: the mean of its turns around that."""

    def __init__(self, plain: Trace | None) -> None:
        self._plain = plain
        self._turns: list[float] = []
        self._counted: list[bool] = []
        self._waiting: list[Trace] = []

    def decoded(self, trace: Trace, rate: float, *, counted: bool) -> None:
        """Of whom the next decoding was, and its tokens per second."""
        if trace is not self._plain:
            if counted:
                self._waiting.append(trace)
            return
        for other in self._waiting:
            other.beside.append(fmean([*self._turns[-1:], rate]))
        self._waiting = []
        self._turns.append(rate)
        self._counted.append(counted)

    def end(self) -> None:
        """The batch is done: the plain loop has turns of its own beside its own, before and behind."""
        for at, counted in enumerate(self._counted):
            around = [*self._turns[max(0, at - 1) : at], *self._turns[at + 1 : at + 2]]
            if counted and self._plain is not None and around:
                self._plain.beside.append(fmean(around))
