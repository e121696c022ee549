"""`spsl summarize`: a summary of each document and one of all, written to a folder, gone on with after Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace

import pytest

from spsl_cli.models import load_tokenizer
from spsl_cli.workflows import summaries
from tests.cli.run import check_failed, spsl


@pytest.fixture
def folder(tmp_path):
    """Three texts, one of them in a folder of its own."""
    folder = tmp_path / "texts"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "sub/c.md"):
        (folder / name).write_text(f"This is the text of {name}. The ferry leaves at nine.\n", encoding="utf-8")
    return folder


@pytest.fixture
def summarize(model):
    def run(*arguments):
        return spsl("summarize", *arguments, "--model", model, "--max-new-tokens", 6)

    return run


def test_one_document_has_one_summary(summarize, folder):
    result = summarize(folder / "a.txt", "--json", "--length", "short")
    answer = json.loads(result.stdout)
    assert result.returncode == 0
    assert (answer["schema"], answer["command"], answer["question"]) == ("spsl.answer/1", "summarize", None)
    assert answer["usage"]["new_tokens"] == 6


def test_a_folder_has_one_of_each_and_one_of_all(summarize, folder, model):
    result = summarize(folder, "--json")
    answers = json.loads(result.stdout)
    assert answers["schema"] == "spsl.answers/1"
    each, of_all = answers["answers"][:3], answers["answers"][3]
    assert [os.path.relpath(one["documents"][0]["path"], folder) for one in each] == ["a.txt", "b.txt", "sub/c.md"]
    assert [len(one["documents"]) for one in answers["answers"]] == [1, 1, 1, 3]
    alone = json.loads(summarize(folder / "b.txt", "--json").stdout)
    assert each[1]["answer"] == alone["answer"]
    assert each[1]["prompt_token_ids"] == alone["prompt_token_ids"]
    assert "Summarize the summaries above in one summary" in load_tokenizer(model).decode(of_all["prompt_token_ids"])


def test_on_standard_output_each_stands_under_its_name(summarize, folder):
    lines = summarize(folder).stdout.decode(errors="replace").splitlines()
    names = [line for line in lines if line.startswith("## ")]
    assert names == [f"## {folder}/a.txt", f"## {folder}/b.txt", f"## {folder}/sub/c.md", "## All documents"]


def test_a_folder_of_summaries(summarize, folder, tmp_path):
    out = tmp_path / "out"
    result = summarize(folder, "-o", f"{out}/")
    assert (result.returncode, result.stdout) == (0, b"")
    written = sorted(str(path.relative_to(out)) for path in out.rglob("*.md"))
    assert written == ["a.txt.md", "b.txt.md", "sub/c.md.md", "summary.md"]
    alone = summarize(folder / "a.txt").stdout
    assert (out / "a.txt.md").read_bytes() == alone


def test_a_folder_of_objects(summarize, folder, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    assert summarize(folder, "-o", out, "--json").stdout == b""
    assert json.loads((out / "sub" / "c.md.json").read_text())["command"] == "summarize"


def test_what_was_summarised_before_is_kept_and_what_has_changed_is_not(summarize, folder, tmp_path, monkeypatch):
    out = tmp_path / "out"
    summarize(folder, "-o", f"{out}/")
    (folder / "b.txt").write_text("Another text altogether.", encoding="utf-8")
    answer, made = summaries.answer, []

    def another(session, collection, request, sources):
        made.append(collection.documents[0].path)
        return replace(answer(session, collection, request, sources), text="another summary")

    monkeypatch.setattr(summaries, "answer", another)
    result = summarize(folder, "-o", f"{out}/")
    assert made[0] == f"{folder}/b.txt"
    assert len(made) == 2  # and the summary of all, which is made of it
    assert (out / "b.txt.md").read_text() == "another summary\n"
    assert f"{folder}/a.txt: summarised before, kept" in result.stderr.decode()


@pytest.mark.parametrize(
    "change", [("--length", "long"), ("--focus", "ferries"), ("--seed", "3"), ("--system", "Be brief.")]
)
def test_another_request_is_made_anew(summarize, folder, tmp_path, change):
    out = tmp_path / "out"
    summarize(folder, "-o", f"{out}/")
    assert "summarised before" not in summarize(folder, "-o", f"{out}/", *change).stderr.decode()


def test_a_deleted_summary_is_written_again_and_damaged_state_is_told(summarize, folder, tmp_path):
    out = tmp_path / "out"
    summarize(folder, "-o", f"{out}/")
    (out / "a.txt.md").unlink()
    (out / ".spsl" / "b.txt.json").write_text("{", encoding="utf-8")
    result = summarize(folder, "-o", f"{out}/")
    assert (out / "a.txt.md").exists()
    assert "b.txt.json is damaged" in result.stderr.decode()
    assert result.returncode == 0


def test_an_interrupted_run_goes_on_where_it_stopped(summarize, folder, tmp_path, monkeypatch):
    out = tmp_path / "out"
    answer, calls = summaries.answer, []

    def interrupted(session, collection, request, sources):
        calls.append(collection)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return answer(session, collection, request, sources)

    with monkeypatch.context() as patch:
        patch.setattr(summaries, "answer", interrupted)
        result = summarize(folder, "-o", f"{out}/")
    assert result.returncode == 130
    assert [path.name for path in out.glob("*.md")] == ["a.txt.md"]
    result = summarize(folder, "-o", f"{out}/")
    assert result.returncode == 0
    assert "a.txt: summarised before, kept" in result.stderr.decode()
    assert sorted(path.name for path in out.glob("*.md")) == ["a.txt.md", "b.txt.md", "summary.md"]


def test_two_documents_may_not_have_one_file(summarize, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"text {name}", encoding="utf-8")
    result = summarize(tmp_path / "one" / "a.txt", tmp_path / "two" / "a.txt", "-o", f"{tmp_path}/out/")
    check_failed(result, 2, "two/a.txt", "a.txt.md")
    assert not (tmp_path / "out").exists()


def test_a_document_that_is_too_long_is_named_before_anything_is_decoded(summarize, folder):
    (folder / "z.txt").write_text("long " * 1000, encoding="utf-8")
    result = summarize(folder)
    check_failed(result, 4, "z.txt", "--overflow map-reduce")


def test_what_an_earlier_run_has_written_is_no_document(summarize, folder):
    for _ in range(2):
        answers = summarize(folder, "-o", f"{folder}/out/")
        assert answers.returncode == 0
    written = sorted(str(path.relative_to(folder / "out")) for path in (folder / "out").rglob("*.md"))
    assert written == ["a.txt.md", "b.txt.md", "sub/c.md.md", "summary.md"]


@pytest.mark.parametrize("place", ["", "file/", "file/deeper/"])
def test_a_place_that_is_no_folder_is_told_before_anything_is_read(summarize, folder, place):
    (folder / "file").write_text("here", encoding="utf-8")
    check_failed(summarize(folder, "-o", f"{folder}/{place}" if place else ""), 2, "-o")
