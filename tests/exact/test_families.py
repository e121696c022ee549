"""Every family claimed: a tiny random model of it, decoded to the tokens of its own `generate`."""

from __future__ import annotations

import pytest
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.models import check_supported
from tests.exact.families import FAMILIES, REFUSED, SINKS, make_model
from tests.exact.families_page import PAGE, with_tables
from tests.models import generate, random_prompt

NEW, NEW_IN_BATCH = 16, 8


@pytest.mark.parametrize("family", FAMILIES)
def test_family_decodes_to_the_tokens_of_generate(family):
    """Alone and in a batch; the prompt goes through in chunks that cross the window, and is longer than it."""
    model = make_model(family)
    check_supported(model.config)
    prompts = [random_prompt(90), random_prompt(40, 1)]
    expected = generate(model, prompts[0], NEW)
    assert len(set(expected)) >= 5, "one token repeated would say little"

    decoder = SparseSpecDecoder(model, DecodeConfig(k=4, budget=0.1, prefill_chunk=50))
    result = decoder.decode(prompts[0], max_new_tokens=NEW)
    assert result.token_ids == expected
    if None in decoder.target.windows:
        assert result.stats.drafted > 0

    rows = decoder.decode_batch(prompts, max_new_tokens=NEW_IN_BATCH)
    assert rows[0].token_ids == expected[:NEW_IN_BATCH]
    assert rows[1].token_ids == generate(model, prompts[1], NEW_IN_BATCH)
    assert any("sink" in name for name, _ in model.named_parameters()) == (family in SINKS)


def test_the_page_on_models_is_made_of_these_tables():
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_tables(page), "run: python -m tests.exact.families_page"


def test_no_family_is_both_compared_and_refused():
    refused = [family for families in REFUSED.values() for family in families]
    assert len(refused) == len(set(refused))
    assert not set(refused) & set(FAMILIES)
    assert set(FAMILIES) <= set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
