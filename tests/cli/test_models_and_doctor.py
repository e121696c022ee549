"""`spsl models`, `spsl doctor`, and where settings come from."""

from __future__ import annotations

import json

import pytest

from tests.cli.run import check_failed, spsl


def test_models_show(model):
    facts = json.loads(spsl("models", "show", model, "--json").stdout)
    assert facts["path"] == str(model)
    assert facts["context_length"] == 2048
    assert {"id", "revision", "license"} <= set(facts)


def test_models_show_of_nothing(tmp_path):
    check_failed(spsl("models", "show", tmp_path / "none", "--json"), 5, "none")


def test_doctor_tells_where_each_setting_comes_from(model, tmp_path, monkeypatch):
    file = tmp_path / "spsl" / "config.toml"
    file.parent.mkdir()
    file.write_text("max_new_tokens = 33\nbudget = 0.2\n", encoding="utf-8")
    monkeypatch.setattr("spsl_cli.config.config_file", lambda: file)
    monkeypatch.setenv("SPSL_BUDGET", "500")
    report = json.loads(spsl("doctor", "--model", model, "--k", "4", "--json").stdout)
    settings = report["settings"]
    assert settings["k"] == {"value": 4, "origin": "option"}
    assert settings["budget"] == {"value": 500, "origin": "SPSL_BUDGET"}
    assert settings["max_new_tokens"] == {"value": 33, "origin": str(file)}
    assert settings["temperature"] == {"value": 0.0, "origin": "default"}
    assert report["model"]["path"] == str(model)
    assert [plan["tokens"] for plan in report["plan"]] == [2048]
    assert report["plan"][0]["kv"] == 2 * 2 * 8 * 3 * 4 * 2048
    assert report["device"] == "cpu"
    assert report["versions"]["torch"]


def test_a_wrong_setting_names_its_source(note, tmp_path, monkeypatch):
    file = tmp_path / "config.toml"
    monkeypatch.setattr("spsl_cli.config.config_file", lambda: file)
    file.write_text("budgett = 0.2\n", encoding="utf-8")
    check_failed(spsl("ask", note, "Why?"), 2, "config.toml", "budgett")
    file.write_text("max_new_tokens = 'many'\n", encoding="utf-8")
    check_failed(spsl("ask", note, "Why?"), 2, "config.toml", "many")
    file.write_text("= nonsense", encoding="utf-8")
    check_failed(spsl("ask", note, "Why?"), 2, "config.toml")
    file.unlink()
    monkeypatch.setenv("SPSL_K", "some")
    check_failed(spsl("ask", note, "Why?"), 2, "SPSL_K", "some")


@pytest.mark.parametrize(
    "line",
    ["model = 3", "device = 1", "system = ['a']", "k = [1]", "k = 3.5", "k = true", "k = 'x'", "offline = 3",
     "speculation = 0", "budget = true", "seed = 1.5"],
)  # fmt: skip
def test_settings_of_a_wrong_type_are_usage_errors(note, tmp_path, monkeypatch, line):
    file = tmp_path / "config.toml"
    file.write_text(line + "\n", encoding="utf-8")
    monkeypatch.setattr("spsl_cli.config.config_file", lambda: file)
    check_failed(spsl("ask", note, "Why?"), 2, line.split()[0], "config.toml")


@pytest.mark.parametrize(
    "options", [("--budget", "5.0"), ("--budget", "nan"), ("--k", "99"), ("--controller", "foo"), ("--quantize", "foo")]
)
def test_doctor_refuses_what_a_run_would_refuse(model, options):
    check_failed(spsl("doctor", "--model", model, *options), 2)


def test_doctor_without_a_model_still_tells_the_rest(tmp_path):
    report = json.loads(spsl("doctor", "--model", tmp_path / "none", "--json").stdout)
    assert "none" in report["model"]["error"]
    assert report["plan"] == []
    assert report["settings"]["device"]["value"] == "auto"
