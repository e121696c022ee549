"""The kind for HTML: what counts as a page, which letters its bytes stand for, and its text as a person reads it."""

from __future__ import annotations

import re

from spsl_cli.documents.charset import decode_declared
from spsl_cli.documents.document import Page
from spsl_cli.documents.encoding import Decoded, decode, mark, wide
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.source import Extract, Source, UnreadableError
from spsl_cli.documents.unseen import Unseen
from spsl_cli.documents.unsupported import is_binary

MEDIA_TYPE = "text/html"
_SUFFIXES = frozenset({".html", ".htm", ".xhtml", ".xht", ".shtml"})
# Templates begin as pages do, but what counts in them is code, which a page would not show.
_TEMPLATES = frozenset({
    ".asp", ".aspx", ".astro", ".ejs", ".erb", ".ftl", ".haml", ".hbs", ".j2", ".jinja", ".jinja2", ".jsp", ".liquid",
    ".mustache", ".njk", ".php", ".phtml", ".svelte", ".tmpl", ".tpl", ".twig", ".vue",
})  # fmt: skip
_START = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_SNIFFED = 4096
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_DECLARES = re.compile(rb"charset|encoding", re.IGNORECASE)


def matches(source: Source) -> bool:
    """Whether the content begins as a page does, or the name says so; not for templates, nor for binary data."""
    named = source.suffix in _SUFFIXES
    begins = source.suffix not in _TEMPLATES and begins_as_page(source.data)
    return (named or begins) and not is_binary(source.data)


def read(source: Source) -> Extract:
    """The page as one. Raises UnreadableError where there is no text, or more than the limits allow."""
    decoded = decode_page(source.data)
    text, warnings, unseen = seen(decoded.text, limits=source.limits)
    warnings += unseen.warnings()
    if not text:
        raise UnreadableError(f"no text ({'; '.join(warnings) or 'scripts may fill the page in, which are not run'})")
    return Extract(MEDIA_TYPE, (Page(1, text),), decoded.encoding, (*decoded.warnings, *warnings))


def plain(markup: str, *, limits: Limits) -> str:
    """An HTML document or fragment as readable text, its title first. Raises UnreadableError beyond `limits`."""
    return seen(markup, limits=limits)[0]


def seen(markup: str, *, limits: Limits) -> tuple[str, tuple[str, ...], Unseen]:
    """The same, with what the user should know, and how much text was left out that nobody sees."""
    # lxml takes time to import, which only those with a page should pay.
    from spsl_cli.documents.markup.rendering import render  # noqa: PLC0415

    rendered = render(markup, limits=limits)
    return rendered.whole, rendered.warnings, rendered.unseen


def begins_as_page(data: bytes) -> bool:
    """Whether the first that stands in it, but for comments, is a document type or an element of HTML."""
    sign, encoding = mark(data) or (b"", wide(data[:_SNIFFED]) or "latin-1")
    return _START.match(data[len(sign) : _SNIFFED].decode(encoding, "ignore")) is not None


def decode_page(data: bytes) -> Decoded:
    """Characters by the byte order mark, as UTF-8, by what the page itself declares, or as any other text."""
    if mark(data):
        return decode(data)
    return decode_declared(_COMMENT.sub(_silenced, data[:_SNIFFED]) + data[_SNIFFED:]) or decode(data)


def _silenced(comment: re.Match[bytes]) -> bytes:
    """A comment that declares no encoding: browsers do not ask there."""
    return _DECLARES.sub(lambda word: b"-" * len(word[0]), comment[0])
