"""The kind for tables as text (CSV, TSV): a row a line, its cells between bars. Knows nothing of types or units.

Line n of the text is row n as a spreadsheet counts, which is line n of the file where no cell has a line end in it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from spsl_cli.documents.document import Page
from spsl_cli.documents.encoding import decode
from spsl_cli.documents.invisible import visible
from spsl_cli.documents.source import Extract, Source, UnreadableError
from spsl_cli.documents.wording import count, ranges

MEDIA_TYPE = "text/csv"
_TAB_MEDIA_TYPE = "text/tab-separated-values"
_USUAL_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_DELIMITERS = (",", ";", "\t", "|")
_SNIFFED = 1 << 16  # bytes, or characters
_SNIFFED_ROWS = 200
# What Excel writes and reads in front of a table to name its delimiter; it is no row.
_NAMED_DELIMITER = re.compile(r'"?sep=([^\w\s"]|\t)"?\n', re.IGNORECASE)
_ESCAPED = re.compile(r'\\(["\\])|"(")')
_LINE_END_IN_CELL = " <br> "
_CHARACTERS_PER_CELL = 3  # at least: a bar and the blanks beside it
# A cell of more lines than this may be a quote that was never meant to reach so far.
_LONG_CELL_LINES = 50
_ROWS_NAMED = 8


# The cells of a row, and whether it had to be split with no regard to its quotes, since they do not match.
_Record = tuple[list[str], bool]


@dataclass(frozen=True, slots=True)
class _Signs:
    """The forms of a cell: between quotes, where those within are doubled or, as some programs do, escaped; or bare."""

    quoted: re.Pattern[str]
    escaped: re.Pattern[str]
    bare: re.Pattern[str]


def matches(source: Source) -> bool:
    """Whether the name says a table and the text is divided like one."""
    usual = _USUAL_DELIMITERS.get(source.suffix)
    return usual is not None and _delimiter(decode(source.data[:_SNIFFED]).text, usual) is not None


def read(source: Source) -> Extract:
    """The rows as one page. Raises UnreadableError where there are none, or more text than the limit."""
    decoded = decode(source.data)
    text, unseen = visible(decoded.text)
    if not text.strip():
        raise UnreadableError("no text")
    if named := _NAMED_DELIMITER.match(text):
        text = text[named.end() :]
    delimiter = named[1] if named else _delimiter(text, _USUAL_DELIMITERS.get(source.suffix, ","))
    if delimiter is None:  # one column: nothing to divide
        return Extract(MEDIA_TYPE, (Page(1, text),), decoded.encoding, (*decoded.warnings, *unseen))
    table = _Table(source.limits.document_characters)
    for record in _records(text, delimiter, source.limits.document_characters // _CHARACTERS_PER_CELL):
        table.add(*record)
    media_type = _TAB_MEDIA_TYPE if delimiter == "\t" else MEDIA_TYPE
    page = Page(1, "\n".join(table.lines) + "\n")
    return Extract(media_type, (page,), decoded.encoding, (*decoded.warnings, *unseen, *table.warnings()))


@dataclass(slots=True)
class _Table:
    """The lines written so far, and what was odd about their rows."""

    most_characters: int
    lines: list[str] = field(default_factory=list)
    _characters: int = 0
    _widths: Counter[int] = field(default_factory=Counter)
    _rows_by_width: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    _unmatched: list[int] = field(default_factory=list)
    _long: list[int] = field(default_factory=list)

    def add(self, cells: list[str], unmatched: bool) -> None:
        """Writes one more row. Raises UnreadableError when the table has become too long."""
        line = _line(cells)
        self.lines.append(line)
        self._characters += len(line) + 1
        if self._characters > self.most_characters:
            raise UnreadableError(
                f"a table of more than the limit of {self.most_characters:,} characters, with the bars between its"
                " cells: split it into several files"
            )
        if not line:
            return
        self._widths[len(cells)] += 1
        if len(rows := self._rows_by_width[len(cells)]) < _ROWS_NAMED:
            rows.append(len(self.lines))
        if unmatched:
            self._unmatched.append(len(self.lines))
        elif line.count(_LINE_END_IN_CELL) >= _LONG_CELL_LINES:
            self._long.append(len(self.lines))

    def warnings(self) -> tuple[str, ...]:
        """What the user should know about rows that were not as the others."""
        told = []
        if self._unmatched:
            told.append(f"quotes do not match in {_rows(self._unmatched)}: split at every delimiter, quotes kept")
        if self._long:
            told.append(
                f"a quoted cell of more than {_LONG_CELL_LINES} lines in {_rows(self._long)}: a quote may be unclosed"
            )
        if len(self._widths) > 1:
            usual = self._widths.most_common(1)[0][0]
            odd = sorted(row for width, rows in self._rows_by_width.items() if width != usual for row in rows)
            number = self._widths.total() - self._widths[usual]
            told.append(f"{_rows(odd, number)} not of {count(usual, 'cell')} as most are")
        return tuple(told)


def _line(cells: list[str]) -> str:
    r"""One row as models know it from Markdown; a bar within a cell is `\|`. Blank for a blank line."""
    line = "\0".join(map(str.strip, cells))
    if not line:
        return ""
    line = line.replace("|", r"\|").replace("\n", _LINE_END_IN_CELL)
    return f"| {line} |".replace("\0", " | ")


def _rows(rows: list[int], number: int | None = None) -> str:
    """`row 3`, `rows 3-5`, `rows 1, 3-9 and 20 more`."""
    number = len(rows) if number is None else number
    named = rows[:_ROWS_NAMED]
    more = f" and {number - len(named):,} more" if number > len(named) else ""
    return f"row{'s' if number > 1 else ''} {ranges(named)}{more}"


def _delimiter(text: str, usual: str) -> str | None:
    """The sign that divides most rows of the beginning into the same number of cells; None where none divides half."""
    fits = {delimiter: _fit(text[:_SNIFFED], delimiter, usual) for delimiter in _DELIMITERS}
    best = max(_DELIMITERS, key=lambda delimiter: fits[delimiter])
    return best if fits[best][0] else None


def _fit(text: str, delimiter: str, usual: str) -> tuple[float, bool, int]:
    """How well a delimiter divides: the share of rows that have the commonest width, whether it is usual, the width."""
    widths: Counter[int] = Counter()
    for cells, _ in _records(text, delimiter, len(text) + 1):
        if cells != [""]:
            widths[len(cells)] += 1
        if widths.total() == _SNIFFED_ROWS:
            break
    rows, undivided = widths.total(), widths.pop(1, 0)
    if not widths or undivided * 2 > rows:
        return 0.0, False, 0
    width, number = widths.most_common(1)[0]
    return number / rows, delimiter == usual, width


def _records(text: str, delimiter: str, most_cells: int) -> Iterator[_Record]:
    """The rows of a table, one for every line that is not within quotes. Raises UnreadableError for one too wide.

    The csv module is not asked: it takes all the rest of a file into one cell where a quote is not closed.
    """
    sign = re.escape(delimiter)
    ends = rf'" *(?={sign}|\n|\Z)'
    signs = _Signs(
        quoted=re.compile(rf' *"([^"]*+(?:""[^"]*+)*+){ends}'),
        escaped=re.compile(rf' *"([^"\\]*+(?:(?:\\.|"")[^"\\]*+)*+){ends}', re.DOTALL),
        bare=re.compile(rf'(?! *")[^{sign}\n]*+'),
    )
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if text.count(delimiter, at, end) >= most_cells:
            raise UnreadableError(f"a row of more than {most_cells:,} cells: more than the limit of characters")
        if text.find('"', at, end) < 0 or (found := _quoted_record(text, at, signs)) is None:
            line = text[at:end]
            yield line.split(delimiter), '"' in line
            at = end + 1
        else:
            cells, at = found
            yield cells, False


def _quoted_record(text: str, at: int, signs: _Signs) -> tuple[list[str], int] | None:
    """The cells of the row that begins at `at`, and where the next one begins; None if its quotes do not match."""
    cells = []
    while True:
        if found := signs.quoted.match(text, at):
            cells.append(found[1].replace('""', '"'))
        elif found := signs.escaped.match(text, at):
            cells.append(_ESCAPED.sub(r"\1\2", found[1]))
        elif found := signs.bare.match(text, at):
            cells.append(found[0])
        else:
            return None
        end = found.end()
        if end == len(text) or text[end] == "\n":
            return cells, end + 1
        at = end + 1
