"""Where a report goes: tables or one JSON object on standard output, and files, each written whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spsl_cli.cli.output import checked_target
from spsl_cli.errors import UsageError
from spsl_cli.render import Streams, render_table, write_answer, write_warning
from spsl_cli.storage.atomic import write_whole

if TYPE_CHECKING:
    from spsl_cli.bench.records import Report
    from spsl_cli.bench.report.charts import Panel

CsvFile = Annotated[
    str | None, typer.Option("--csv", metavar="FILE", help="Write a line for each system in each cell.")
]
MarkdownFile = Annotated[str | None, typer.Option("--markdown", metavar="FILE", help="Write the tables as Markdown.")]
PlotFiles = Annotated[
    list[str] | None,
    typer.Option("--plot", metavar="FILE|-", help="Draw a .png or .svg; - draws in the terminal. May repeat."),
]
TERMINAL = "-"
WIDE = 150
"""Columns from which on a terminal shows every interval."""


@dataclass(frozen=True)
class Plots:
    """Files to draw, known to be writable, and whether to draw on standard output."""

    files: tuple[Path, ...]
    terminal: bool

    @classmethod
    def checked(cls, given: Sequence[str] | None, *, as_json: bool = False) -> Plots:
        """UsageError for what cannot be drawn: a run of minutes must not end in a wrong name."""
        from spsl_cli.bench.report.plots import check_plot_file  # noqa: PLC0415 only where reports are made

        names = given or ()
        if as_json and TERMINAL in names:
            raise UsageError("--plot - and --json both want standard output", hint="give --plot FILE")
        files = tuple(checked_target(name, "--plot") for name in names if name != TERMINAL)
        for path in files:
            check_plot_file(path)
        return cls(files, TERMINAL in names)

    def save(self, panels: Sequence[Panel], title: str) -> None:
        """Draw every file. UsageError where there are no panels."""
        from spsl_cli.bench.report.plots import plot_bytes  # noqa: PLC0415

        for path in self.files:
            write_whole(path, plot_bytes(panels, title, path.suffix.lower()))

    def show(self, streams: Streams, panels: Sequence[Panel]) -> None:
        """Bars on standard output, if they are wanted there."""
        from spsl_cli.bench.report.terminal_plots import terminal_text  # noqa: PLC0415

        if self.terminal:
            width = streams.out.size()[0]
            write_answer(streams, "\n" + terminal_text(panels, width, unicode=streams.out.unicode))


@dataclass(frozen=True)
class ReportFiles:
    """What is made of a report besides standard output."""

    csv: Path | None
    markdown: Path | None
    plots: Plots

    @classmethod
    def checked(
        cls, csv: str | None, markdown: str | None, plots: Sequence[str] | None, *, as_json: bool = False
    ) -> ReportFiles:
        """UsageError where one cannot be written."""
        return cls(
            None if csv is None else checked_target(csv, "--csv"),
            None if markdown is None else checked_target(markdown, "--markdown"),
            Plots.checked(plots, as_json=as_json),
        )

    def write(self, streams: Streams, report: Report) -> None:
        """All files, before anything is printed. A report with nothing to draw is told and fails nothing."""
        from spsl_cli.bench.report.charts import panels  # noqa: PLC0415
        from spsl_cli.bench.report.csv import csv_text  # noqa: PLC0415
        from spsl_cli.bench.report.markdown import markdown  # noqa: PLC0415
        from spsl_cli.bench.report.table import headline  # noqa: PLC0415

        if self.csv is not None:
            write_whole(self.csv, csv_text(report))
        if self.markdown is not None:
            write_whole(self.markdown, markdown(report))
        drawn = panels(report)
        if drawn:
            self.plots.save(drawn, f"{report.title}\n{headline(report)}")
        elif self.plots.files:
            write_warning(streams, "there is nothing to plot in this report")


def write_tables(streams: Streams, report: Report, plots: Plots) -> None:
    """The report on standard output: a table for each cell, the paper beside it, predictions, notes, and bars."""
    from spsl_cli.bench.report import table  # noqa: PLC0415
    from spsl_cli.bench.report.charts import panels  # noqa: PLC0415

    wide = not streams.out.is_terminal or streams.out.size()[0] >= WIDE
    write_answer(streams, f"{report.title}\n{table.headline(report)}")
    for cell in report.cells:
        write_answer(streams, "")
        render_table(streams, table.cell_title(cell), *table.cell_table(cell, wide=wide))
        for line in table.missing_lines(cell):
            write_answer(streams, line)
    for title, columns, rows in table.further_tables(report):
        write_answer(streams, "")
        if columns is table.COMPARISON_COLUMNS and not wide:
            write_answer(streams, "\n".join([title, "", *table.comparison_lines(report)]))
        else:
            render_table(streams, title, columns, rows)
    write_answer(streams, "\n" + "\n".join(table.summary_lines(report)))
    plots.show(streams, panels(report))
