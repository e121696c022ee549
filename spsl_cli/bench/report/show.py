"""A report file, read back. What is wrong with it is one line."""

from __future__ import annotations

import json
from pathlib import Path

from spsl_cli.bench.records import SCHEMA, Report, report_from_json
from spsl_cli.errors import NoReadableInputError, UsageError

LARGEST = 256 * 2**20
"""Bytes; the largest suites make some megabytes."""


def load_report(path: Path) -> Report:
    """The report in a file that `spsl bench SUITE -o FILE` or `--json` wrote.

    Raises NoReadableInputError for a file that is missing, damaged or no JSON, UsageError for JSON of another kind.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise NoReadableInputError(f"{path} is too large for a report", hint="give a file of spsl bench SUITE -o")
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise NoReadableInputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise NoReadableInputError(f"{path} is no JSON ({error})", hint="it may be damaged: make it again") from error
    if isinstance(data, dict) and data.get("schema") == SCHEMA and "suite" not in data:
        raise UsageError(f"{path} is a single measurement, not a suite", hint="make one with spsl bench SUITE -o FILE")
    try:
        return report_from_json(data)
    except ValueError as error:
        raise UsageError(f"{path}: {error}", hint="give a file of spsl bench SUITE -o FILE") from error
