"""Marked content: what belongs to a layer, and passages of which the file itself says what they read as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pypdf.generic import create_string_object

from spsl_cli.documents.encoding import REPLACEMENT
from spsl_cli.documents.pdf.layers import Layers
from spsl_cli.documents.pdf.objects import resolved
from spsl_cli.documents.pdf.runs import Run

_MOST_MARKS = 1_000
_LONGEST_SIGN = 2


@dataclass(slots=True)
class _Mark:
    hidden: bool
    text: str | None
    first: int


class Marks:
    """The marks that are open at a point of a content stream; `runs` is the list that grows meanwhile."""

    def __init__(self, layers: Layers, runs: list[Run]) -> None:
        self._layers = layers
        self._runs = runs
        self._open: list[_Mark] = []
        self._extra = 0

    @property
    def hidden(self) -> bool:
        """Whether what is shown now lies on a layer that is switched off."""
        return bool(self._open) and self._open[-1].hidden

    def begin(self, tag: Any, properties: Any) -> None:
        """Opens a mark with its properties, or a reference to them."""
        if len(self._open) >= _MOST_MARKS:
            self._extra += 1
            return
        hidden = self.hidden or (tag == "/OC" and self._layers.hides(properties))
        entries = resolved(properties)
        text = resolved(entries.get("/ActualText")) if isinstance(entries, dict) else None
        if isinstance(text, bytes):
            text = create_string_object(text)
        if isinstance(text, bytes):
            text = text.decode("latin-1")
        self._open.append(_Mark(hidden, text if isinstance(text, str) else None, len(self._runs)))

    def end(self) -> None:
        """Closes the last mark; what it covers reads as it says, where that can be true of what is seen."""
        if self._extra:
            self._extra -= 1
        elif self._open:
            mark = self._open.pop()
            covered = self._runs[mark.first :]
            if mark.text is not None and covered and _can_stand_for(mark.text, "".join(r.text for r in covered)):
                covered[0].text, covered[0].glyphs = mark.text, None
                covered[0].end_x, covered[0].end_y = covered[-1].end_x, covered[-1].end_y
                del self._runs[mark.first + 1 :]

    def enter(self, *, hidden: bool) -> int:
        """Opens the mark of a form; gives what `leave` closes it by."""
        depth = len(self._open)
        self._open.append(_Mark(hidden, None, len(self._runs)))
        return depth

    def leave(self, depth: int) -> None:
        """Closes a form's mark, and all that it left open."""
        del self._open[depth:]


def _can_stand_for(text: str, glyphs: str) -> bool:
    """Whether `text` may be what `glyphs` read as: it could also say what nobody sees, or hide what everybody does."""
    if REPLACEMENT in glyphs:
        return bool(text)
    return len(text) <= 2 * len(glyphs) + 8 and (len(glyphs) <= _LONGEST_SIGN or 3 * len(text) >= len(glyphs))
