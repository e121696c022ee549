"""One line of the panel: pieces of text with style names, measured in terminal cells. It knows no colours, no events.

Widths are upper bounds: terminals disagree about joined emoji and variation selectors, and a line that one of them
thinks too long would wrap and break the panel.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.cells import get_character_cell_size

from spsl_cli.render.sanitise import clean

_EMOJI_PRESENTATION = "\ufe0f"


def width(text: str) -> int:
    """The most cells that `text` can take, joined emoji counted part by part."""
    if text.isascii():
        return len(text)
    return sum(map(get_character_cell_size, text)) + text.count(_EMOJI_PRESENTATION)


def fitting(text: str, cells: int) -> int:
    """How many characters of `text` fit into `cells`; at least one, so that whoever cuts there gets on."""
    if len(text) <= cells and text.isascii():
        return len(text)
    used = 0
    for at, character in enumerate(text):
        used += 1 if character == _EMOJI_PRESENTATION else get_character_cell_size(character)
        if used > cells:
            return max(1, at)
    return len(text)


def crop(text: str, cells: int, ellipsis: str) -> str:
    """`text`, or as much of its beginning as leaves room for the ellipsis."""
    if width(text) <= cells:
        return text
    room = cells - width(ellipsis)
    return text[: fitting(text, room)].rstrip() + ellipsis if room > 0 else ""


@dataclass(slots=True)
class Line:
    """Pieces in order. Whatever is added is cleaned here, so that nothing reaches the terminal past the sanitiser."""

    spans: list[tuple[str, str]] = field(default_factory=list)
    width: int = 0

    def add(self, text: str, style: str = "") -> Line:
        """Append `text` (line breaks and tabs as spaces); returns the line itself."""
        safe = clean(text, keep_newlines=False)
        if safe:
            self.spans.append((safe, style))
            self.width += width(safe)
        return self

    def extend(self, other: Line) -> Line:
        """Append the pieces of another line; returns the line itself."""
        self.spans += other.spans
        self.width += other.width
        return self

    @property
    def text(self) -> str:
        """The line without styles."""
        return "".join(text for text, _ in self.spans)


def pack(items: list[Line], cells: int, gap: int) -> Line:
    """The leading items that fit, `gap` spaces between them; the first always stands."""
    line = Line().extend(items[0])
    for item in items[1:]:
        if line.width + gap + item.width > cells:
            break
        line.add(" " * gap).extend(item)
    return line
