"""Runs of tiny models for the benchmark's tests."""

from __future__ import annotations

from collections.abc import Sequence

from spsl_cli.bench.tasks.base import Sample
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.run import DecodingRun
from tests.models import random_prompt, tiny_model


def repetitive_prompt(length: int, seed: int = 0) -> list[int]:
    """With something to look up."""
    return (random_prompt(40, seed) * (length // 40 + 1))[:length]


def prefilled(*prompts: Sequence[int], new_tokens: int = 24, stops: Sequence[int] = (), model=None) -> DecodingRun:
    decoder = SparseSpecDecoder(model or tiny_model(), DecodeConfig(budget=0.2), pack="copy")
    run = decoder.prepare(*map(list, prompts), max_new_tokens=new_tokens, stop_token_ids=stops)
    for _ in run.prefill():
        pass
    return run


def sample(number: int, answers: tuple[str, ...] = ()) -> Sample:
    """Its answer is right if it begins as one of `answers`."""
    metric = (lambda answer, right: float(answer.startswith(right))) if answers else None
    return Sample("made", number, "text", "question", answers, metric)


class MadePrompts:
    """Prompts of random tokens; a sample's number is the seed, and text the token ids themselves."""

    def __init__(self, model=None, length: int = 150) -> None:
        self.model = model or tiny_model()
        self.length = length
        self.runs: list[DecodingRun] = []

    def prefilled(self, samples: Sequence[Sample], new_tokens: int) -> DecodingRun:
        prompts = [repetitive_prompt(self.length - 7 * sample.number, sample.number) for sample in samples]
        self.runs.append(prefilled(*prompts, new_tokens=new_tokens, model=self.model))
        return self.runs[-1]

    def answers(self, token_ids: Sequence[Sequence[int]]) -> list[str]:
        return [" ".join(map(str, ids)) for ids in token_ids]
