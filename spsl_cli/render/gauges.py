"""The panel's figures: bars, counts, rates, speedup. Fields keep their width, so that nothing moves with them."""

from __future__ import annotations

from spsl_cli.events import SpeculationStats, TokenKind
from spsl_cli.render.figures import (
    UNKNOWN,
    acceptance,
    agreement,
    budget,
    count,
    mean_accepted,
    speedup,
    tokens_per_s,
)
from spsl_cli.render.glyphs import Glyphs
from spsl_cli.render.line import Line, pack, width
from spsl_cli.render.sanitise import one_line
from spsl_cli.render.view import AnswerView

WIDE, MEDIUM = 64, 36  # cells from which labels are spelt out, and from which there is more than the barest figures
_SHORTEST_BAR = 4
_GAP = 2


def rule(title: str, right: Line, cells: int, glyphs: Glyphs) -> Line:
    """A rule with a title on its left and, where there is room, something on its right."""
    line = Line().add(glyphs.rule * 2, "dim").add(f" {title} ", "bold")
    room = cells - line.width - right.width - 4  # a space on both sides of `right`, and the rule's end
    if not right.spans or room < 2:  # noqa: PLR2004 - less would not look like a rule
        return line.add(glyphs.rule * (cells - line.width), "dim")
    return line.add(glyphs.rule * room + " ", "dim").extend(right).add(" " + glyphs.rule * 2, "dim")


def bar(share: float, cells: int, glyphs: Glyphs, styles: tuple[str, str]) -> Line:
    """`share` of `cells` full; a share above nothing shows at least one cell, one below everything leaves one."""
    full = round(min(share, 1.0) * cells)
    if 0 < share < 1:
        full = min(max(full, 1), cells - 1)
    return Line().add(glyphs.full * full, styles[0]).add(glyphs.rest * (cells - full), styles[1])


def length(answer: AnswerView) -> Line:
    """New tokens so far, of how many at most."""
    if answer.started is None:
        return Line()
    most = count(answer.started.max_new_tokens)
    done = count(answer.stats.new_tokens if answer.stats else 0)
    return Line().add(f"{done.rjust(len(most))} of {most} tokens", "dim")


def setting(answer: AnswerView, glyphs: Glyphs) -> Line:
    """How the drafts are made."""
    if answer.started is None:
        return Line()
    controller = one_line(answer.started.controller)
    return Line().add(f"{controller}{glyphs.separator}budget {budget(answer.started.budget)}", "dim")


def drafts(stats: SpeculationStats | None, cells: int, glyphs: Glyphs) -> Line:
    """Accepted against rejected draft tokens, as numbers and as a bar."""
    if stats is not None and not stats.enabled:
        return Line().add("speculation off", "dim")
    accepted, drafted = (stats.accepted, stats.drafted) if stats else (0, 0)
    if cells >= MEDIUM:
        line = _first("accepted", count(accepted), TokenKind.ACCEPTED)
        right = f"{count(drafted - accepted):>6} rejected"
    else:
        line = Line().add(f"{count(accepted)} {glyphs.marks[TokenKind.ACCEPTED]}", TokenKind.ACCEPTED)
        right = f"{count(drafted - accepted)} {glyphs.marks[TokenKind.REJECTED]}"
    line.add(" " * _GAP)
    room = cells - line.width - width(right) - 1
    if room >= _SHORTEST_BAR:
        # Before anything was drafted nothing was rejected either.
        styles = (TokenKind.ACCEPTED, TokenKind.REJECTED) if drafted else ("dim", "dim")
        line.extend(bar(accepted / drafted if drafted else 0.0, room, glyphs, styles)).add(" ")
    return line.add(right, TokenKind.REJECTED)


def measures(answer: AnswerView, cells: int) -> Line:
    """k*, acceptance, mean accepted, rounds."""
    stats = answer.stats
    now_k = answer.rounds[-1].k_star if answer.rounds else None
    k_star = UNKNOWN if now_k is None else str(now_k)
    share, mean, rounds = UNKNOWN, UNKNOWN, UNKNOWN
    if stats is not None:
        share, mean, rounds = acceptance(stats), mean_accepted(stats), count(stats.rounds)
    if cells >= WIDE:
        fields = [_field("acceptance", share, 7), _field("mean accepted", mean, 5), _field("rounds", rounds, 5)]
        return pack([_first("k*", k_star), *fields], cells, _GAP)
    if cells >= MEDIUM:
        return pack([_first("k*", k_star), _field("acc", share, 7), _field("mean", mean, 5)], cells, _GAP)
    return pack([_field("acc", share, 7), _field("k*", k_star, 2)], cells, _GAP)


def speed(answer: AnswerView, cells: int) -> Line:
    """Tokens a second, and the speedup over plain decoding: `measured`, `estimated` or, with the reason, not there."""
    stats = answer.stats
    now = tokens_per_s(stats) if stats else UNKNOWN
    told = speedup(stats, answer.comparison) if stats else UNKNOWN
    short = Line().add("speedup -" if told == UNKNOWN else told, "bold")
    if cells < MEDIUM:
        return pack([short, Line().add(now, "bold").add(" tok/s", "dim")], cells, _GAP)
    first = _first("tokens/s", now)
    if cells < WIDE:
        return pack([first, short], cells, _GAP)
    if answer.comparison is not None:
        why = agreement(answer.comparison)
    else:
        why = "needs a timed plain step" if told == UNKNOWN and (stats is None or stats.enabled) else ""
    return pack([first, _field("speedup over AR", told, 0), Line().add(why, "dim")], cells, _GAP)


def _first(label: str, value: str, style: str = "") -> Line:
    """The first column, of the same width in each row."""
    return Line().add(f"{label:<8}", style or "dim").add(f"{value:>6}", style or "bold")


def _field(label: str, value: str, cells: int) -> Line:
    return Line().add(f"{label} ", "dim").add(value.rjust(cells), "bold")
