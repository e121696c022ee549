"""Published stopping rules in the real loop: the output is the model's own, and drafts end where the formula says."""

from __future__ import annotations

import math
from functools import cache

import pytest
import torch

from spsl_cli.decoding.config import K_MAX, DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.events import Draft
from tests.models import generate, random_prompt, tiny_model

NEW = 40
RULES = ("disco", "adaedl", "svip")
ENDS = {"svip": lambda entropy: math.sqrt(0.15 * entropy) > 0.3}


@cache
def sharp_model(family="llama"):
    """Its distributions are as sharp as those of a trained model: some drafts are long, some are not."""
    model = tiny_model(family, seed=5, num_hidden_layers=2)
    with torch.no_grad():
        model.lm_head.weight.mul_(100.0)
    return model


@cache
def expected(family, length):
    return generate(sharp_model(family), random_prompt(length, length), NEW)


@pytest.mark.parametrize("controller", RULES)
@pytest.mark.parametrize(("family", "lookup"), [("llama", False), ("qwen3", True)])
def test_greedy_output_is_that_of_generate(family, controller, lookup):
    """Alone and in a batch."""
    decoder = SparseSpecDecoder(sharp_model(family), DecodeConfig(controller=controller, lookup=lookup, budget=0.1))
    lengths = (90, 7)
    prompts = [random_prompt(length, length) for length in lengths]
    together = decoder.decode_batch(prompts, max_new_tokens=NEW)
    drafted = accepted = 0
    ks = set()
    for length, prompt, row in zip(lengths, prompts, together, strict=True):
        alone = decoder.decode(prompt, max_new_tokens=NEW)
        assert alone.token_ids == row.token_ids == expected(family, length)
        drafted, accepted = drafted + alone.stats.drafted, accepted + alone.stats.accepted
        ks |= {k for k in alone.stats.k_histogram if k}
    assert 0 < accepted < drafted
    assert len(ks) > 2


@pytest.mark.parametrize(("index", "controller"), list(zip(["quest", "h2o", "pyramidkv"], RULES, strict=True)))
def test_with_every_other_published_index(index, controller):
    config = DecodeConfig(index=index, controller=controller, budget=0.1)
    result = SparseSpecDecoder(sharp_model(), config).decode(random_prompt(90, 90), max_new_tokens=NEW)
    assert result.token_ids == expected("llama", 90)
    assert 0 < result.stats.accepted < result.stats.drafted


def test_svip_ends_drafts_where_the_entropy_says():
    """All but the last token of a draft are below the limit; the last is above, unless there was no room for more."""
    decoder = SparseSpecDecoder(sharp_model(), DecodeConfig(controller="svip", budget=0.1))
    drafts = [event for event in decoder.stream(random_prompt(90, 90), max_new_tokens=NEW) if isinstance(event, Draft)]
    ended = 0
    for draft in drafts:
        *before, last = map(ENDS["svip"], draft.entropies)
        assert not any(before)
        ended += last
        assert last or len(draft.entropies) == K_MAX or draft is drafts[-1]
    assert ended > 0
    assert any(len(draft.entropies) > 2 for draft in drafts)


def test_two_levels():
    """Drafts from earlier text, several at a time checked by the sparse model, and what it says by the whole one."""
    prompt = random_prompt(40, 2) + random_prompt(30, 3) + random_prompt(40, 2)
    decoder = SparseSpecDecoder(sharp_model(), DecodeConfig(k=6, lookup=True, budget=0.2))
    steps, right = [], decoder.target.draft_forward

    def noting(cache, token_ids, *rest):
        steps.append(token_ids.shape[1])
        return right(cache, token_ids, *rest)

    decoder.target.draft_forward = noting
    result = decoder.decode(prompt, max_new_tokens=NEW)
    assert result.token_ids == generate(sharp_model(), prompt, NEW)
    sparse = result.stats.drafted - result.stats.lookup_drafted
    assert max(steps) > 2
    assert len(steps) < sparse  # fewer forwards over the view than tokens drafted
