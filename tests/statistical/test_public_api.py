"""The decoder as another program sees it: public names, a Hugging Face model, seeds, and what comes out.

Outputs are judged by the model's own forward and a temperature, top-k and top-p written here, in float64. Tokens before
`FIRST_DRAFTED` come from the prefill and from plain rounds, so later ones are looked at: given its sampled prefix, each
token has an exact law, and its randomised probability integral transform (tokens ordered by probability, a seeded
uniform within the token's share) is uniform, and independent of those before it.

Every test passes at p > 1e-4. Seeds are fixed, so it passes always or never (but for draft lengths that hang on
measured times); with fresh seeds, a right decoder would fail one test in 10,000.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
import torch
from scipy.stats import chisquare, kstest
from transformers import AutoModelForCausalLM, LlamaConfig

from spsl_cli import DecodeConfig, SamplingConfig, SparseSpecDecoder
from tests.models import draft_config
from tests.statistical.chi_square import chi_square

VOCABULARY = 16
PROMPT = [5, 3, 12, 7, 7, 1, 14, 9, 2, 10, 4, 15, 6, 11, 8, 13, 1, 5, 9, 9, 12, 2, 3, 14, 6, 7, 10, 1, 4, 8]
FIRST_DRAFTED = 4
ROWS = 200
PASS = 1e-4
INDEXES = ("sparsespec-l", "per-query-head", "vegas", "pillar", "snapkv", "streaming", "quest", "h2o", "pyramidkv")


@cache
def model():
    """Random weights; attention and logits are sharp enough that a draft over a few positions is often wrong."""
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, max_position_embeddings=256, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    made = AutoModelForCausalLM.from_config(config).eval().requires_grad_(requires_grad=False)
    for name, parameter in made.named_parameters():
        if parameter.dim() > 1:
            parameter.mul_(15.0 if "lm_head" in name else 8.0 if "q_proj" in name or "k_proj" in name else 2.5)
    return made


def draw(config, sampling, samples, new_tokens):
    """`samples` outputs [samples, new_tokens], seeds sampling.seed and on, and the share of drafted tokens accepted."""
    decoder, outputs, drafted, accepted = SparseSpecDecoder(model(), config), [], 0, 0
    for start in range(0, samples, ROWS):
        seeded = SamplingConfig(sampling.temperature, sampling.top_p, sampling.top_k, seed=sampling.seed + start)
        results = decoder.decode_batch(
            [PROMPT] * min(ROWS, samples - start), max_new_tokens=new_tokens, sampling=seeded
        )
        outputs += [result.token_ids for result in results]
        drafted += sum(result.stats.drafted for result in results)
        accepted += sum(result.stats.accepted for result in results)
    return torch.tensor(outputs), accepted / max(drafted, 1)


def law(logits, sampling):
    """Probabilities [..., V] after temperature, top-k and top-p, from first principles."""
    p = (logits.double() / sampling.temperature).softmax(-1)
    ordered, order = p.sort(dim=-1, descending=True)
    if sampling.top_k:
        ordered[..., sampling.top_k :] = 0
        ordered /= ordered.sum(-1, keepdim=True)
    before = ordered.cumsum(-1) - ordered
    ordered = ordered.masked_fill(before >= sampling.top_p, 0)
    p = torch.zeros_like(p).scatter(-1, order, ordered)
    return p / p.sum(-1, keepdim=True)


def transforms(outputs, sampling):
    """The integral transform [samples, n] of every token from `FIRST_DRAFTED` on, given what stands before it."""
    parts = []
    noise = torch.Generator().manual_seed(0)
    for block in outputs.split(1000):
        ids = torch.cat((torch.tensor([PROMPT]).expand(len(block), -1), block[:, :-1]), 1)
        logits = model()(ids, use_cache=False).logits[:, len(PROMPT) - 1 + FIRST_DRAFTED :]
        p, drawn = law(logits, sampling), block[:, FIRST_DRAFTED:, None]
        own = p.gather(-1, drawn)
        assert (own > 0).all()  # no token that the filter leaves out
        likelier = (p * (p > own)).sum(-1)
        share = torch.rand(own.shape[:-1], dtype=torch.float64, generator=noise)
        parts.append(likelier + share * own[..., 0])
    return torch.cat(parts)


def uniform(values):
    """p of Kolmogorov and Smirnov's test for values in (0, 1)."""
    return float(kstest(values.flatten().numpy(), "uniform").pvalue)


def independent(values):
    """p of a chi-square test of neighbours: each pair falls evenly into 5 x 5 cells."""
    cells = (values.clamp(0, 1 - 1e-12) * 5).long()
    pairs = cells[:, 0:-1:2] * 5 + cells[:, 1::2]
    return float(chisquare(torch.bincount(pairs.flatten(), minlength=25).numpy()).pvalue)


CELLS = [
    ("sparsespec-l", 4, SamplingConfig(1.0)),
    ("per-query-head", 2, SamplingConfig(0.7, top_p=0.8)),
    ("vegas", 1, SamplingConfig(1.5)),
    ("pillar", 8, SamplingConfig(1.3, top_p=0.8)),
    ("snapkv", 3, SamplingConfig(0.5)),
    ("streaming", 5, SamplingConfig(1.0, top_k=5)),
    ("quest", "svip", SamplingConfig(1.0)),
    ("h2o", "disco", SamplingConfig(0.7, top_p=0.8)),
    ("pyramidkv", "adaedl", SamplingConfig(0.7)),
    ("sparsespec-l", "entropy", SamplingConfig(1.2)),
    ("sparsespec-l", "calibrated", SamplingConfig(1.2)),
]


@pytest.mark.parametrize(("index", "k", "sampling"), CELLS, ids=[f"{index}-{k}" for index, k, _ in CELLS])
@pytest.mark.usefixtures("cheap")
def test_every_drafted_token_has_its_conditional_law(index, k, sampling):
    outputs, accepted = draw(draft_config(k, budget=8, index=index), sampling, ROWS, 12)
    assert 0.1 < accepted < 0.95
    values = transforms(outputs, sampling)
    assert values.shape == (ROWS, 8)
    assert uniform(values) > PASS
    assert independent(values) > PASS


@pytest.mark.slow
def test_a_temperature_off_by_a_tenth_is_noticed():
    """The same statistic, on samples that are right: judged at 1.0 they pass, at 1.1 they must not."""
    outputs, _ = draw(DecodeConfig(speculation=False), SamplingConfig(1.0, seed=1000), 4 * ROWS, 12)
    assert uniform(transforms(outputs, SamplingConfig(1.0))) > PASS
    assert uniform(transforms(outputs, SamplingConfig(1.1))) < 1e-6


@pytest.mark.parametrize(
    ("name", "mutant"),
    [("acceptance", lambda *_: 1.0), pytest.param("residual", lambda p, _q: p, marks=pytest.mark.slow)],
    ids=["always accept", "no residual"],
)
def test_a_decoder_that_is_wrong_is_noticed(name, mutant, monkeypatch):
    monkeypatch.setattr(f"spsl_cli.decoding.sampling.{name}", mutant)
    outputs, _ = draw(DecodeConfig(k=2, budget=2), SamplingConfig(1.0), 2 * ROWS, 12)
    assert uniform(transforms(outputs, SamplingConfig(1.0))) < PASS / 10


def test_whole_outputs_have_their_joint_law():
    """Two tokens at a time (top-k 2), outputs of 7: all 128, by chi-square with bins pooled to 5 expected."""
    sampling, new_tokens, samples = SamplingConfig(1.3, top_k=2), 7, 3 * ROWS
    outputs, accepted = draw(DecodeConfig(k=3, budget=8), sampling, samples, new_tokens)
    assert 0.1 < accepted < 0.95
    expected = {(): 1.0}
    for _ in range(new_tokens):
        ids = torch.tensor([PROMPT + list(tokens) for tokens in expected])
        chances = law(model()(ids, use_cache=False).logits[:, -1], sampling).tolist()
        expected = {
            (*tokens, token): weight * chance
            for (tokens, weight), row in zip(expected.items(), chances, strict=True)
            for token, chance in enumerate(row)
            if chance > 0
        }
    assert len(expected) == 2**new_tokens
    assert chi_square(Counter(map(tuple, outputs.tolist())), expected, bins=21) > PASS


def grid():
    """Every index with every k; temperatures and top-p take turns, so that each meets each."""
    temperatures, cells = (0.5, 1.0, 1.5), []
    for number, index in enumerate(INDEXES):
        for place, k in enumerate((1, 2, 4, 8)):
            top_p = 0.8 if (number + place) % 2 else 1.0
            cells.append((index, k, SamplingConfig(temperatures[(number + 2 * place) % 3], top_p)))
    return cells


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("index", "k", "sampling"), grid(), ids=[f"{i}-{k}-{s.temperature}-{s.top_p}" for i, k, s in grid()]
)
def test_twenty_thousand_samples_a_cell(index, k, sampling):
    outputs, accepted = draw(DecodeConfig(k=k, budget=8, index=index), sampling, 20_000, 8)
    assert 0.05 < accepted < 0.98
    values = transforms(outputs, sampling)
    assert uniform(values) > PASS
    assert independent(values) > PASS
