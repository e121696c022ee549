"""The panel's upper lines: what is run on what, and how far its stages are. They know a width, not where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from spsl_cli.events import Started
from spsl_cli.render.figures import amount, count, duration, rate
from spsl_cli.render.gauges import MEDIUM, bar
from spsl_cli.render.glyphs import Glyphs
from spsl_cli.render.line import Line, crop, pack, width
from spsl_cli.render.sanitise import one_line
from spsl_cli.render.view import Stage

_NAME_CELLS = 16
_SHORTEST_BAR = 4
_MINUTE = 60


def heading(started: Started, cells: int, glyphs: Glyphs) -> Line:
    """Command, model, device and number format."""
    command = crop(f"spsl {one_line(started.command)}", cells, glyphs.ellipsis)
    rest = glyphs.separator.join(("", one_line(started.model), f"{one_line(started.device)} {one_line(started.dtype)}"))
    return Line().add(command, "bold").add(crop(rest, cells - width(command), glyphs.ellipsis), "dim")


def documents(started: Started, cells: int, glyphs: Glyphs) -> Line:
    """The documents' names, as many as fit, and the length of the prompt."""
    tail = f"{glyphs.separator}{count(started.prompt_tokens)} prompt tokens"
    names = [one_line(PurePath(path).name or path) for path in started.documents]
    if not names:
        return Line().add(crop(tail.removeprefix(glyphs.separator), cells, glyphs.ellipsis), "dim")
    room = cells - width(tail) if cells >= MEDIUM else cells
    shown = len(names)
    while shown > 1 and width(_and_more(names, shown)) > room:
        shown -= 1
    line = Line().add(crop(_and_more(names, shown), room, glyphs.ellipsis))
    return line.add(tail, "dim") if cells >= MEDIUM else line


def question(started: Started, cells: int, glyphs: Glyphs) -> Line:
    """The question in quotes; an empty line where there is none."""
    if not started.question:
        return Line()
    text = crop(one_line(started.question), cells - 2, glyphs.ellipsis)
    return Line().add(f"{glyphs.opening}{text}{glyphs.closing}")


def stage_row(stage: Stage, cells: int, glyphs: Glyphs, now: float) -> Line:
    """A stage: its name, a bar while it lasts and its length is known, how far it is, how fast, how long."""
    last, wide = stage.last, cells >= MEDIUM
    line = Line().add(f"{glyphs.done if stage.ended else glyphs.active} ", "accepted" if stage.ended else "bold")
    name = crop(one_line(last.stage), min(_NAME_CELLS, cells - line.width), glyphs.ellipsis)
    line.add(name + " " * (_NAME_CELLS - width(name) if wide else 0))
    items = [line]
    if not stage.ended and last.total:
        long = cells // 5 if wide else cells - line.width - 1
        if long >= _SHORTEST_BAR:
            items.append(bar(last.done / last.total, long, glyphs, ("bold", "dim")))
    unit = one_line(last.unit)
    seconds = last.seconds if stage.ended else max(last.seconds, now - stage.since)
    gap = 2 if wide else 1
    room = cells - sum(item.width + gap for item in items)
    facts = (
        crop(amount(last.done, last.total, unit), room, glyphs.ellipsis) if unit else "",
        rate(last.done, last.seconds, unit),
        _time(seconds, exact=stage.ended),
        "" if last.left_s is None or stage.ended else f"{duration(last.left_s)} left",
    )
    items += [Line().add(fact, "dim") for fact in facts if fact]
    return pack(items, cells, gap)


def _time(seconds: float, *, exact: bool) -> str:
    """Of a stage under way whole seconds only: tenths would flicker."""
    if exact:
        return duration(seconds) if seconds > 0 else ""
    whole = int(seconds)
    if whole >= _MINUTE:
        return duration(whole)
    return f"{whole} s" if whole else ""


def _and_more(names: Sequence[str], shown: int) -> str:
    text = ", ".join(names[:shown])
    return text if shown == len(names) else f"{text} and {count(len(names) - shown)} more"
