"""Imports in a thread: awaited where they are needed, ended where they are not, their failures told in one place."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from itertools import count

import pytest

from spsl_cli import lean_imports, warm_start


@pytest.fixture
def imports(monkeypatch):
    """Lets a test say what the libraries' import does."""
    return lambda does: monkeypatch.setattr(lean_imports, "import_libraries", does)


def test_what_is_needed_is_awaited(imports):
    started, release, done = threading.Event(), threading.Event(), []

    def slow():
        started.set()
        release.wait()
        done.append(threading.current_thread())

    imports(slow)
    with warm_start.begun():
        assert started.wait(10)
        assert done == []
        threading.Timer(0.05, release.set).start()
        warm_start.finish()
        assert done[0] is not threading.current_thread()


def test_without_a_thread_they_are_imported_here(imports):
    done = []
    imports(lambda: done.append(threading.current_thread()))
    warm_start.finish()
    assert done == [threading.current_thread()]


def test_a_thread_that_nobody_needs_ends_at_its_next_import(imports, tmp_path, monkeypatch):
    (tmp_path / "module_of_this_test.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    begun, ended = threading.Event(), []

    def endless():
        try:
            for number in count():
                begun.set()
                with suppress(Exception):  # as libraries do that can do without another
                    import_module(f"no_module_{number}")
                time.sleep(0.001)
        finally:
            ended.append(threading.current_thread())

    imports(endless)
    finders = list(sys.meta_path)
    with warm_start.begun():
        assert begun.wait(10)
    assert len(ended) == 1
    assert not ended[0].is_alive()
    assert sys.meta_path == finders
    import_module("module_of_this_test")  # other threads import as ever


def test_a_failing_import_fails_where_it_is_needed(imports):
    def broken():
        raise ImportError("libtorch is not there")

    imports(broken)
    with warm_start.begun():  # e.g. a command that finds no document has nothing to do with it
        pass
    with warm_start.begun(), pytest.raises(ImportError, match="libtorch"):
        warm_start.finish()


def test_one_thread_is_enough(imports):
    calls = []
    imports(lambda: calls.append(threading.current_thread()))
    with warm_start.begun():
        warm_start.finish()
        before = len(calls)
        with warm_start.begun():
            pass
        assert len(calls) == before
        warm_start.finish()
