"""Variables that look like ours and are none: named, with what was probably meant, and never with their values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import spsl_cli
from spsl_cli.config import NAMES
from spsl_cli.environment import KNOWN, unknown_variables


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("SPSL_MODLE", "SPSL_MODEL"),
        ("SPSL_MAX_TOKENS", "SPSL_MAX_NEW_TOKENS"),
        ("SPSL_CACHEDIR", "SPSL_CACHE_DIR"),
        ("SPSL_PASSWRD", "SPSL_PASSWORD"),
        ("spsl_model", "SPSL_MODEL"),
        ("SPSL_OFF_LINE", "SPSL_OFFLINE"),
    ],
)
def test_what_was_meant_is_suggested(name, meant):
    (line,) = unknown_variables({name: "hidden-value"})
    assert name in line
    assert line.endswith(f"did you mean {meant}?")
    assert "hidden-value" not in line
    assert "\n" not in line


def test_what_resembles_nothing_points_to_the_list():
    (line,) = unknown_variables({"SPSL_ZZZZZZZZZZZZ": "1"})
    assert line.endswith("'spsl doctor' lists the settings")


def test_known_ones_and_those_of_others_are_passed_over():
    known = dict.fromkeys((*KNOWN, *(f"SPSL_{name.upper()}" for name in NAMES)), "x")
    others = dict.fromkeys(("SPSL_TEST_DOCUMENTS", "_SPSL_COMPLETE", "SPSLX", "PATH", "MY_SPSL_MODLE"), "x")
    assert unknown_variables(known | others | {"SPSL_MODLE": ""}) == []


def test_several_come_in_the_order_of_their_names():
    lines = unknown_variables({"SPSL_TOPP": "1", "SPSL_BUDGETT": "1"})
    assert [line.split()[3] for line in lines] == ["SPSL_BUDGETT", "SPSL_TOPP"]


def test_every_variable_that_the_code_names_is_known():
    """Whoever reads a new variable adds it: otherwise its users would be told that it has no effect."""
    folder = Path(spsl_cli.__file__).parent
    quoted = re.compile(r"(?<!\w)[\"'](SPSL_[A-Z_]*[A-Z])[\"']")
    named = {name for file in folder.rglob("*.py") for name in quoted.findall(file.read_text(encoding="utf-8"))}
    assert {"SPSL_CACHE_DIR", "SPSL_NATIVE", "SPSL_PASSWORD"} <= named
    assert named <= set(KNOWN)
