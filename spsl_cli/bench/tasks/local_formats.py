"""Lines of published benchmarks -> what is asked about which text. Knows the formats by their keys; opens no file.

RULER (arXiv 2404.06654), LongBench v2 (2412.15204), InfiniteBench (2402.13718) and L-Eval (2307.11088), as their
authors publish them. Scores are theirs where they need no model to judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spsl_cli.bench.tasks import metrics
from spsl_cli.bench.tasks.base import Metric

_LETTERS = "ABCDEFGH"
_CHOICES = tuple(f"choice_{letter}" for letter in "ABCD")
KEYS = (
    "RULER (input, outputs), LongBench v2 (context, question, choice_A ...), "
    "InfiniteBench (context, input, answer), L-Eval (input, instructions, outputs)"
)
"""The formats, for messages."""


@dataclass(frozen=True)
class Item:
    """One question about one text."""

    text: str
    question: str
    answers: tuple[str, ...]
    metric: Metric | None


def items(record: Any, name: str) -> list[Item]:
    """What a line asks; `name` of its file tells tasks of one format apart.

    Raises ValueError, with what is wrong, for a record of no format or with parts of the wrong kind.
    """
    if not isinstance(record, Mapping):
        raise ValueError("not an object")  # noqa: TRY004 it is the file that is wrong
    keys = frozenset(record)
    if {"input", "instructions", "outputs"} <= keys:
        return _leval(record)
    if {"input", "outputs"} <= keys:
        return [_ruler(record, name)]
    if {"context", "question", "answer", *_CHOICES} <= keys:
        return [_longbench(record)]
    if {"context", "input", "answer"} <= keys:
        return [_infinitebench(record, name)]
    raise ValueError(f"of no known format, which are {KEYS}")


def _ruler(record: Mapping[str, Any], name: str) -> Item:
    """The question is the last line of the input, and the words that begin the answer, where they are given."""
    text, _, question = _text(record, "input").strip().rpartition("\n")
    if "answer_prefix" in record:
        question += _text(record, "answer_prefix")
    metric = metrics.match_part if name.startswith("qa") else metrics.match_all
    if not text.strip():
        raise ValueError("'input' has no line before its question")
    return Item(text.rstrip(), question.strip(), _answers(record["outputs"], "outputs"), metric)


def _longbench(record: Mapping[str, Any]) -> Item:
    options = [_text(record, key) for key in _CHOICES]
    question = _with_options(_text(record, "question"), options)
    letter = _text(record, "answer").strip().upper()
    if letter not in tuple("ABCD"):
        raise ValueError(f"'answer' is {letter[:20]!r} and not A, B, C or D")
    return Item(_text(record, "context"), question, (letter,), metrics.choice)


def _infinitebench(record: Mapping[str, Any], name: str) -> Item:
    text, question, options = _text(record, "context"), _text(record, "input"), record.get("options") or []
    if options:
        return _with_letter(text, question, _answers(options, "options"), _answers(record["answer"], "answer"))
    answers = _answers(record["answer"], "answer")
    metric: Metric | None = metrics.contains
    if name.startswith("longbook_qa"):
        metric = metrics.token_f1
    elif name.startswith("longbook_sum"):
        metric = metrics.rouge_l
    elif name.startswith("math_calc"):  # thousands of intermediate results: how many are right is no match of strings
        metric = None
    return Item(text, question or "Do what the text asks for.", answers, metric)


def _with_letter(text: str, question: str, options: tuple[str, ...], answers: tuple[str, ...]) -> Item:
    if len(options) > len(_LETTERS):
        raise ValueError(f"{len(options)} options, more than {len(_LETTERS)}")
    right = next((index for index, option in enumerate(options) if option in answers), None)
    if right is None:
        raise ValueError("'answer' is none of the 'options'")
    return Item(text, _with_options(question, options), (_LETTERS[right], options[right]), metrics.choice)


def _leval(record: Mapping[str, Any]) -> list[Item]:
    """Several questions about one text."""
    text = _text(record, "input")
    questions, answers = (_answers(record[key], key) for key in ("instructions", "outputs"))
    if len(questions) != len(answers):
        raise ValueError(f"{len(questions)} 'instructions' but {len(answers)} 'outputs'")
    kind = str(record.get("evaluation", "")).lower()
    return [
        Item(text, question, (answer.strip(),), _leval_metric(kind, answer))
        for question, answer in zip(questions, answers, strict=True)
    ]


def _leval_metric(kind: str, answer: str) -> Metric:
    """What L-Eval leaves to a model's judgement is scored as its summaries are: by ROUGE-L."""
    if kind == "exam":
        bare = answer.strip()
        return metrics.choice if bare and set(bare) <= set(_LETTERS) else metrics.contains
    return metrics.token_f1 if kind == "f1" else metrics.rouge_l


def _with_options(question: str, options: tuple[str, ...] | list[str]) -> str:
    lettered = (f"({letter}) {option}" for letter, option in zip(_LETTERS, options, strict=False))
    return "\n".join([question, *lettered, "Answer with the letter of the right option."])


def _text(record: Mapping[str, Any], key: str) -> str:
    if not isinstance(value := record[key], str):
        raise ValueError(f"'{key}' is no text")  # noqa: TRY004 it is the file that is wrong
    return value


def _answers(value: Any, key: str) -> tuple[str, ...]:
    """A text or number, or several of them."""
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(one, str | int | float) for one in values):
        raise ValueError(f"'{key}' is no text and no list of texts")
    return tuple(map(str, values))
