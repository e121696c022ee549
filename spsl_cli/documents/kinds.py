"""The registry of kinds: which reader takes a source.

A new kind is a module with `matches` and `read`, and a line here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from spsl_cli.documents.source import Extract, Source

_ZIP, _OLE = b"PK", b"\xd0\xcf\x11\xe0"


@dataclass(frozen=True, slots=True)
class Kind:
    """A reader, imported when a source may be of its kind: those of rare kinds take time to import.

    `starts` and `suffixes` are what a source of the kind begins with or is named by, if the kind can be told from
    others that way; one of them is enough for the reader to be asked.
    """

    name: str
    module: str
    starts: tuple[bytes, ...] = ()
    suffixes: tuple[str, ...] = ()

    def matches(self, source: Source) -> bool:
        """Whether the reader takes the source, by its content first and its name second."""
        return self._may_be(source) and bool(self._reader().matches(source))

    def read(self, source: Source) -> Extract:
        """The text by page. Raises UnreadableError."""
        extract: Extract = self._reader().read(source)
        return extract

    def _may_be(self, source: Source) -> bool:
        if not self.starts and not self.suffixes:
            return True
        return source.data.startswith(self.starts) or source.suffix in self.suffixes

    def _reader(self) -> Any:
        return import_module(f"spsl_cli.documents.{self.module}")


PDF = Kind("PDF", "pdf.reader")
KINDS = (
    PDF,
    Kind("Word", "docx", starts=(_ZIP, _OLE)),
    Kind("EPUB", "epub", starts=(_ZIP,)),
    Kind("unsupported", "unsupported"),
    Kind("HTML", "html"),
    Kind("notebook", "notebook", starts=(b"{", b" ", b"\n", b"\r", b"\t", b"\xef\xbb\xbf"), suffixes=(".ipynb",)),
    Kind("e-mail", "mail", suffixes=(".eml", ".mbox", ".mht", ".mhtml")),
    Kind("table", "table", suffixes=(".csv", ".tsv", ".tab")),
    Kind("Markdown", "markdown"),
    Kind("text", "text"),
)


def kind_of(source: Source) -> Kind:
    """The first kind that takes the source; the last one takes all."""
    return next(kind for kind in KINDS if kind.matches(source))
