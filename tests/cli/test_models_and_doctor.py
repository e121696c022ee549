"""`spsl models`, `spsl doctor`, and where settings come from."""

from __future__ import annotations

import json
import threading

import pytest

from tests.cli.run import check_failed, spsl
from tests.unit.test_models_pull import COMMIT, FakeHub, use_hub


def test_models_show(model):
    facts = json.loads(spsl("models", "show", model, "--json").stdout)
    assert facts["path"] == str(model)
    assert facts["context_length"] == 2048
    assert {"id", "revision", "license"} <= set(facts)


def test_models_show_of_nothing(tmp_path):
    check_failed(spsl("models", "show", tmp_path / "none", "--json"), 5, "none")


@pytest.fixture
def hub(model, tmp_path, monkeypatch):
    """A Hub made up on this machine, with the tiny model as org/tiny."""
    with FakeHub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            server.publish(COMMIT, model)
            use_hub(server, tmp_path / "hub", monkeypatch)
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_models_pull_fetches_what_a_run_offline_uses(hub, note):
    pulled = spsl("models", "pull", "org/tiny", "--json")
    facts = json.loads(pulled.stdout)
    assert facts["schema"] == "spsl.model/1"
    assert (facts["id"], facts["revision"], facts["license"], facts["kind"]) == ("org/tiny", COMMIT, "mit", "hub")
    assert "fetch model" in pulled.stderr.decode()
    hub.asked.clear()
    assert json.loads(spsl("models", "show", "org/tiny", "--offline", "--json").stdout)["path"] == facts["path"]
    listed = json.loads(spsl("models", "list", "--json").stdout)["models"]
    assert facts["path"] in [each["path"] for each in listed]
    answered = spsl("ask", note, "When?", "--model", "org/tiny", "--offline", "--max-new-tokens", "2")
    assert answered.returncode == 0
    assert hub.asked == []


def test_models_pull_tells_people_where_the_model_lies(hub):
    pulled = spsl("models", "pull", "org/tiny", "--quiet")
    assert pulled.returncode == 0
    assert COMMIT in pulled.stdout.decode()
    assert pulled.stderr == b""


def test_models_pull_of_a_model_here_fetches_nothing(model):
    facts = json.loads(spsl("models", "pull", model, "--json").stdout)
    assert (facts["path"], facts["kind"]) == (str(model), "folder")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["org/none"], ["no model org/none"]), (["org/tiny", "--revision", "v9"], ["no revision 'v9'"])],
)
def test_models_pull_of_what_is_not_there(hub, arguments, words):
    check_failed(spsl("models", "pull", *arguments, "--json"), 5, *words)


def test_models_pull_finds_a_missing_tokenizer_at_once(hub):
    for name in [name for name in hub.commits[COMMIT] if "token" in name]:
        del hub.commits[COMMIT][name]
    check_failed(spsl("models", "pull", "org/tiny"), 5, "tokenizer")


def test_models_pull_without_a_network(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    check_failed(spsl("models", "pull", "org/tiny"), 5, "org/tiny", "offline")


def test_models_pull_refuses_to_be_offline(monkeypatch):
    check_failed(spsl("models", "pull", "org/tiny", "--offline"), 2, "--offline")
    monkeypatch.setenv("SPSL_OFFLINE", "1")
    check_failed(spsl("models", "pull", "org/tiny"), 2, "SPSL_OFFLINE")


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


def test_doctor_tells_of_misspelt_variables(model, monkeypatch):
    monkeypatch.setenv("SPSL_MODLE", "secret-value")
    told = spsl("doctor", "--model", model, "--json")
    (warning,) = json.loads(told.stdout)["warnings"]
    assert warning.endswith("SPSL_MODLE is not known and has no effect: did you mean SPSL_MODEL?")
    assert told.stderr.decode() == f"spsl: warning: {warning}\n"
    assert b"secret-value" not in told.stdout + told.stderr
    assert warning in spsl("models", "show", model, "--quiet").stderr.decode()
