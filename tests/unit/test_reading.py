from __future__ import annotations

import pytest

from spsl_cli import reading
from spsl_cli.documents import Collection, Reading
from spsl_cli.events import Progress
from spsl_cli.reading import read_documents


def told(monkeypatch: pytest.MonkeyPatch, *steps: Reading) -> list[tuple[float, float | None, str]]:
    """What is reported of a reading that goes by `steps`: done, total and unit."""

    def steps_of_a_reading(paths, *, on_progress, **_):
        for step in steps:
            on_progress(step)
        return Collection(())

    monkeypatch.setattr(reading, "read_paths", steps_of_a_reading)
    events: list[Progress] = []
    read_documents(["x"], events.append, stdin=None, password=None, selection=None)
    assert {event.stage for event in events} <= {"read documents"}
    return [(event.done, event.total, event.unit) for event in events]


def test_a_long_pdf_is_told_by_its_pages(monkeypatch):
    steps = Reading(0, 1, "in/long.pdf"), Reading(0, 1, "in/long.pdf", 30, 400), Reading(1, 1)
    assert told(monkeypatch, *steps) == [(0, 1, "files"), (30, 400, "pages of long.pdf"), (1, 1, "files")]


def test_the_last_page_does_not_end_the_stage(monkeypatch):
    steps = Reading(0, 1, "a.pdf", 399, 400), Reading(0, 1, "a.pdf", 400, 400), Reading(1, 1)
    assert told(monkeypatch, *steps) == [(399, 400, "pages of a.pdf"), (0, 1, "files"), (1, 1, "files")]


def test_of_several_files_those_done_are_told_too(monkeypatch):
    assert told(monkeypatch, Reading(1, 3, "b.pdf", 0, 20)) == [(0, 20, "pages of b.pdf, 1 of 3 files done")]


def test_without_any_input_there_is_nothing_to_tell(monkeypatch):
    assert told(monkeypatch, Reading(0, 0)) == []
