"""The kind for Jupyter notebooks: their cells in order, code fenced, its printed results below it and marked as such.

Nothing is run. Pictures, widgets and other data without words are left out, and named where they stood.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from spsl_cli.documents import html
from spsl_cli.documents.document import Page
from spsl_cli.documents.encoding import decode, sound
from spsl_cli.documents.invisible import without_invisible
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.source import Extract, Source, UnreadableError
from spsl_cli.documents.wording import one_line, ranges

MEDIA_TYPE = "application/x-ipynb+json"
_SUFFIX = ".ipynb"
_SNIFFED = 64
_LOWEST_HEADING = 6
_CELLS_NAMED = 8
_KNOWN_FORMATS = (2, 3, 4)
# Python needs up to sixty times the bytes of small JSON values; no notebook that people made has so many.
_MOST_VALUES = 10_000_000
_ESCAPES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]?")
_ERASED = re.compile(r"\x1b\[[02]?K")
_DATA_URI = re.compile(r"(data:[\w.+-]+/[\w.+-]+(?:;[\w=.-]+)*;base64,)[A-Za-z0-9+/=%_-]{64,}", re.ASCII)
_BACKTICKS = re.compile(r"`{3,}")
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}", re.ASCII)
# What is printed for an object that shows itself in another form only.
_BARE_OBJECT = re.compile(r"<[\w.]+ (?:object|(?:object )?at 0x[0-9a-fA-F]+)>", re.ASCII)
# Before format 4 an output named its forms by these words instead of by media types.
_OLD_FORMS = {
    "text": "text/plain",
    "html": "text/html",
    "latex": "text/latex",
    "png": "image/png",
    "jpeg": "image/jpeg",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "json": "application/json",
    "javascript": "application/javascript",
}


def matches(source: Source) -> bool:
    """Whether the content is a notebook, or the name says so."""
    if source.suffix == _SUFFIX:
        return True
    start = source.data[:_SNIFFED].removeprefix(codecs.BOM_UTF8).lstrip()
    if not start.startswith(b"{") or b'"nbformat"' not in source.data:
        return False
    try:
        notebook = _parsed(decode(source.data).text)
        return "nbformat" in notebook and bool(_cells(notebook))
    except UnreadableError:
        return False


def read(source: Source) -> Extract:
    """All cells as one page. Raises UnreadableError for damaged JSON, for what is no notebook, and for an empty one."""
    decoded = decode(source.data)
    if not decoded.text.strip():
        raise UnreadableError("no text")
    notebook = _parsed(decoded.text)
    reading = _Reading(_language(notebook), source.limits)
    for number, cell in enumerate(_cells(notebook), 1):
        reading.take(number, cell)
    text = "\n\n".join(reading.blocks)
    if not text.strip():
        raise UnreadableError("a notebook without text")
    warnings = (*decoded.warnings, *_format_warnings(notebook), *reading.warnings())
    shown = sound(without_invisible(text), decoded.encoding, warnings)
    return Extract(MEDIA_TYPE, (Page(1, shown.text + "\n"),), shown.encoding, shown.warnings)


class _Reading:
    """The blocks of text that the cells so far have given, and what the user should know about them."""

    def __init__(self, language: str, limits: Limits) -> None:
        self.blocks: list[str] = []
        self._odd: dict[str, list[int]] = {}
        self._language = language
        self._limits = limits

    def warnings(self) -> Iterator[str]:
        """What the user should know, each with the numbers of the cells concerned."""
        for what, numbers in self._odd.items():
            more = f" and {len(numbers) - _CELLS_NAMED:,} more" if len(numbers) > _CELLS_NAMED else ""
            yield f"cell{'s' if len(numbers) > 1 else ''} {ranges(numbers[:_CELLS_NAMED])}{more}: {what}"

    def take(self, number: int, cell: object) -> None:
        """Adds a cell: what was written in it, then what it gave."""
        fields = _object(cell)
        kind = fields.get("cell_type")
        written = _text(fields.get("input" if kind == "code" and "input" in fields else "source"))
        if written is None:
            self._odd.setdefault("damaged, without text of its own", []).append(number)
            written = ""
        written = written.strip("\n")
        if kind == "code":
            language = _word(fields.get("language")) or self._language
            self._add(_fenced(written, language) if written.strip() else "")
            self._add_outputs(number, fields.get("outputs"))
        elif kind == "heading":
            level = fields.get("level")
            self._add("#" * (level if isinstance(level, int) and 1 <= level <= _LOWEST_HEADING else 1) + " " + written)
        else:
            self._add(_DATA_URI.sub(r"\1[left out]", written))
        for name in _object(fields.get("attachments")):
            if name not in written:
                self._add(f"[attachment left out: {one_line(name)}]")

    def _add(self, block: str) -> None:
        if block.strip():
            self.blocks.append(block)

    def _add_outputs(self, number: int, outputs: object) -> None:
        """One block for all that came out the same way one after another, streams without a gap."""
        told = (self._output(number, _object(output)) for output in (outputs if isinstance(outputs, list) else []))
        for heading, alike in groupby(told, key=itemgetter(0)):
            printed = _as_on_screen("".join(text for _, text in alike))
            self._add(f"{heading}:\n{_fenced(printed)}" if printed.strip() else "")

    def _output(self, number: int, output: dict[str, Any]) -> tuple[str, str]:
        """The heading that an output stands under, and its text; what is no stream begins on a new line."""
        kind = output.get("output_type")
        if kind == "stream":
            heading = "Output (stderr)" if "stderr" in (output.get("name"), output.get("stream")) else "Output"
            return heading, _text(output.get("text")) or ""
        if kind in ("error", "pyerr"):
            trace = output.get("traceback")
            lines = [line for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
            what = "\n".join(lines) or f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
            return "Error", f"\n{what}\n"
        data = _object(output.get("data")) or {new: output[old] for old, new in _OLD_FORMS.items() if old in output}
        return "Output", self._shown(number, data)

    def _shown(self, number: int, data: dict[str, Any]) -> str:
        """The one form of a result that says most in words; the names of those that are no words."""
        plain, marked, page = (_text(data.get(name)) or "" for name in ("text/plain", "text/markdown", "text/html"))
        bare = not plain.strip() or _BARE_OBJECT.fullmatch(plain.strip())
        text = marked or ("" if bare else plain) or self._page(number, page) or _text(data.get("text/latex")) or plain
        others = sorted(name for name in data if not name.startswith("text/"))
        left_out = f"[left out: {one_line(', '.join(others))}]\n" if others else ""
        return "\n" + _DATA_URI.sub(r"\1[left out]", text.rstrip("\n")) + "\n" * bool(text) + left_out

    def _page(self, number: int, markup: str) -> str:
        if not markup:
            return ""
        try:
            return html.plain(markup, limits=self._limits)
        except UnreadableError as error:
            self._odd.setdefault(f"an output left out, {one_line(error)}", []).append(number)
            return ""


def _parsed(text: str) -> dict[str, Any]:
    if sum(text.count(sign) for sign in ",[{") > _MOST_VALUES:
        raise UnreadableError(f"more than {_MOST_VALUES:,} JSON values: too many for a notebook")
    try:
        notebook = json.loads(text, strict=False)
    except RecursionError:
        raise UnreadableError("its JSON is nested too deeply for a notebook") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise UnreadableError(f"a damaged notebook: its JSON breaks at {where} ({error.msg})") from error
    except ValueError as error:
        raise UnreadableError(f"a damaged notebook: {one_line(error)}") from error
    if not isinstance(notebook, dict):
        raise UnreadableError("JSON, but not a notebook: it has no cells")
    return notebook


def _cells(notebook: dict[str, Any]) -> list[Any]:
    """All cells in order; before format 4 they stood on worksheets."""
    if isinstance(cells := notebook.get("cells"), list):
        return cells
    if not isinstance(sheets := notebook.get("worksheets"), list):
        raise UnreadableError("JSON, but not a notebook: it has no cells")
    found: list[Any] = []
    for sheet in sheets:
        if isinstance(cells := _object(sheet).get("cells"), list):
            found += cells
    return found


def _format_warnings(notebook: dict[str, Any]) -> Iterator[str]:
    number = notebook.get("nbformat", _KNOWN_FORMATS[-1])
    if number not in _KNOWN_FORMATS:
        yield f"notebook format {one_line(number)} is not known: read as format {_KNOWN_FORMATS[-1]}"


def _language(notebook: dict[str, Any]) -> str:
    metadata = _object(notebook.get("metadata"))
    info, kernel = _object(metadata.get("language_info")), _object(metadata.get("kernelspec"))
    return _word(info.get("name")) or _word(kernel.get("language"))


def _word(value: object) -> str:
    return value if isinstance(value, str) and _LANGUAGE.fullmatch(value) else ""


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    """A text as notebooks hold it: a string, or a list of strings that are parts of it."""
    if isinstance(value, str):
        return value
    return "".join(part for part in value if isinstance(part, str)) if isinstance(value, list) else None


def _fenced(text: str, language: str = "") -> str:
    """A Markdown code block, its fence longer than any within."""
    fence = "`" * max([2, *(len(run) for run in _BACKTICKS.findall(text))]) + "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _as_on_screen(text: str) -> str:
    """What a terminal would show in the end: no colours, and of a line that was written over, what remained."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    return "\n".join(_last_written(line) if "\r" in line else _ESCAPES.sub("", line) for line in lines)


def _last_written(line: str) -> str:
    shown: list[str] = []
    for part in line.split("\r"):
        if _ERASED.search(part):
            shown.clear()
        written = _ESCAPES.sub("", part)
        shown[: len(written)] = written
    return "".join(shown).rstrip()
