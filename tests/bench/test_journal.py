"""Cells that are done are kept until the suite is: by suite, settings, model and machine, whole or not at all."""

from __future__ import annotations

import json

import pytest

from spsl_cli.bench.journal import Journal
from spsl_cli.bench.records import CellRecord, Interval, SystemRecord
from spsl_cli.errors import SpslError

IDENTITY = {"suite": "main", "settings": {"repeats": 3}, "model": {"id": "m"}, "machine": {"threads": 2}}


def cell(name="a", **settings):
    systems = (
        SystemRecord("ar", (1.0, 2.0), Interval(1.0, 1.5, 2.0), identical=True, phases={"verify": 0.5}),
        SystemRecord("medusa", unavailable="needs heads — trained ones"),
    )
    return CellRecord(name, settings or {"k": 4, "tasks": ["qa"]}, 1, 100, 16, 2, 0.5, systems)


def test_a_cell_comes_back_as_it_was(tmp_path):
    Journal(IDENTITY, tmp_path).add(cell())
    assert Journal(IDENTITY, tmp_path).done("a", cell().settings) == cell()


def test_settings_with_tuples_are_the_same_after_json(tmp_path):
    Journal(IDENTITY, tmp_path).add(cell(tasks=("qa", "copying")))
    assert Journal(IDENTITY, tmp_path).done("a", {"tasks": ("qa", "copying")}) is not None


def test_a_cell_with_other_settings_is_another_one(tmp_path):
    journal = Journal(IDENTITY, tmp_path)
    journal.add(cell(k=4))
    assert journal.done("a", {"k": 5}) is None
    assert journal.done("b", {"k": 4}) is None


@pytest.mark.parametrize("part", IDENTITY)
def test_whatever_is_another_has_a_journal_of_its_own(tmp_path, part):
    Journal(IDENTITY, tmp_path).add(cell())
    other = Journal({**IDENTITY, part: "another"}, tmp_path)
    assert other.done("a", cell().settings) is None
    other.add(cell("b"))
    assert len(list(tmp_path.iterdir())) == 2


def test_it_is_there_after_every_cell_and_gone_when_all_are_done(tmp_path):
    journal = Journal(IDENTITY, tmp_path / "made" / "when needed")
    for count, name in enumerate("abc", 1):
        journal.add(cell(name))
        lines = journal.path.read_text().splitlines()
        assert [json.loads(line)["name"] for line in lines] == list("abc")[:count]
    assert [path.name for path in journal.path.parent.iterdir()] == [journal.path.name]  # no temporary file
    assert journal.path.stat().st_mode & 0o077 == 0
    journal.remove()
    assert not journal.path.exists()
    journal.remove()


def test_a_cell_that_was_measured_again_counts_as_last_measured(tmp_path):
    journal = Journal(IDENTITY, tmp_path)
    journal.add(cell(k=4))
    journal.add(cell(k=5))
    assert Journal(IDENTITY, tmp_path).done("a", {"k": 5}) is not None


def test_damaged_lines_are_counted_and_cost_only_their_cell(tmp_path):
    journal = Journal(IDENTITY, tmp_path)
    journal.add(cell("a"))
    journal.add(cell("b"))
    first, second = journal.path.read_text().splitlines()
    journal.path.write_text("\n".join([first[:40], second, '{"name": "c"}', "[]", ""]))
    again = Journal(IDENTITY, tmp_path)
    assert again.damaged == 3
    assert again.done("a", cell().settings) is None
    assert again.done("b", cell().settings) == cell("b")
    again.add(cell("a"))
    assert Journal(IDENTITY, tmp_path).damaged == 0


def test_what_cannot_be_read_or_written_is_one_line(tmp_path):
    journal = Journal(IDENTITY, tmp_path)
    journal.path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(SpslError, match=r"cannot read .*; delete it"):
        Journal(IDENTITY, tmp_path)
    (tmp_path / "file").write_text("in the way")
    journal.path = tmp_path / "file" / "x.jsonl"
    with pytest.raises(SpslError, match=r"cannot write .*; set SPSL_CACHE_DIR"):
        journal.add(cell())


def test_it_lies_in_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPSL_CACHE_DIR", str(tmp_path))
    assert Journal(IDENTITY).path.parent == tmp_path / "bench"
