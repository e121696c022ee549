"""A report as a page of Markdown: the same words as the tables on a terminal, safe inside a cell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from spsl_cli.bench.records import Report
from spsl_cli.bench.report.table import cell_table, cell_title, further_tables, headline, missing_lines, summary_lines

_ACTIVE = re.compile(r"([\\`*_\[\]<>|#])")


def markdown(report: Report) -> str:
    """The whole report. Names and notes come from files and models: what Markdown or HTML would act on is escaped."""
    parts = [f"# {_plain(report.title)}", _plain(headline(report))]
    for cell in report.cells:
        parts += [f"## {_plain(cell_title(cell))}", _table(*cell_table(cell)), *map(_plain, missing_lines(cell))]
    for title, columns, rows in further_tables(report):
        parts += [f"## {title}", _table(columns, rows)]
    parts.append("\n".join(f"- {_plain(line)}" for line in summary_lines(report)))
    return "\n\n".join(parts) + "\n"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    return _ACTIVE.sub(r"\\\1", " ".join(text.split()))
