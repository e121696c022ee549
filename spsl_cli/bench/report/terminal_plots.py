"""Panels as bars of characters, for a terminal or a log. Whoever writes them out cleans them and knows the width.

Bars need no library and stay legible at 80 columns, where curves of characters are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spsl_cli.bench.report.charts import Panel

NARROWEST = 10
"""Columns of the longest bar where labels leave no room: then lines become longer than the terminal."""
LONGEST_LABEL = 34
_PARTS = {True: "\u2588\u2592\u2591\u2593\u00b7", False: "#=+-."}


def terminal_text(panels: Sequence[Panel], width: int, *, unicode: bool = True) -> str:
    """All panels below each other, each with its title, unit and marks; without `unicode` in ASCII."""
    return "\n\n".join("\n".join(_lines(panel, width, unicode=unicode)) for panel in panels)


def _lines(panel: Panel, width: int, *, unicode: bool) -> Iterator[str]:
    yield f"{panel.title}: {panel.y_label}" + (f", by {panel.x_label}" if panel.x_label else "")
    if panel.stacks:
        yield from _stacks(panel, width, unicode=unicode)
    else:
        rows = list(_rows(panel))
        wide = min(LONGEST_LABEL, max((len(label) for label, _, _ in rows), default=0))
        room = max(NARROWEST, width - wide - 9)
        most = max((value for _, value, _ in rows), default=0.0) or 1.0
        for label, value, noisy in rows:
            bar = _PARTS[unicode][0] * round(room * max(0.0, value) / most)
            figure = f"{value:.1%}" if panel.percent else f"{value:.2f}"
            yield f"{label[:wide]:<{wide}} {bar} {figure}{'?' * noisy}"
        if any(bar.noisy for bar in panel.bars):
            yield "  ?: cannot be told from 1"
    yield from (f"  {mark.label}" for mark in panel.marks)
    if panel.text:
        yield f"  {panel.text}"


def _rows(panel: Panel) -> Iterator[tuple[str, float, bool]]:
    """A label, a value and whether it may be noise for each bar; of lines those of one line together."""
    for bar in panel.bars:
        yield " ".join(bar.label.split()), bar.y.median, bar.noisy
    several = len(panel.lines) > 1
    for line in panel.lines:
        for x, y in zip(line.xs, line.ys, strict=True):
            place = f"{x:,.0f}" if float(x).is_integer() else f"{x:g}"
            yield f"{' '.join(line.label.split())} {place}" if several else place, y.median, False


def _stacks(panel: Panel, width: int, *, unicode: bool) -> Iterator[str]:
    parts = list(dict.fromkeys(part for _, stack in panel.stacks for part in stack))
    signs = {part: _PARTS[unicode][at % len(_PARTS[unicode])] for at, part in enumerate(parts)}
    wide = min(LONGEST_LABEL, max(len(" ".join(name.split())) for name, _ in panel.stacks))
    room = max(NARROWEST, width - wide - 9)
    most = max(sum(stack.values()) for _, stack in panel.stacks) or 1.0
    for name, stack in panel.stacks:
        ends, reached = [0], 0.0  # ends are rounded, not parts: the bar is as long as the sum
        for size in stack.values():
            reached += max(0.0, size)
            ends.append(round(room * reached / most))
        bar = "".join(signs[part] * (end - begin) for part, begin, end in zip(stack, ends, ends[1:], strict=False))
        yield f"{' '.join(name.split())[:wide]:<{wide}} {bar} {sum(stack.values()):.1f}"
    yield "  " + ", ".join(f"{sign} {part}" for part, sign in signs.items())
