"""Samples that ask for something about a real text and have no right answer."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from spsl_cli.bench.tasks.base import Ruler, Sample
from spsl_cli.bench.tasks.fitting import passage
from spsl_cli.bench.tasks.sources import TextSource
from spsl_cli.prompting.wording import Task as Wording


def about_text(
    task: str,
    requests: Sequence[str],
    source: TextSource,
    ruler: Ruler,
    tokens: int,
    count: int,
    seed: int,
    wording: Wording,
) -> list[Sample]:
    """`count` samples with the requests in turn, as in `Task`. Raises UsageError if the source is too short."""
    samples = []
    for number in range(count):
        rng = Random(f"{seed} {task} {number}")  # noqa: S311 samples are to be the same again
        text = passage(ruler, source.text(rng), tokens, source.name)
        samples.append(
            Sample(task, number, text, requests[number % len(requests)], source=source.name, wording=wording)
        )
    return samples
