"""The state of drawing that text depends on, as the operators of a content stream change it."""

from __future__ import annotations

from dataclasses import dataclass

from spsl_cli.documents.pdf.faces import Face
from spsl_cli.documents.pdf.runs import IDENTITY, Matrix

_WHITE = 0.985


@dataclass(slots=True)
class State:
    """Lengths as the operators give them; `white` tells whether fills are white, `painted` whether they show at all."""

    matrix: Matrix
    face: Face
    size: float = 1.0
    characters: float = 0.0
    words: float = 0.0
    stretch: float = 1.0
    leading: float = 0.0
    rise: float = 0.0
    mode: int = 0
    white: bool = False
    inks: bool = False
    painted: bool = True

    def copy(self) -> State:
        """What `q` sets aside."""
        return State(
            self.matrix,
            self.face,
            self.size,
            self.characters,
            self.words,
            self.stretch,
            self.leading,
            self.rise,
            self.mode,
            self.white,
            self.inks,
            self.painted,
        )


@dataclass(slots=True)
class Pen:
    """Where text goes on: the text matrix, that of the line's start, and the former joined with the state's matrix."""

    text: Matrix = IDENTITY
    line: Matrix = IDENTITY


def is_white(numbers: list[float], *, inks: bool) -> bool:
    """Whether a colour of one, three or four parts is white; with `inks`, its parts are amounts of ink."""
    if not numbers:
        return False
    if inks or len(numbers) == 4:  # noqa: PLR2004 - cyan, magenta, yellow, black
        return all(number <= 1 - _WHITE for number in numbers)
    return all(number >= _WHITE for number in numbers)
