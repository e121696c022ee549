"""A tiny model and a short document for the command line."""

from __future__ import annotations

import pytest

from tests.models import save_chat_model


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A folder with a tiny random model: 3 layers, 2,048 positions, one token a byte, a chat template."""
    return save_chat_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def note(tmp_path):
    """A short text."""
    path = tmp_path / "note.txt"
    path.write_text("The ferry leaves at nine. A ticket costs four crowns.\n" * 3, encoding="utf-8")
    return path
