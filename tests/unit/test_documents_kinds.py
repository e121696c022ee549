"""The registry of kinds: readers of rare kinds are imported when they may be needed, and are then asked for certain."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from spsl_cli.documents import mail, notebook, table
from spsl_cli.documents.archive import SIGNS
from spsl_cli.documents.kinds import KINDS, kind_of
from spsl_cli.documents.source import Source

RARE = ("docx", "epub", "mail", "notebook", "table")
BY_MODULE = {kind.module: kind for kind in KINDS}


def test_a_text_costs_no_reader_of_another_kind(tmp_path):
    (tmp_path / "a.txt").write_text("A plain text.", encoding="utf-8")
    code = (
        "import json, sys\n"
        "from spsl_cli.documents import read_paths\n"
        f"assert read_paths([{str(tmp_path / 'a.txt')!r}]).documents\n"
        "print(json.dumps([name for name in sys.modules if name.startswith('spsl_cli.documents.')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    imported = set(json.loads(done.stdout))
    assert imported.isdisjoint({f"spsl_cli.documents.{name}" for name in RARE})
    assert "spsl_cli.documents.text" in imported


def test_the_registry_knows_the_names_and_signs_that_the_readers_go_by():
    assert set(BY_MODULE["mail"].suffixes) == mail._SUFFIXES
    assert set(BY_MODULE["table"].suffixes) == set(table._USUAL_DELIMITERS)
    assert BY_MODULE["notebook"].suffixes == (notebook._SUFFIX,)
    assert all(sign.startswith(BY_MODULE[name].starts) for name in ("docx", "epub") for sign in SIGNS)


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n", b"\r\n", b"\t ", b"\xef\xbb\xbf\n "])
def test_a_notebook_is_known_whatever_blanks_stand_before_it(before):
    data = before + b'{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "Text."}]}'
    assert kind_of(Source("x", data)) is BY_MODULE["notebook"]


def test_an_old_word_document_is_known_by_its_content():
    data = bytes.fromhex("D0CF11E0A1B11AE1") + bytes(512) + "WordDocument".encode("utf-16-le")
    assert kind_of(Source("x", data)) is BY_MODULE["docx"]
