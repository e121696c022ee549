"""Distributions against Hugging Face's processors; acceptance and residual against the identity they must hold."""

from __future__ import annotations

import itertools

import pytest
import torch
from transformers import (
    LogitsProcessorList,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from spsl_cli.decoding.chooser import make_chooser
from spsl_cli.decoding.config import SamplingConfig
from spsl_cli.decoding.sampling import SeededDice, acceptance, filtered, residual


def random_distribution(generator, size, kind):
    """Of several kinds: dense, with zeros, cut by top-p, one-hot."""
    p = torch.rand(size, dtype=torch.float64, generator=generator) ** 3
    if kind == "zeros":
        p *= torch.rand(size, generator=generator) < 0.5
    if kind == "top-p":
        return filtered(p.log()[None], SamplingConfig(temperature=1.0, top_p=0.7)).softmax(-1)[0]
    if kind == "one-hot":
        p = torch.zeros(size, dtype=torch.float64)
    p[int(torch.randint(size, (1,), generator=generator))] += 0.5
    return p / p.sum()


def output_distribution(p, q):
    """What a drafted token followed by its verification gives, summed exactly over the draft."""
    output = torch.zeros_like(p)
    for token in q.nonzero().flatten().tolist():
        stands = acceptance(p, q, token)
        output[token] += q[token] * stands
        rest = residual(p, q)
        output += q[token] * (1 - stands) * rest / rest.sum()
    return output


def test_verification_keeps_the_distribution():
    """accept + residual = p within 1e-12, on 2,000 pairs: zeros, equal, disjoint, cut, one-hot."""
    generator = torch.Generator().manual_seed(0)
    kinds = list(itertools.product(("dense", "zeros", "top-p", "one-hot"), repeat=2))
    for number in range(2000):
        ours, theirs = kinds[number % len(kinds)]
        p = random_distribution(generator, 2 + number % 30, ours)
        q = p.clone() if number % 11 == 0 else random_distribution(generator, len(p), theirs)
        if number % 13 == 0:  # disjoint
            half = torch.arange(len(p)) % 2 == 0
            p, q = p * half, q * ~half
            if not (p.sum() > 0 and q.sum() > 0):
                continue
            p, q = p / p.sum(), q / q.sum()
        torch.testing.assert_close(output_distribution(p, q), p, rtol=0, atol=1e-12)


def test_nothing_left_over_falls_back_to_p():
    p = torch.tensor([0.5, 0.5])
    assert torch.equal(residual(p, p), p)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("top_k", [0, 1, 5, 100])
@pytest.mark.parametrize("top_p", [1.0, 0.8, 0.3, 1e-6])
@pytest.mark.parametrize("penalty", [1.0, 1.3])
def test_distributions_are_those_of_hugging_face(temperature, top_k, top_p, penalty):
    """Row by row, each with its own true prefix."""
    generator = torch.Generator().manual_seed(7)
    logits = 4 * torch.randn(4, 40, generator=generator)
    prompt, drafts = [3, 8, 8, 21], [5, 3, 30]
    processors = LogitsProcessorList()
    if penalty != 1.0:
        processors.append(RepetitionPenaltyLogitsProcessor(penalty))
    processors.append(TemperatureLogitsWarper(temperature))
    if top_k:
        processors.append(TopKLogitsWarper(top_k))
    if top_p < 1.0:
        processors.append(TopPLogitsWarper(top_p))
    chooser = make_chooser(SamplingConfig(temperature, top_p, top_k, penalty))
    chooser.note(prompt)
    ours = chooser._distributions(logits, drafts)
    for i, row in enumerate(logits):
        prefix = torch.tensor([prompt + drafts[:i]])
        expected = processors(prefix, row[None].clone()).softmax(-1)
        torch.testing.assert_close(ours[i : i + 1], expected, rtol=1e-5, atol=1e-7)
        single = chooser._distributions(row[None], drafts[:i])  # as the draft sees it
        assert torch.equal(single, ours[i : i + 1])


def test_greedy_applies_the_repetition_penalty():
    chooser = make_chooser(SamplingConfig(repetition_penalty=2.0))
    logits = torch.tensor([3.0, 2.0, -1.0])
    assert chooser.choose(logits).token == 0
    chooser.note([0])
    assert chooser.choose(logits).token == 1
    assert chooser.choose(logits, [1]).token == 0  # 1.5 against 1.0
    drafts = [chooser.choose(logits), chooser.choose(logits, [1])]
    assert chooser.verify(drafts, logits.expand(3, -1)) == (2, 0)


def test_dice_are_fair_and_repeat():
    """100,000 throws: each share within 5 standard deviations, passed by fair dice but once in 170,000 times."""
    p = torch.tensor([0.5, 0.0, 0.2, 0.3, 0.0])
    dice = SeededDice(1)
    counts = torch.bincount(torch.tensor([dice.draw(p) for _ in range(100_000)]), minlength=5) / 100_000
    assert counts[1] == counts[4] == 0
    assert ((counts - p).abs() <= 5 * (p * (1 - p) / 100_000).sqrt()).all()
    accepted = sum(dice.accepts(0.3) for _ in range(100_000)) / 100_000
    assert abs(accepted - 0.3) < 5 * (0.21 / 100_000) ** 0.5
    first, second = SeededDice(9), SeededDice(9)
    assert [first.draw(p) for _ in range(50)] == [second.draw(p) for _ in range(50)]
    assert not SeededDice(2).accepts(0.0)
    assert SeededDice(2).accepts(1.0)


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -1.0}, {"temperature": float("inf")}, {"temperature": float("nan")}, {"top_p": 0.0},
     {"top_p": 1.5}, {"top_k": -1}, {"repetition_penalty": 0.0}],
)  # fmt: skip
def test_values_outside_their_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SamplingConfig(**wrong)
