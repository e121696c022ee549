"""Whether a person sees what is shown: the reasons why a run is hidden, found while the page is drawn."""

from __future__ import annotations

from math import hypot

from spsl_cli.documents.pdf.colours import WHITE, Colour, are_alike
from spsl_cli.documents.pdf.runs import Box, Run, inside
from spsl_cli.documents.pdf.state import State
from spsl_cli.documents.pdf.surface import Surface

INVISIBLE, TRANSPARENT, TINY, OUTSIDE = "invisible", "transparent", "tiny", "outside the page"
WHITE_ON_WHITE, SAME_COLOUR = "white on white", "in the colour of what is behind it"
CLIPPED, CUTTING, LAYER = "clipped away", "it only clips", "on a layer that is switched off"

_STROKED, _OUTLINED, _INVISIBLE, _CUTTING = (1, 2, 5, 6), (1, 5), 3, 7
# In points.
_SMALLEST = 1.0
# In parts of the size: between these heights stands something of nearly each letter, and both are looked at.
_HEIGHTS = (0.05, 0.5)
_MOST_PLACES = 12
_SLACK = 0.1


class Sight:
    """Judges the runs of one page; `unit` is how many points the units of its lengths are."""

    def __init__(self, surface: Surface, page: Box, unit: float) -> None:
        self._surface = surface
        self._page = page
        self._smallest = _SMALLEST / unit

    def judge(self, state: State, run: Run, *, layer_off: bool, flat: bool) -> None:
        """Writes into a run why it is hidden, if it is; `flat` says that its glyphs are pressed into nothing."""
        run.hidden = self._reason(state, run, layer_off=layer_off, flat=flat)
        if run.hidden == CUTTING:
            state.outlines = (*state.outlines, run)

    def _reason(self, state: State, run: Run, *, layer_off: bool, flat: bool) -> str:  # noqa: PLR0911 - one for each reason
        if layer_off:
            return LAYER
        if state.mode == _INVISIBLE:
            return INVISIBLE
        filled, stroked = state.mode not in _OUTLINED, state.mode in _STROKED
        if not (filled and state.fills) and not (stroked and state.strokes):
            return TRANSPARENT
        if run.size < self._smallest or flat:
            return TINY
        middle = (run.x + run.end_x) / 2, (run.y + run.end_y) / 2
        if not any(inside(*at, self._page, run.size) for at in ((run.x, run.y), middle, (run.end_x, run.end_y))):
            return OUTSIDE
        up = -run.direction[1], run.direction[0]
        if state.clip is not None and not is_within((run.x, run.y), (run.end_x, run.end_y), up, run.size, state.clip):
            return CLIPPED
        if state.mode == _CUTTING:
            return CUTTING
        colours = [state.fill] * filled + [state.stroke] * stroked
        found = [self._is_lost(run, colour) if colour is not None else False for colour in colours]
        if all(found):
            return WHITE_ON_WHITE if all(are_alike(colour, WHITE) for colour in colours if colour) else SAME_COLOUR
        run.doubtful = False not in found
        return ""

    def _is_lost(self, run: Run, colour: Colour) -> bool | None:
        """Whether a run has the colour of what lies behind all of it; None if that is not known."""
        places = max(1, min(_MOST_PLACES, int(hypot(run.end_x - run.x, run.end_y - run.y) / (run.size or 1))))
        result: bool | None = True
        for number in range(places):
            part = (number + 0.5) / places
            x, y = run.x + part * (run.end_x - run.x), run.y + part * (run.end_y - run.y)
            for height in _HEIGHTS:
                lift = height * run.size
                lost = self._surface.hides(x - run.direction[1] * lift, y + run.direction[0] * lift, colour)
                if lost is False:
                    return False
                result = lost and result
        return result


def is_within(
    start: tuple[float, float], end: tuple[float, float], up: tuple[float, float], size: float, clip: Box
) -> bool:
    """Whether any of the letters of a line between two points lie in a box. `up` is where their tops point to."""
    length = hypot(*up)
    tops = [
        (up[0] / length * size * height, up[1] / length * size * height) if length else (0.0, 0.0)
        for height in _HEIGHTS
    ]
    xs = [x + top for x in (start[0], end[0]) for top, _ in tops]
    ys = [y + top for y in (start[1], end[1]) for _, top in tops]
    slack = _SLACK * size
    across = min(xs) <= clip[2] + slack and max(xs) >= clip[0] - slack
    return across and min(ys) <= clip[3] and max(ys) >= clip[1]
