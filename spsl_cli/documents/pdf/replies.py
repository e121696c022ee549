"""What the parsing process answers -> outlines and pages, believed no further than their form. Asks nothing itself.

The process enforces the limits too; but it may be in the hands of a document by the time it answers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from spsl_cli.documents.encoding import REPLACEMENT
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.pdf.protocol import ProtocolError, build
from spsl_cli.documents.pdf.raw import Outline, RawPage
from spsl_cli.documents.source import UnreadableError
from spsl_cli.documents.wording import one_line

_LABEL_LENGTH = 40
_WARNING_LENGTH = 400
_MOST_WARNINGS = 20
_MOST_MARGINS = 8
_MOST_UNJOINED = 1000
# In a sound answer none of these is left; a form feed, above all, would shift the numbers of all later pages.
_FOREIGN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def outline_of(reply: dict[str, Any], limits: Limits) -> Outline:
    """The answer to opening a file. Raises UnreadableError where it says so, ProtocolError where it makes no sense."""
    if "unreadable" in reply:
        raise UnreadableError(_line(reply["unreadable"]))
    outline = build(Outline, reply.get("outline"))
    if not 0 < outline.total == len(outline.labels) <= limits.pages:
        raise ProtocolError(f"{outline.total} pages with {len(outline.labels)} labels")
    labels = tuple(label and one_line(label, _LABEL_LENGTH) for label in outline.labels)
    return replace(outline, labels=labels, warnings=_warnings(outline.warnings))


def page_of(reply: dict[str, Any], limits: Limits) -> RawPage:
    """The answer to asking for a page. Raises ProtocolError."""
    if "failed" in reply:
        return lost(_line(reply["failed"]))
    page = build(RawPage, reply.get("page"))
    if len(page.text) > limits.page_characters:
        return lost(f"{len(page.text):,} characters, more than the limit of {limits.page_characters:,}")
    failed = page.failed and one_line(page.failed, _WARNING_LENGTH)
    return replace(
        page,
        text=_FOREIGN.sub(REPLACEMENT, page.text),
        failed=failed,
        warnings=_warnings(page.warnings),
        margins=page.margins[:_MOST_MARGINS],
        unjoined=page.unjoined[:_MOST_UNJOINED],
    )


def lost(reason: str) -> RawPage:
    """A page of which nothing is left."""
    return RawPage("", reason, (f"could not be read: {reason}",))


def _line(reason: object) -> str:
    if not isinstance(reason, str):
        raise ProtocolError(f"a reason that is of type {type(reason).__name__}")
    return one_line(reason, _WARNING_LENGTH)


def _warnings(warnings: tuple[str, ...]) -> tuple[str, ...]:
    more = (f"{len(warnings) - _MOST_WARNINGS:,} more remarks",) if len(warnings) > _MOST_WARNINGS else ()
    return (*(one_line(warning, _WARNING_LENGTH) for warning in warnings[:_MOST_WARNINGS]), *more)
