"""The cells of a suite that are done, kept beside the caches, so that an interrupted suite goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spsl_cli.bench.records import CellRecord, cell_from_json
from spsl_cli.errors import SpslError
from spsl_cli.machine import cache_root
from spsl_cli.storage.atomic import write_whole

FOLDER = "bench"


class Journal:
    """One line of JSON a cell, in a file of its own for every suite, settings, model and machine.

    `identity` holds these, as anything that JSON can write; whatever is another in it, is another journal. The file is
    replaced as a whole with each cell: it is never torn.
    """

    def __init__(self, identity: Mapping[str, Any], folder: Path | None = None) -> None:
        told = json.dumps(identity, sort_keys=True, ensure_ascii=False)
        name = hashlib.sha256(told.encode()).hexdigest()[:32]
        self.path = (folder or cache_root() / FOLDER) / f"{name}.jsonl"
        self.damaged = 0
        self._lines: list[str] = []
        self._cells = self._read()

    def _read(self) -> dict[str, CellRecord]:
        """What is there; lines that are no cells (any more) are counted as `damaged`, and measured again."""
        cells = {}
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            lines = []
        except (OSError, UnicodeDecodeError) as error:
            raise SpslError(f"cannot read {self.path}: {error}", hint="delete it to begin anew") from error
        for line in lines:
            try:
                cell = cell_from_json(json.loads(line))
            except ValueError:
                self.damaged += 1
                continue
            cells[cell.name] = cell
            self._lines.append(line)
        return cells

    def done(self, name: str, settings: Mapping[str, Any]) -> CellRecord | None:
        """The cell of that name, if it was measured with these settings."""
        cell = self._cells.get(name)
        return cell if cell is not None and _plain(cell.settings) == _plain(settings) else None

    def add(self, cell: CellRecord) -> None:
        """The cell is done. Raises SpslError where it cannot be written."""
        self._cells[cell.name] = cell
        self._lines.append(json.dumps(asdict(cell), ensure_ascii=False))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, "\n".join([*self._lines, ""]))
        except (OSError, SpslError) as error:
            what = error.what if isinstance(error, SpslError) else f"cannot write {self.path}: {error}"
            raise SpslError(what, hint="set SPSL_CACHE_DIR to a folder that can be written") from error

    def remove(self) -> None:
        """The suite is complete: nothing is left to go on with."""
        self.path.unlink(missing_ok=True)


def _plain(settings: Mapping[str, Any]) -> Any:
    """As they come back from JSON."""
    return json.loads(json.dumps(settings))
