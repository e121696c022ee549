"""Our prompt against the bare chat template: the same model, texts and questions, scored in pairs.

`SPSL_TEST_SQUAD` names a file in the format of SQuAD 1.1; `SPSL_TEST_QUESTIONS` says how many of its questions are
asked (200).
"""

from __future__ import annotations

import json
import os
import random
import re
import string
from collections import Counter
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.documents import Document, Page
from spsl_cli.models import embedded_model_path
from spsl_cli.prompting.layout import build_prompt

FILE = os.environ.get("SPSL_TEST_SQUAD")
RESAMPLES = 2000


def words(text: str) -> list[str]:
    """As SQuAD's own scoring has them: no case, punctuation or articles."""
    bare = "".join(mark for mark in text.lower() if mark not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


def f1(answer: str, gold: str) -> float:
    given, wanted = words(answer), words(gold)
    common = sum((Counter(given) & Counter(wanted)).values())
    return 2 * common / (len(given) + len(wanted)) if common else 0.0


def contains(answer: str, gold: str) -> float:
    return float(f" {' '.join(words(gold))} " in f" {' '.join(words(answer))} ")


def interval(differences: list[float]) -> tuple[float, float, float]:
    """Their mean, and 95 % of the means of as many drawn from them again."""
    values = torch.tensor(differences)
    draws = torch.randint(len(values), (RESAMPLES, len(values)), generator=torch.Generator().manual_seed(0))
    means = values[draws].mean(1).sort().values
    return float(values.mean()), float(means[RESAMPLES // 40]), float(means[-RESAMPLES // 40])


def questions() -> list[tuple[str, str, list[str]]]:
    data = json.loads(Path(FILE or "").read_text(encoding="utf-8"))["data"]
    asked = [
        (paragraph["context"], question["question"], [answer["text"] for answer in question["answers"]])
        for article in data
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    random.Random(0).shuffle(asked)
    return asked[: int(os.environ.get("SPSL_TEST_QUESTIONS", "200"))]


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.skipif(FILE is None, reason="SPSL_TEST_SQUAD names no file")
def test_the_prompt_costs_no_quality(capsys):
    path = embedded_model_path()
    tokenizer = AutoTokenizer.from_pretrained(path)
    decoder = SparseSpecDecoder(AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval())

    def answer(ids: list[int]) -> str:
        result = decoder.decode(ids, max_new_tokens=48, stop_token_ids=(tokenizer.eos_token_id,))
        return tokenizer.decode(result.token_ids, skip_special_tokens=True)

    scores: dict[str, list[tuple[float, float]]] = {"F1": [], "contains": []}
    for context, question, gold in questions():
        bare = tokenizer.apply_chat_template(
            [{"role": "user", "content": f"{context}\n\n{question}"}], add_generation_prompt=True, return_dict=True
        )
        ours = build_prompt(tokenizer, [Document("text.txt", "", "text/plain", (Page(1, context),))], question)
        given = answer(bare["input_ids"]), answer(ours.ids)
        for name, score in (("F1", f1), ("contains", contains)):
            scores[name].append(tuple(max(score(one, wanted) for wanted in gold) for one in given))
    for name, pairs in scores.items():
        means = [sum(pair[i] for pair in pairs) / len(pairs) for i in (0, 1)]
        mean, low, high = interval([ours - bare for bare, ours in pairs])
        with capsys.disabled():
            print(  # noqa: T201 the figures are what it is run for
                f"\n{name}: bare {means[0]:.3f}, ours {means[1]:.3f}, {mean:+.3f} ({low:+.3f} to {high:+.3f})"
            )
        assert high >= 0.0, f"the prompt costs {name}"
