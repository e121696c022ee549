"""`--schema`: the answer is JSON of the schema, with speculation and without, whole, in parts, and for summaries."""

from __future__ import annotations

import json

import pytest

from tests.cli.run import check_failed, spsl

SCHEMA = {
    "type": "object",
    "properties": {"kind": {"enum": ["boat", "train", "horse"]}, "paid": {"type": "boolean"}},
    "required": ["kind", "paid"],
    "additionalProperties": False,
}


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA), encoding="utf-8")
    return path


@pytest.fixture
def ask(model, note, schema):
    def run(*arguments, new=80):
        return spsl("ask", note, "How?", "--model", model, "--max-new-tokens", new, "--schema", schema, *arguments)

    return run


def is_one(value):
    return value["kind"] in ("boat", "train", "horse") and isinstance(value["paid"], bool) and len(value) == 2


@pytest.mark.parametrize(
    "how", [["--k", "3"], ["--lookup"], ["--no-speculation"], ["--temperature", "1", "--seed", "5"]]
)
def test_the_answer_follows_it(ask, how):
    result = ask("--json", *how)
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert is_one(answer["structured"])
    assert json.loads(answer["answer"]) == answer["structured"]


def test_it_is_the_same_with_speculation_and_without(ask):
    answer = json.loads(ask("--json", "--k", "4", "--compare-ar").stdout)
    assert answer["comparison"]["identical"] is True


def test_as_text_it_can_be_read_by_a_program(ask):
    assert is_one(json.loads(ask().stdout))


def test_an_answer_cut_short_is_no_answer(ask):
    check_failed(ask(new=4), 1, "does not follow the schema", "--max-new-tokens")


def test_a_number_that_may_have_been_cut_is_no_answer(ask, schema):
    schema.write_text('{"type": "integer", "minimum": 100000000}', encoding="utf-8")
    check_failed(ask(new=9), 1, "may have been cut")


def test_parts_answer_freely_and_their_merging_follows_it(model, schema, tmp_path):
    book = tmp_path / "book.txt"
    book.write_text("\n\n".join(["The ferry leaves at nine. " * 30] * 5), encoding="utf-8")
    result = spsl(
        "ask", book, "How?", "--model", model, "--max-new-tokens", 80, "--schema", schema, "--json",
        "--overflow", "map-reduce",
    )  # fmt: skip
    answer = json.loads(result.stdout)
    assert is_one(answer["structured"])
    assert len(answer["parts"]) > 1


def test_every_summary_follows_it(model, schema, note, tmp_path):
    (tmp_path / "other.txt").write_text("Another text.", encoding="utf-8")
    result = spsl(
        "summarize",
        note,
        tmp_path / "other.txt",
        "--model",
        model,
        "--max-new-tokens",
        80,
        "--schema",
        schema,
        "--json",
    )
    assert [is_one(one["structured"]) for one in json.loads(result.stdout)["answers"]] == [True] * 3


@pytest.mark.parametrize("content", ["{", "[]", '{"type": "nonsense"}', '{"$ref": "https://example.org/x.json"}'])
def test_a_schema_that_cannot_be_used_is_told_before_anything_is_read(ask, schema, content):
    schema.write_text(content, encoding="utf-8")
    check_failed(ask(), 2, "schema.json")
