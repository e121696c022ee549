"""What commands print as JSON against the schemas in docs/schemas, found by the object's own `schema` value."""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from jsonschema import Draft202012Validator, validators
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from spsl_cli import events, run_history
from spsl_cli.cli.app import app
from spsl_cli.cli.bench_suites import SUITES
from spsl_cli.decoding.config import Controller, Index
from spsl_cli.events import TokenKind
from spsl_cli.interrupt import Interrupts
from spsl_cli.render.answer import json_text
from spsl_cli.render.json_lines import event_object
from tests.cli.run import check_failed, spsl
from tests.cli.test_ask import CONTRACT, KEYS

REPOSITORY = Path(__file__).parents[2]
FOLDER = REPOSITORY / "docs" / "schemas"
FILES = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
ANYTHING = {"structured"}  # JSON of any kind
EVENTS = "spsl.events.1.schema.json"
LONGEST_DESCRIPTION = 120


def without_dialect(schema):
    """A schema that names its dialect would be handed to the library's own validator instead of ours."""
    return {key: value for key, value in schema.items() if key != "$schema"}


REGISTRY = Registry().with_resources(
    (name, DRAFT202012.create_resource(without_dialect(schema))) for name, schema in FILES.items()
)


def file_of(schema: str) -> str:
    """`spsl.answer/1` -> `spsl.answer.1.schema.json`."""
    return schema.replace("/", ".") + ".schema.json"


def validator(name: str, kind: type = Draft202012Validator) -> Any:
    return kind({"$ref": name}, registry=REGISTRY)


class Published:
    """An object that its schema allows, and for each object within it the keys that are required and described."""

    def __init__(self, content: dict[str, Any], name: str) -> None:
        self.content, self.name = content, name
        self.required: dict[int, set[str]] = defaultdict(set)
        self.described: dict[int, set[str]] = defaultdict(set)
        recorder = validator(name, validators.extend(Draft202012Validator, self._keywords()))
        self.errors = [f"{error.json_path}: {error.message[:200]}" for error in recorder.iter_errors(content)]

    def _keywords(self) -> dict[str, Any]:
        def noting(keyword: str, notes: dict[int, set[str]]) -> Any:
            check = Draft202012Validator.VALIDATORS[keyword]

            def noted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
                if isinstance(instance, dict):  # a map's additionalProperties describe every key
                    notes[id(instance)] |= set(instance if keyword == "additionalProperties" else value)
                return check(validator, value, instance, schema)

            return noted

        return {
            "required": noting("required", self.required),
            "properties": noting("properties", self.described),
            "additionalProperties": noting("additionalProperties", self.described),
        }

    def undocumented(self) -> list[str]:
        return [key for holder, key in entries(self.content) if key not in self.described[id(holder)]]

    def not_refused(self) -> list[str]:
        """What the schema allows though a required key is missing, or a value is of a wrong type."""
        plain, allowed = validator(self.name), []
        for holder, key in entries(self.content):
            value = holder.pop(key)
            if key in self.required[id(holder)] and plain.is_valid(self.content):
                allowed.append(f"without {key}")
            holder[key] = "wrong" if isinstance(value, dict) else {"wrong": True}
            if key not in ANYTHING and plain.is_valid(self.content):
                allowed.append(f"{key} of a wrong type")
            holder[key] = value
        return allowed


def entries(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Every key of every object within `value`, with the object that holds it."""
    for child in value.values() if isinstance(value, dict) else value:
        if isinstance(child, dict | list):
            yield from entries(child)
    if isinstance(value, dict):
        yield from ((value, key) for key in list(value))


def shortened(value: Any) -> Any:
    """Two entries of each list are enough to break."""
    if isinstance(value, dict):
        return {key: shortened(child) for key, child in value.items()}
    return [shortened(child) for child in value[:2]] if isinstance(value, list) else value


def check(content: dict[str, Any], name: str) -> None:
    """The schema allows the object, describes each of its keys, and refuses it broken."""
    published = Published(content, name)
    assert published.errors == []
    assert published.undocumented() == []
    assert Published(shortened(content), name).not_refused() == []


# ---- the files -----------------------------------------------------------------------------------------------------


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part of a schema but conditions, which say nothing of their own."""
    if isinstance(schema, dict):
        yield schema
    children = schema.items() if isinstance(schema, dict) else enumerate(schema)
    for key, child in children:
        if isinstance(child, dict | list) and key not in ("if", "then"):
            yield from nodes(child)


@pytest.mark.parametrize("name", FILES)
def test_a_schema_is_valid_and_its_references_lead_somewhere(name):
    schema = FILES[name]
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)
    resolver = REGISTRY.resolver(base_uri=name)
    for node in nodes(schema):
        if "$ref" in node:
            resolver.lookup(node["$ref"])


def description(schema: dict[str, Any], resolver: Any) -> str:
    """Its own, or that of what it refers to."""
    if "description" in schema:
        return str(schema["description"])
    there = resolver.lookup(schema["$ref"])
    return description(there.contents, there.resolver)


@pytest.mark.parametrize("name", FILES)
def test_every_key_has_a_description_in_one_line(name):
    resolver = REGISTRY.resolver(base_uri=name)
    described = {key: value for node in nodes(FILES[name]) for key, value in node.get("properties", {}).items()}
    assert described
    for key, value in described.items():
        words = description(value, resolver)
        assert "\n" not in words, key
        assert words.endswith("."), key
        assert 8 <= len(words) <= LONGEST_DESCRIPTION, key


def test_there_is_a_file_for_each_schema_that_the_code_names():
    code = "\n".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "spsl_cli").rglob("*.py"))
    named = set(re.findall(r'"(spsl\.[a-z_]+/[0-9]+)"', code))
    assert {file_of(schema) for schema in named} | {EVENTS} == set(FILES)
    for schema in named:
        assert FILES[file_of(schema)]["properties"]["schema"]["const"] == FILES[file_of(schema)]["title"] == schema
    pages = [(place / "README.md").read_text(encoding="utf-8") for place in (FOLDER, FOLDER.parent)]
    assert set(re.findall(r"\]\((spsl\.[^)]+)\)", pages[0])) == set(FILES)
    assert "(schemas/)" in pages[1]


PROMISED = {
    "spsl.answer.1 document": {"path", "sha256", "media_type", "pages", "characters", "tokens", "warnings"},
    "spsl.answer.1 skip": {"path", "reason"},
    "spsl.answer.1 citation": {"quote", "path", "page", "line", "status"},
    "spsl.documents.1 document": {"path", "sha256", "media_type", "encoding", "warnings", "pages"},
    "spsl.documents.1 page": {"number", "label", "text", "warnings"},
    "spsl.models.1 model": {"id", "path", "revision", "license", "context_length"},
    "spsl.doctor.1 setting": {"value", "origin"},
    **{f"spsl.answer.1 {name}": keys for name, keys in KEYS.items()},
}


def test_what_is_promised_is_required():
    assert set(CONTRACT) == set(FILES["spsl.answer.1.schema.json"]["required"])
    assert PROMISED["spsl.models.1 model"] | {"schema"} == set(FILES["spsl.model.1.schema.json"]["required"])
    for place, keys in PROMISED.items():
        schema, name = place.split()
        assert set(FILES[f"{schema}.schema.json"]["$defs"][name]["required"]) == keys, place


def test_words_to_choose_from_are_those_of_the_code():
    from spsl_cli.citing.citations import Status  # noqa: PLC0415
    from spsl_cli.models.source import Kind  # noqa: PLC0415

    definitions = FILES["spsl.answer.1.schema.json"]["$defs"]
    speculation = definitions["speculation"]["properties"]
    assert speculation["controller"]["enum"] == [*get_args(Controller), "none"]
    assert set(speculation["index"]["enum"]) == set(get_args(Index))
    system = FILES["spsl.bench.1.schema.json"]["$defs"]["system"]["properties"]
    assert system["name"]["enum"] == [*speculation["index"]["enum"], "ar", "hf-eager"]
    assert definitions["citation"]["properties"]["status"]["enum"] == list(Status)
    assert FILES["spsl.model.1.schema.json"]["properties"]["kind"]["enum"] == list(Kind)
    assert FILES[EVENTS]["$defs"]["kind"]["enum"] == list(TokenKind)


# ---- what commands print -------------------------------------------------------------------------------------------

PRINTED = {
    "ask {note} Why? {short} --compare-ar": (0, "spsl.answer/1"),
    "ask {note} Why? {short} --no-speculation": (0, "spsl.answer/1"),
    "ask {note} Why? {short} --compare-ar --temperature 1": (0, "spsl.answer/1"),
    "ask {note} {broken} Why? {short}": (7, "spsl.answer/1"),
    "ask {note} -q Why? -q When? {short}": (0, "spsl.answers/1"),
    "ask {long} Why? {short} --overflow map-reduce": (0, "spsl.answer/1"),
    "summarize {note} {short}": (0, "spsl.answer/1"),
    "summarize {note} {book} {short}": (0, "spsl.answers/1"),
    "chat {note} {short}": (0, "spsl.answer/1"),
    "ask {note} Why? {model} --dry-run": (0, "spsl.plan/1"),
    "summarize {note} {broken} {model} --dry-run": (7, "spsl.plan/1"),
    "ask {none} Why? {model} --dry-run": (3, "spsl.plan/1"),
    "ask {note} Why? --model {none} --dry-run": (5, "spsl.plan/1"),
    "ask {long} Why? {model} --dry-run --overflow map-reduce": (0, "spsl.plan/1"),
    "summarize {note} {book} {model} --dry-run": (0, "spsl.plan/1"),
    "summarize {long} {model} --dry-run": (4, "spsl.plan/1"),
    "read {report} {note}": (0, "spsl.documents/1"),
    "read {note} {broken}": (7, "spsl.documents/1"),
    "read {none}": (3, "spsl.documents/1"),
    "bench {note} {short} --repeats 1 --compare-ar": (0, "spsl.bench/1"),
    "bench {short} --repeats 1 --context 60 --batch 2": (0, "spsl.bench/1"),
    "doctor {model}": (0, "spsl.doctor/1"),
    "doctor --model {none}": (0, "spsl.doctor/1"),
    "models list": (0, "spsl.models/1"),
    "models show {place}": (0, "spsl.model/1"),
    "models pull {place}": (0, "spsl.model/1"),
    "cache list": (0, "spsl.cache/1"),
}
FAILING = {
    "ask {none} Why? {model}": 3,
    "ask {note} --question= {model}": 2,
    "ask {note} Why? {model} --k 99": 2,
    "ask {note} Why? {model} -o {none}/answer.json": 2,
    "ask {long} Why? {model}": 4,
    "ask {note} Why? --model {none}": 5,
    "summarize {broken} {model}": 3,
    "summarize {note} {model} --length tall": 2,
    "summarize {long} {model}": 4,
    "ask {note} Why? {model} --json-stream": 2,
    "chat {none} {model}": 3,
    "chat - {model}": 2,
    "read": 2,
    "bench {none} {model}": 3,
    "bench {long} {model} --max-new-tokens 4 --repeats 1": 4,
    "bench {note} {model} --repeats 0": 2,
    "doctor {model} --budget 7.5": 2,
    "models show {none}": 5,
    "models pull {none}": 5,
    "models list --nonsense": 2,
    "cache list --nonsense": 2,
}


@pytest.fixture(scope="module")
def call(model, tmp_path_factory):
    """Run a command of the tables above, in a place of its own, with a cache and a history of its own."""
    place = tmp_path_factory.mktemp("schemas")
    files = {name: place / f"{name}.txt" for name in ("note", "book", "long", "none", "broken")}
    files["note"].write_text("The ferry leaves at nine. A ticket costs four crowns.\n", encoding="utf-8")
    files["book"].write_text("A sentence of the book. " * 30, encoding="utf-8")
    files["long"].write_text("word " * 600, encoding="utf-8")
    files["broken"].write_bytes(bytes(range(256)))
    snapshot = place / "hub" / "models--a--tiny" / "snapshots" / ("0" * 40)
    shutil.copytree(model, snapshot)
    words = {
        **files,
        "report": FOLDER.parent / "examples" / "sparsespec-report.pdf",
        "place": model,
        "model": f"--model\n{model}",
        "short": f"--model\n{model}\n--max-new-tokens\n8\n--k\n2",
    }

    def run(line: str, form: str = "--json"):
        return spsl(*line.replace(" ", "\n").format(**words).split("\n"), form, stdin=b"Why?\n")

    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"CACHE": "on", "CACHE_DIR": str(place / "cache"), "HISTORY": "on", "NATIVE": "off"}.items():
            patch.setenv(f"SPSL_{name}", value)
        patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(place / "hub"))
        patch.setattr("spsl_cli.config.config_file", lambda: place / "config.toml")
        yield run


def test_every_command_with_json_is_here():
    def with_json(command: Any, *path: str) -> Iterator[str]:
        for name, child in getattr(command, "commands", {}).items():
            yield from with_json(child, *path, name)
        if any("--json" in option.opts for option in command.params):
            yield " ".join(path)

    for command in with_json(typer.main.get_command(app)):
        if command.removeprefix("bench ") in SUITES:  # minutes each: test_bench_reports.py holds their reports to it
            continue
        for table in (PRINTED, FAILING):
            assert any(f"{line} ".startswith(f"{command} ") for line in table), command


@pytest.mark.parametrize("line", PRINTED)
def test_what_is_printed_is_what_is_published(call, line):
    code, schema = PRINTED[line]
    if line == "cache list":
        call("summarize {book} {short}")  # long enough to be kept
    result = call(line)
    assert result.returncode == code, result.stderr.decode()
    content = json.loads(result.stdout)
    assert content["schema"] == schema
    for name in {"cache list": ("entries",), "models list": ("models",)}.get(line, ()):
        assert content[name], "an empty list shows nothing"
    check(content, file_of(schema))


@pytest.mark.parametrize("line", FAILING)
def test_where_nothing_is_printed_when_it_fails(call, line):
    check_failed(call(line), FAILING[line])


@pytest.mark.parametrize(
    ("code", "place", "error"),
    [
        (1, "decode", RuntimeError("by a mistake of ours")),
        (6, "prefill", MemoryError("no more")),
        (130, "prefill", KeyboardInterrupt()),
    ],
)
def test_nothing_is_printed_when_a_run_breaks_off(call, monkeypatch, code, place, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(f"spsl_cli.decoding.run.DecodingRun.{place}", fail)
    check_failed(call("ask {note} Why? {short}"), code)


def test_an_interrupted_answer(call, monkeypatch):
    def press(self: Interrupts) -> None:
        self.seen = True

    monkeypatch.setattr(Interrupts, "defer", press)
    result = call("ask {note} Why? {short}")
    assert result.returncode == 130, result.stderr.decode()
    content = json.loads(result.stdout)
    assert content["finish_reason"] == "interrupted"
    check(content, file_of(content["schema"]))


QUOTING = '"The ferry leaves at nine", and "The ferry ... costs four crowns"; "the captain was not seen again".'


def test_quotes_and_the_history(call, monkeypatch):
    monkeypatch.setattr("spsl_cli.narration.Narrator.text", property(lambda _: QUOTING))
    content = json.loads(call("ask {note} Why? {short}").stdout)
    assert [each["status"] for each in content["citations"]] == ["verified", "repaired", "unverified"]
    check(content, file_of("spsl.answer/1"))
    content["citations"][0]["path"] = None
    assert Published(content, file_of("spsl.answer/1")).errors, "verified without a place"
    entries = [json.loads(line) for line in run_history.history_file().read_text(encoding="utf-8").splitlines()]
    assert entries[-1]["answer"] == QUOTING
    check(entries[-1], file_of(entries[-1]["schema"]))


# ---- what a run says while it goes ---------------------------------------------------------------------------------

STATS = events.SpeculationStats(enabled=True, controller="fixed", budget=0.1, k_histogram={0: 1, 2: 3}, drafted=6)
COMPARISON = events.Comparison("ar", 20.0, 0.4, 1.2, identical=False, first_difference=3, top2_margin=0.01)
EXAMPLES = [
    events.Prefill(3, 9, 0.1),
    events.Draft((4, 5), (0.1, 0.2), 2),
    events.Verify(2, 1, None),
    events.Tokens((4, 6), (TokenKind.ACCEPTED, TokenKind.BONUS)),
    events.Done("stop", STATS),
    events.Notice("careful"),
    events.Progress("fetch model", 3, None, "bytes"),
    events.Started("ask", "tiny", "cpu", "float32", ("a.txt",), 9, 4, "none", 800, "Why?"),
    events.TextEvent("text"),
    events.RoundEvent((events.Piece("te", TokenKind.PLAIN),), None, STATS, 0.2),
    COMPARISON,
    events.Finished("length", STATS, COMPARISON),
]


def line_of(event: events.Event) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json_text(event_object(event)))
    return content


def test_every_kind_of_event_is_here():
    known = {kind.__name__ for kind in events.Event.__subclasses__()}
    assert {type(event).__name__ for event in EXAMPLES} == known
    kinds = [*(line_of(event)["event"] for event in EXAMPLES), "answer", "error"]
    assert sorted(kinds) == sorted(FILES[EVENTS]["properties"]["event"]["enum"])
    conditions = [part["if"]["properties"]["event"]["const"] for part in FILES[EVENTS]["allOf"]]
    assert sorted(kinds) == sorted(conditions)


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_is_what_is_published(event):
    check(line_of(event), EVENTS)


def test_the_events_of_a_run(call):
    result = call("ask {note} {broken} Why? {short} --compare-ar", "--json-stream")
    assert result.returncode == 7, result.stderr.decode()
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    names = [line["event"] for line in lines]
    assert set(names) == {"started", "progress", "notice", "round", "text", "finished", "answer"}
    assert names[-1] == "answer"
    assert "".join(line["text"] for line in lines if line["event"] == "text").strip() == lines[-1]["answer"]["answer"]
    for line in lines:
        published = Published(line, EVENTS)
        assert published.errors == published.undocumented() == []
    assert Published(shortened(lines[-1]), EVENTS).not_refused() == []


def check_last_line(result):
    *_, last = [json.loads(line) for line in result.stdout.splitlines()]
    assert (last["event"], last["exit_code"]) == ("error", result.returncode)
    assert f"spsl: error: {last['text']}\n" in result.stderr.decode()
    published = Published(last, EVENTS)
    assert published.errors == published.undocumented() == published.not_refused() == []


@pytest.mark.parametrize("command", ["ask {long} Why? {model}", "summarize {broken} {model}"])
def test_a_stream_ends_with_what_went_wrong(call, command):
    result = call(command, "--json-stream")
    assert result.returncode == FAILING[command]
    check_last_line(result)


@pytest.mark.parametrize(("code", "error"), [(1, RuntimeError("a mistake")), (130, KeyboardInterrupt())])
def test_a_stream_that_breaks_off_says_so(call, monkeypatch, code, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("spsl_cli.decoding.run.DecodingRun.prefill", fail)
    result = call("ask {note} Why? {short}", "--json-stream")
    assert result.returncode == code
    check_last_line(result)
