"""Files of RULER, LongBench v2, InfiniteBench and L-Eval: read by their keys, and what is damaged is named."""

from __future__ import annotations

import json

import pytest

from spsl_cli.bench.tasks.local_files import LocalFile
from spsl_cli.bench.tasks.metrics import choice, contains, match_all, match_part, rouge_l, token_f1
from spsl_cli.errors import NoReadableInputError, UsageError

RULER = {
    "index": 0,
    "input": "Some numbers are hidden.\nThe grass is green. The number of x is 42.\nWhat is the number of x?",
    "outputs": ["42"],
    "length": 20,
    "answer_prefix": " The number of x is",
}
LONGBENCH = {
    "_id": "1",
    "domain": "QA",
    "question": "Who did it?",
    "choice_A": "The cook",
    "choice_B": "The maid",
    "choice_C": "The cat",
    "choice_D": "Nobody",
    "answer": "B",
    "context": "A long story in which the maid did it.",
}
INFINITE = {"id": 0, "context": "The pass key is 71432.", "input": "What is the pass key?", "answer": ["71432"]}
INFINITE_CHOICE = {**INFINITE, "options": ["The cook", "71432", "12", "13"]}
LEVAL = {
    "instructions": ["What is it about?", "Who is in it?"],
    "input": "It is about Ann.",
    "outputs": ["About Ann.", "Ann."],
    "source": "x",
    "evaluation": "f1",
}


class Words:
    def count(self, text):
        return len(text.split())

    def cut(self, text, tokens):
        return " ".join(text.split()[:tokens])


def lines(*records):
    return "".join(f"{json.dumps(record)}\n" for record in records)


@pytest.fixture
def load(tmp_path):
    def load(text, name="samples.jsonl", tokens=100, count=10):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        load.told = []
        return LocalFile(path, load.told.append).samples(Words(), tokens, count, seed=0)

    return load


def test_ruler(load):
    (sample,) = load(lines(RULER))
    assert sample.text.endswith("The number of x is 42.")
    assert sample.question == "What is the number of x? The number of x is"
    assert (sample.answers, sample.metric) == (("42",), match_all)
    assert sample.source.endswith("samples.jsonl, line 1")
    assert (sample.score("42"), sample.score("43")) == (1.0, 0.0)


@pytest.mark.parametrize("name", ["qa_1.jsonl", "qa_2/validation.jsonl"])
def test_rulers_question_answering_asks_for_one_of_the_answers(load, name):
    (sample,) = load(lines({**RULER, "outputs": ["forty-two", "42"]}), name)
    assert sample.metric is match_part


@pytest.mark.parametrize("text", [lines(LONGBENCH), json.dumps([LONGBENCH], indent=2), "\n " + json.dumps([LONGBENCH])])
def test_longbench(load, text):
    """One of JSON a line as well as the list that is published."""
    (sample,) = load(text, "data.json")
    assert sample.text == LONGBENCH["context"]
    assert sample.question.startswith("Who did it?\n(A) The cook\n(B) The maid\n(C) The cat\n(D) Nobody\n")
    assert (sample.answers, sample.metric) == (("B",), choice)


@pytest.mark.parametrize(
    ("name", "answer", "metric"),
    [
        ("passkey.jsonl", ["71432"], contains),
        ("math_find.jsonl", 71432, contains),
        ("longbook_qa_eng.jsonl", ["71432", "71,432"], token_f1),
        ("longbook_sum_eng.jsonl", "71432", rouge_l),
        ("math_calc.jsonl", [1, 2, 3], None),
    ],
)
def test_infinitebench(load, name, answer, metric):
    (sample,) = load(lines({**INFINITE, "answer": answer, "options": []}), name)
    assert (sample.text, sample.question, sample.metric) == (INFINITE["context"], INFINITE["input"], metric)
    assert sample.score("71432") == (None if metric is None else 1.0)


@pytest.mark.parametrize("answer", ["71432", ["71432"], ["71432", "B"]])
def test_infinitebench_with_options(load, answer):
    (sample,) = load(lines({**INFINITE_CHOICE, "answer": answer}))
    assert "(B) 71432" in sample.question
    assert [sample.score(said) for said in ("B", "It is 71432", "A", "It is 12")] == [1, 1, 0, 0]


def test_leval(load):
    first, second = load(lines(LEVAL))
    assert first.text == second.text == LEVAL["input"]
    assert [(sample.question, sample.answers) for sample in (first, second)] == [
        ("What is it about?", ("About Ann.",)),
        ("Who is in it?", ("Ann.",)),
    ]


@pytest.mark.parametrize(
    ("evaluation", "output", "metric"),
    [
        ("exam", "B", choice),
        ("exam", "BD", choice),
        ("exam", "42", contains),
        ("f1", "x", token_f1),
        ("rouge", "x", rouge_l),
        ("LLM", "x", rouge_l),
    ],
)
def test_leval_scores(load, evaluation, output, metric):
    record = {**LEVAL, "instructions": ["?"], "outputs": [output], "evaluation": evaluation}
    assert load(lines(record))[0].metric is metric


def test_samples_that_are_too_long_are_counted_and_told(load):
    long = {**INFINITE, "context": "word " * 300}
    found = load(lines(long, INFINITE, long, INFINITE_CHOICE), count=2)
    assert [sample.source.rpartition(", ")[2] for sample in found] == ["line 2", "line 4"]
    assert load.told[0].endswith("samples.jsonl: 2 of 4 samples left out: longer than 100 tokens")
    with pytest.raises(UsageError, match=r"all 1 samples of .* longer than 100 tokens"):
        load(lines(long))


def test_the_question_counts(load):
    assert load(lines(INFINITE), tokens=10)
    with pytest.raises(UsageError, match="longer"):
        load(lines(INFINITE), tokens=9)


def test_a_very_long_text_is_not_measured_whole(tmp_path):
    class Listening(Words):
        longest = 0

        def count(self, text):
            self.longest = max(self.longest, len(text))
            return super().count(text)

    path = tmp_path / "a.jsonl"
    path.write_text(lines({**INFINITE, "context": "word " * 100_000}, INFINITE))
    ruler = Listening()
    assert len(LocalFile(path, lambda _: None).samples(ruler, 50, 1, seed=0)) == 1
    assert ruler.longest < 2000


def test_only_what_is_wanted_is_read(load):
    """Damage behind the last sample that is taken does no harm: files of gigabytes are not read to their end."""
    assert len(load(lines(INFINITE, INFINITE) + "{broken", count=2)) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (lines(INFINITE) + "{broken\n", "line 2: not JSON"),
        (lines(INFINITE).encode() + b'{"context": "\xff"}\n', "line 2: not JSON"),
        (lines(INFINITE) + "[" * 100_000, "line 2: not JSON"),
        (lines(INFINITE) + "\n\n" + lines(["a list"]), "line 4: not an object"),
        (lines({"text": "a"}), "line 1: of no known format, which are RULER"),
        (json.dumps([LONGBENCH, {**LONGBENCH, "answer": "E"}]), "entry 2: 'answer' is 'E' and not A, B, C or D"),
        (json.dumps([LONGBENCH])[:-9], "not JSON"),
        (lines({**LONGBENCH, "context": None}), "line 1: 'context' is no text"),
        (lines({**INFINITE, "answer": {}}), "line 1: 'answer' is no text"),
        (lines({**INFINITE, "answer": []}), "line 1: 'answer' is no text"),
        (lines({**INFINITE_CHOICE, "answer": "else"}), "line 1: 'answer' is none of the 'options'"),
        (lines({**INFINITE_CHOICE, "options": ["71432"] * 9}), "line 1: 9 options, more than 8"),
        (lines({**LEVAL, "outputs": ["one"]}), "line 1: 2 'instructions' but 1 'outputs'"),
        (lines({**RULER, "input": "No question"}), "line 1: 'input' has no line before its question"),
        (lines({**RULER, "answer_prefix": 3}), "line 1: 'answer_prefix' is no text"),
        ("", "no sample in"),
        ("[]", "no sample in"),
    ],
)
def test_damage_is_named(load, text, told):
    with pytest.raises(NoReadableInputError) as caught:
        load(text)
    line = str(caught.value)
    assert told in line
    assert "samples.jsonl" in line
    assert "\n" not in line
    assert len(line) < 600


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path, tmp_path / "absent.jsonl", tmp_path / "nul\0.jsonl"):
        with pytest.raises(NoReadableInputError):
            LocalFile(path, lambda _: None).samples(Words(), 10, 1, seed=0)


def test_byte_order_mark_and_half_signs(load):
    (sample,) = load(b"\xef\xbb\xbf" + lines({**INFINITE, "context": "half \ud83d and \ud83d\ude42"}).encode())
    assert sample.text == "half \ufffd and \N{SLIGHTLY SMILING FACE}"
