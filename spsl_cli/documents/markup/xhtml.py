"""XHTML in the form that a parser of HTML reads. Nothing outside the page is opened.

Entities that a page declares for itself are put in once, and what they stand for is not looked through again, so that
none unfolds without end.
"""

from __future__ import annotations

import html
import re

from spsl_cli.documents.source import UnreadableError

_DOCTYPE_WITH_ENTITIES = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<!doctype[^>\[]*\[", re.IGNORECASE)
_XHTML = re.compile(r"<\?xml|1999/xhtml", re.IGNORECASE)
_PROLOG = 4096
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_DECLARED = re.compile(r"""<!ENTITY\s+([\w.:-]+)\s+(?:"([^"]*)"|'([^']*)')\s*>""")
_USED = re.compile(r"&([\w.:-]{1,100});")
_OF_XML = frozenset({"amp", "apos", "gt", "lt", "quot"})
_MOST, _LONGEST = 1_000, 10_000
_MOST_PUT_IN = 10_000_000


def as_html(markup: str) -> str:
    """Without a document type of its own, its entities and CDATA sections. Raises UnreadableError as `_expanded`."""
    markup = markup.replace("\r\n", "\n").replace("\r", "\n")
    if _DOCTYPE_WITH_ENTITIES.match(markup):
        doctype, end, rest = markup.partition("]>")
        markup = _expanded(rest, doctype) if end else markup
    if _CDATA not in markup or not _XHTML.search(markup, 0, _PROLOG):
        return markup
    first, *sections = markup.split(_CDATA)
    pieces = [first]
    for section in sections:
        text, end, rest = section.partition(_CDATA_END)
        pieces += (html.escape(text), rest) if end else (section,)
    return "".join(pieces)


def _expanded(markup: str, doctype: str) -> str:
    """`markup` with the entities that `doctype` declares. Raises UnreadableError where they multiply beyond measure."""
    values: dict[str, str] = {}
    for found in _DECLARED.finditer(doctype):
        value = next((part for part in found.groups()[1:] if part is not None), "")
        if len(values) < _MOST and len(value) <= _LONGEST and found[1] not in _OF_XML:
            values.setdefault(found[1], value)
    if not values:
        return markup
    put_in = sum(len(values.get(found[1], "")) for found in _USED.finditer(markup))
    if put_in > _MOST_PUT_IN:
        raise UnreadableError(f"its entities unfold to more than {_MOST_PUT_IN:,} characters")
    return _USED.sub(lambda found: values.get(found[1], found[0]), markup)
