"""Cores that others hold, and threads that are left."""

from __future__ import annotations

import os
import time

import pytest
import torch

from spsl_cli import threads
from spsl_cli.threads import Moment, held_by_others, threads_beside

TICKS = os.sysconf("SC_CLK_TCK")


def moment(busy_s, total_s, own_s, cores=2):
    return Moment(int(busy_s * TICKS), int(total_s * cores * TICKS), own_s, cores)


@pytest.mark.parametrize(
    ("busy_s", "own_s", "others"),
    [(0.0, 0.0, 0.0), (10.0, 10.0, 0.0), (15.0, 10.0, 0.5), (20.0, 0.0, 2.0), (20.0, 5.0, 1.5), (9.0, 10.0, 0.0)],
)
def test_what_others_hold(busy_s, own_s, others):
    start, end = moment(100, 1000, 3.0), moment(100 + busy_s, 1010, 3.0 + own_s)
    assert held_by_others(start, end) == pytest.approx(others)


def test_where_it_cannot_be_told_nobody_holds_anything():
    assert held_by_others(None, moment(1, 2, 0)) == 0
    assert held_by_others(moment(1, 2, 0), None) == 0
    assert held_by_others(moment(1, 2, 0), moment(1, 2, 0)) == 0
    assert held_by_others(moment(1, 2, 0), moment(1, 3, 0, cores=4)) == 0


@pytest.mark.parametrize(
    ("others", "count", "left"),
    [(0.0, 2, 2), (0.4, 2, 2), (0.6, 2, 1), (2.0, 2, 1), (0.0, 1, 1), (3.2, 16, 13), (16.0, 16, 1)],
)
def test_one_thread_for_each_core_that_is_left(others, count, left):
    assert threads_beside(others, count) == left


@pytest.fixture
def eight_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("others", "left"), [(0.2, 8), (5.0, 3)])
@pytest.mark.usefixtures("eight_threads")
def test_torch_computes_on_what_is_left(monkeypatch, others, left):
    monkeypatch.setattr(threads, "held_by_others", lambda *_: others)
    told = threads.leave_cores_to_others(None)
    assert torch.get_num_threads() == left
    assert told == (None if left == 8 else "computing on 3 of 8 threads: other programs hold 5.0 cores")


@pytest.mark.usefixtures("eight_threads")
def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    monkeypatch.setattr(threads, "held_by_others", lambda *_: 7.0)
    assert threads.leave_cores_to_others(None) is None
    assert torch.get_num_threads() == 8


def test_the_system_is_read(tmp_path, monkeypatch):
    lines = ["cpu  9 9 9 9 9 9 9 9 0 0", *(f"cpu{core} 10 1 5 70 4 1 1 8 0 0" for core in range(512)), "intr 5"]
    (tmp_path / "stat").write_text("\n".join(lines))
    monkeypatch.setattr(threads, "STAT", tmp_path / "stat")
    found = threads.now()
    cores = len(os.sched_getaffinity(0))
    assert (found.busy, found.total, found.cores) == (26 * cores, 100 * cores, cores)
    (tmp_path / "stat").write_text("cpu  9 9 9 9 9 9 9 9 0 0\n")
    assert threads.now() is None
    (tmp_path / "stat").unlink()
    assert threads.now() is None


def test_ones_own_work_is_not_that_of_others():
    start, end = threads.now(), time.process_time() + 0.3
    while time.process_time() < end:
        pass
    if start is None:
        pytest.skip("the system does not say")
    assert 0 <= held_by_others(start, threads.now()) <= start.cores
