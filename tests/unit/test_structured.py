"""Schemas read, judged and enforced: by the grammar alone, with a tokenizer of single bytes, and by the check after."""

from __future__ import annotations

import http.server
import json
import random
import re
import threading

import pytest
import torch

from spsl_cli.errors import SpslError, UnsupportedModelError, UsageError
from spsl_cli.structured import LARGEST, check, constraint_for, load_schema
from tests.models import byte_tokenizer
from tests.unit.test_prompting_tokenizers import byte_level, sentencepiece, word_level

STOP = 257
RECORD = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "pages": {"type": "array", "items": {"type": "integer"}}},
    "required": ["name", "pages"],
    "additionalProperties": False,
}
TREE = {
    "$defs": {
        "node": {"type": "object", "properties": {"of": {"$ref": "#/$defs/node"}}, "additionalProperties": False}
    },
    "$ref": "#/$defs/node",
}


@pytest.fixture
def write(tmp_path):
    """Puts a schema into a file."""

    def written(schema, name="schema.json"):
        path = tmp_path / name
        if isinstance(schema, bytes):
            path.write_bytes(schema)
        else:
            path.write_text(schema if isinstance(schema, str) else json.dumps(schema), encoding="utf-8")
        return path

    return written


def ids_of(text: str) -> list[int]:
    return byte_tokenizer()(text)["input_ids"]


def constraint(schema, stop_ids=(STOP,)):
    return constraint_for(schema, byte_tokenizer(), stop_ids)()


def allowed(made, tail=()) -> set[int]:
    """Ids that may follow behind the output and `tail`."""
    rows = made.allowed(list(tail), 1)
    return set(rows[0].nonzero().flatten().tolist()) if len(rows) else set()


def takes(schema, text: str) -> bool:
    """Whether the grammar takes this text to its end."""
    made = constraint(schema)
    try:
        made.note([*ids_of(text), STOP])
    except SpslError:
        return False
    return True


GOOD = [
    RECORD,
    TREE,
    {},
    {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
    {"type": "object", "properties": {"ärger": {"enum": ["ß", "漢字", "😀"]}}},
    {"anyOf": [{"type": "null"}, {"type": "number", "multipleOf": 0.1}]},
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"a": {"const": 1}},
        "$ref": "#/definitions/a",
    },
    {"type": "integer", "maximum": 10**26},
]


@pytest.mark.parametrize("schema", GOOD, ids=lambda schema: json.dumps(schema)[:40])
def test_schemas_that_can_be_enforced(write, schema):
    assert load_schema(write(schema)) == schema
    assert allowed(constraint(schema))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_json_in_every_encoding_that_json_had(write, encoding):
    assert load_schema(write(json.dumps({"enum": ["é"]}, ensure_ascii=False).encode(encoding))) == {"enum": ["é"]}


BAD = [
    ("", "is not JSON"),
    ("{", "is not JSON"),
    (b"\xff\xfe\xfa", "is not JSON"),
    ("[1]", "not a JSON object"),
    ("true", "not a JSON object"),
    ('{"maximum": NaN}', "NaN"),
    ('{"maximum": 1e999}', "1e999"),
    ('{"maximum": ' + "9" * 5000 + "}", "is not JSON"),
    ({"type": "strin"}, "strin"),
    ({"type": "array", "items": 7}, "object or boolean"),
    ({"enum": []}, "Unsatisfiable"),
    ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "Unsatisfiable"),
    ({"not": {"type": "string"}}, "not"),
    ({"type": "array", "uniqueItems": True}, "uniqueItems"),
    ({"x-guidance": {"lenient": True}, "type": "array", "uniqueItems": True}, "uniqueItems"),
    ({"type": "string", "format": "zebra"}, "zebra"),
    ({"type": "string", "pattern": "("}, "regex"),
    ({"type": "string", "pattern": r"\p{L}+"}, "regex"),  # Rust knows it, the check afterwards does not
    ({"type": "string", "minLength": -1}, "-1"),
    ({"properties": {"\ud800": {}}}, "hex escape"),
    ({"$schema": "http://nowhere.example/schema", "type": "string"}, "nowhere.example"),
    ({"$ref": "#/$defs/missing"}, "missing"),
    ('{"items":' * 200 + "{}" + "}" * 200, "recursion"),
    ('{"items":' * 60_000 + "{}" + "}" * 60_000, "nested too deeply"),
]


@pytest.mark.parametrize(("schema", "reason"), BAD, ids=[str(number) for number in range(len(BAD))])
def test_schemas_that_are_refused_in_one_line(write, schema, reason):
    path = write(schema)
    with pytest.raises(UsageError) as refused:
        load_schema(path)
    line = str(refused.value)
    assert str(path) in line
    assert reason in line.replace(str(path), "")
    assert "\n" not in line
    assert len(line) < 600


def test_files_that_cannot_be_read(tmp_path, write):
    for path in (tmp_path / "none.json", tmp_path, "a\0b"):
        with pytest.raises(UsageError, match="cannot be read"):
            load_schema(path)
    with pytest.raises(UsageError, match="more than 1,000,000 bytes"):
        load_schema(write(b" " * (LARGEST + 1)))
    with pytest.raises(UsageError, match="more than 1,000,000 bytes"):
        load_schema("/dev/zero")


@pytest.fixture
def server():
    """Its address, and the paths that it was asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = b'{"type": "string"}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}", asked
        made.shutdown()
        thread.join()


def test_no_reference_is_ever_fetched(write, server, tmp_path):
    address, asked = server
    (tmp_path / "other.json").write_text('{"type": "string"}', encoding="utf-8")
    schemas = [
        {"$ref": f"{address}/a.json"},
        {"$id": f"{address}/base.json", "$ref": "other.json"},
        {"$schema": f"{address}/meta.json", "type": "string"},
        {"$ref": (tmp_path / "other.json").as_uri()},
        {"$ref": "other.json"},
        {"type": "object", "properties": {"a": {"$ref": f"{address}/a.json#/b"}}, "required": ["a"]},
    ]
    for schema in schemas:
        with pytest.raises(UsageError, match="schema"):
            load_schema(write(schema))
    for schema in schemas[:2] + schemas[3:]:  # the check by itself
        assert "leads out of it" in check('{"a": 1}', schema)
    assert asked == []


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}], ids=["ref", "allOf"])
def test_a_schema_that_leads_to_itself_alone(write, schema):
    load_schema(write(schema))
    with pytest.raises(UsageError, match="nothing satisfies"):
        constraint(schema)
    assert "too deeply" in check("1", schema)


def test_the_end_is_allowed_exactly_where_the_json_may_end():
    made = constraint({"type": "integer"})
    digits = set(ids_of("0123456789"))
    assert STOP not in allowed(made)
    assert allowed(made, ids_of("12")) == digits | {STOP}
    made.note(ids_of("12"))
    assert allowed(made) == digits | {STOP}
    record = constraint(RECORD)
    record.note(ids_of('{"name": "a", "pages": [1, 2]}'))
    assert allowed(record) == {STOP}
    record.note([STOP])
    assert allowed(record) <= {STOP}


def test_every_stop_token_and_no_other_control_token():
    made = constraint({"type": "integer"}, stop_ids=(256, STOP))
    assert not {256, STOP} & allowed(made)
    assert {256, STOP} <= allowed(made, ids_of("1"))
    assert 256 not in allowed(constraint({"type": "string"}), ids_of('"a'))


@pytest.mark.parametrize("layout", [{}, {"indent": 4}, {"indent": "\t"}, {"separators": (",", ":")}], ids=str)
def test_json_as_it_is_usually_laid_out(layout):
    value = {"name": 'é漢😀 "\\\n', "pages": [1, -20, 0]}
    text = json.dumps(value, ensure_ascii=False, **layout)
    assert takes(RECORD, text)
    assert check(text, RECORD) is None
    assert not takes({"type": "string"}, json.dumps("\ud800"))  # half a character


def test_white_space_has_an_end():
    """A small model would go on with it for ever."""
    made = constraint(RECORD)
    made.note(ids_of("{" + " " * 20))
    assert allowed(made) == set(ids_of('"'))


@pytest.mark.parametrize(
    "text",
    ['{"name": 1, "pages": []}', '{"name": "a"}', '{"name": "a", "pages": ["1"]}', "[]", '{"name": "a", "x": 1}'],
)
def test_what_breaks_the_schema_is_neither_taken_nor_valid(text):
    assert not takes(RECORD, text)
    assert check(text, RECORD)


def test_rows_stand_behind_their_own_prefixes():
    """Rows [n, W] in one call are those of single calls, in any order, whatever was asked between."""
    text = ids_of('{"name": "aé", "pages": [10]}')
    made, fresh = constraint(RECORD), constraint(RECORD)
    made.note(text[:4])
    rows = made.allowed(text[4:], len(text) - 3)
    assert rows.shape == (len(text) - 3, 258)
    generator = random.Random(0)
    for _ in range(60):
        end = generator.randrange(4, len(text) + 1)
        made.allowed(ids_of("zzz\u20ac"), 4)
        assert torch.equal(made.allowed(text[4:end], 1)[0], rows[end - 4])
        made._masks.clear()
    for end in range(4, len(text) + 1):
        assert torch.equal(fresh.allowed(text[:end], 1)[0], rows[end - 4])


@pytest.mark.parametrize("wrong", [ids_of("x"), [STOP], [256], [258], [10**9]], ids=str)
def test_behind_a_forbidden_token_there_are_no_rows_and_nothing_is_lost(wrong):
    made = constraint(RECORD)
    good = ids_of('{"na')
    tail = [*good, *wrong, *ids_of("me")]
    rows = made.allowed(tail, len(tail) + 1)
    assert len(rows) == len(good) + 1
    made.note(good)
    assert allowed(made) == set(ids_of("m"))
    with pytest.raises(SpslError, match="cannot go on"):
        made.note(wrong)


def test_constraints_of_one_maker_are_independent():
    make = constraint_for(RECORD, byte_tokenizer(), [STOP])
    first = make()
    first.note(ids_of('{"name": "'))
    assert allowed(make()) == set(ids_of("{"))
    assert ids_of("a")[0] in allowed(first)


def test_a_limit_that_is_reached_ahead_costs_nothing_until_one_gets_there(monkeypatch):
    """Behind a draft the grammar may fail for good; the output so far must not suffer."""
    made = constraint({"type": "string"})
    made.note(ids_of('"ab'))
    before = allowed(made)
    matcher = made._matcher
    matcher.consume_token(256)
    assert matcher.is_error()
    made._masks.clear()
    assert allowed(made, ids_of("c")) == set()  # what a failed matcher knows
    assert allowed(made) == before
    made._masks.clear()
    assert allowed(made, ids_of("c")) == before


@pytest.mark.parametrize(
    "tokenizer", [byte_level(), sentencepiece(), sentencepiece("first")], ids=["byte", "sp", "first"]
)
def test_tokenizers_of_the_usual_kinds(tokenizer):
    """Random walks over allowed tokens: what comes out is JSON of the schema, to the tokenizer's own decoder."""
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["dog", "the"]}, "b": {"type": "boolean"}},
        "required": ["a"],
    }
    stop = len(tokenizer) - 1
    made_by, finished = constraint_for({**schema, "additionalProperties": False}, tokenizer, [stop]), 0
    for seed in range(20):
        made, generator, ids = made_by(), random.Random(seed), []
        while len(ids) < 200 and stop not in ids:
            token = generator.choice(sorted(allowed(made)))
            made.note([token])
            ids.append(token)
        finished += stop in ids
        assert check(tokenizer.decode(ids[:-1]), schema) is None
    assert finished == 20


def test_models_that_no_schema_can_be_enforced_on():
    with pytest.raises(UnsupportedModelError, match="tokenizer"):
        constraint_for(RECORD, word_level(), [1])
    with pytest.raises(UnsupportedModelError, match="no token that ends"):
        constraint_for(RECORD, byte_tokenizer(), [])
    with pytest.raises(UnsupportedModelError, match="999"):
        constraint_for(RECORD, byte_tokenizer(), [999])


@pytest.mark.parametrize(
    ("text", "schema", "reason"),
    [
        ("", RECORD, "not JSON"),
        ('{"name": "a", "pages": [1', RECORD, "not JSON"),
        ('{"name": "a", "pages": [1]} and more', RECORD, "not JSON"),
        ('{"name": "a", "pages": [1.5]}', RECORD, r"\$.pages\[0\]: .*integer"),
        ("NaN", {}, "NaN"),
        ("1" * 5000, {}, "not JSON"),
        ("[" * 100_000 + "]" * 100_000, {}, "too deeply"),
        ('{"of":' * 400 + "{}" + "}" * 400, TREE, "too deeply"),
        ('"' + "x" * 10_000 + '"', {"type": "integer"}, "not of type"),
        ("0.35", {"multipleOf": 0.1}, r"\$: 0.35 is not a multiple of 0.1"),
        ("-1e400", {"type": "number"}, "-1e400 is too large"),
    ],
)
def test_the_check_says_why_in_one_line(text, schema, reason):
    told = check(text, schema)
    assert re.search(reason, told)
    assert "\n" not in told
    assert len(told) < 300


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ('{"name": "\\ud83d\\ude00", "pages": []}', RECORD),
        (" \n[]\n", {"type": "array"}),
        ("0.3", {"type": "number", "multipleOf": 0.1}),
        ("1" + "0" * 40, {"multipleOf": 0.1}),
        ("1.0", {"type": "integer"}),
        ("1e-400", {"maximum": 0.1}),
        ("[1, 1.0]", {"type": "array", "items": {"const": 1}}),
        ('{"of": {"of": {}}}', TREE),
    ],
)
def test_the_check_lets_pass_what_is_right(text, schema):
    assert check(text, schema) is None
