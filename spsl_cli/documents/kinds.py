"""The registry of kinds: which reader takes a source.

A new kind is a module with `matches` and `read`, and a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spsl_cli.documents import docx, epub, html, mail, markdown, notebook, table, text, unsupported
from spsl_cli.documents.pdf import reader as pdf
from spsl_cli.documents.source import Extract, Source


@dataclass(frozen=True, slots=True)
class Kind:
    """`matches` asks content first and name second; `read` gives the text by page or raises UnreadableError."""

    name: str
    matches: Callable[[Source], bool]
    read: Callable[[Source], Extract]


KINDS = (
    Kind("PDF", pdf.matches, pdf.read),
    Kind("Word", docx.matches, docx.read),
    Kind("EPUB", epub.matches, epub.read),
    Kind("unsupported", unsupported.matches, unsupported.read),
    Kind("HTML", html.matches, html.read),
    Kind("notebook", notebook.matches, notebook.read),
    Kind("e-mail", mail.matches, mail.read),
    Kind("table", table.matches, table.read),
    Kind("Markdown", markdown.matches, markdown.read),
    Kind("text", text.matches, text.read),
)


def kind_of(source: Source) -> Kind:
    """The first kind that takes the source; the last one takes all."""
    return next(kind for kind in KINDS if kind.matches(source))
