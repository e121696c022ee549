"""All parts of a Word document -> its text: what stands above and below the pages, the text, its notes and comments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spsl_cli.documents.archive import Archive
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.markup.flow import BLANK_LINE, NEW_LINE, Flow, Room
from spsl_cli.documents.word.context import ENDNOTE, FOOTNOTE, Context, attempt, open_context
from spsl_cli.documents.word.package import Package
from spsl_cli.documents.word.story import Story


@dataclass(frozen=True, slots=True)
class Reading:
    """The text and what the user should know about it."""

    text: str
    warnings: tuple[str, ...]


def read_word(archive: Archive, limits: Limits) -> Reading:
    """Raises UnreadableError where there is no main text, or more than the limits allow.

    The text above the pages stands first, that below them last, each once. Footnotes, endnotes and comments follow.
    """
    room = Room(limits)
    context = open_context(Package(archive), limits, room)
    body = Story(context, context.package.main).read().writer.finish()
    flow = Flow(room)
    for lines in _margin(context, "header"):
        flow.add(lines, BLANK_LINE)
    flow.add(body, BLANK_LINE)
    for lines in _margin(context, "footer"):
        flow.add(lines, BLANK_LINE)
    for kind, part in ((FOOTNOTE, "footnotes"), (ENDNOTE, "endnotes")):
        _add_notes(context, flow, kind, part)
    _add_comments(context, flow)
    if archive.is_twice(context.package.main):
        context.warn(f"the archive holds {context.package.main} twice: the last one is read")
    return Reading("\n".join(flow.finish()), context.told())


def _margin(context: Context, kind: str) -> Iterator[list[str]]:
    """The lines of each header or footer; several that read alike are one."""
    seen = set()
    for part in context.margins[kind]:
        lines: list[str] = []
        attempt(context, f"a {kind}", lambda part=part, lines=lines: lines.extend(_lines(context, part)))  # type: ignore[misc]
        text = tuple(lines)
        if text and text not in seen:
            seen.add(text)
            yield lines


def _lines(context: Context, part: str) -> list[str]:
    return Story(context, part).read().writer.finish()


def _entries(context: Context, kind: str) -> dict[str, tuple[str, list[str]]]:
    found: dict[str, tuple[str, list[str]]] = {}
    for part in context.package.related(context.package.main, kind):
        attempt(context, kind, lambda part=part: found.update(Story(context, part).read().entries))  # type: ignore[misc]
    return found


def _add_notes(context: Context, flow: Flow, kind: str, part: str) -> None:
    """Those that the text refers to, in its order."""
    if not context.notes[kind]:
        return
    entries = _entries(context, part)
    flow.block(BLANK_LINE)
    for identifier, mark in context.notes[kind].items():
        _, lines = entries.get(identifier, ("", []))
        _add_entry(flow, f"{mark} " if mark else "", lines)


def _add_comments(context: Context, flow: Flow) -> None:
    flow.block(BLANK_LINE)
    for identifier, (author, lines) in _entries(context, "comments").items():
        about = " ".join("".join(context.anchors.get(identifier, ())).split())
        by = f" by {author}" if author else ""
        on = f" on “{about}”" if about else ""
        _add_entry(flow, f"[Comment{by}{on}] ", lines)


def _add_entry(flow: Flow, mark: str, lines: list[str]) -> None:
    flow.indent(mark, "  ")
    flow.add(lines, NEW_LINE)
    flow.outdent()
