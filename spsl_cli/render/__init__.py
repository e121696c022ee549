"""Events and answers on their way to a person or a script; the sanitiser stands before every terminal.

It knows events and streams; nothing of documents, models or decoding. Rich is imported when a panel or a table is made.
"""

from __future__ import annotations

from spsl_cli.render.answer import write_answer, write_json
from spsl_cli.render.messages import write_error, write_warning
from spsl_cli.render.reporter import Reporter, make_reporter
from spsl_cli.render.sanitise import clean, one_line
from spsl_cli.render.streams import ReaderGoneError, Streams
from spsl_cli.render.tables import render_table

__all__ = [
    "ReaderGoneError",
    "Reporter",
    "Streams",
    "clean",
    "make_reporter",
    "one_line",
    "render_table",
    "write_answer",
    "write_error",
    "write_json",
    "write_warning",
]
