"""The systems under comparison: all of them decode what plain decoding does, from the same prefill; or say why not."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from spsl_cli.bench.systems.base import UnavailableError
from spsl_cli.bench.systems.catalogue import CATALOGUE, Named, check_names, groups, make_system, system_config
from spsl_cli.bench.systems.engine import EngineSystem
from spsl_cli.bench.systems.faults import Faults
from spsl_cli.bench.systems.hugging_face import hf_eager, hf_prompt_lookup, hf_sdpa
from spsl_cli.bench.systems.shared_prefill import SharedPrefill
from spsl_cli.decoding.config import K_MAX, DecodeConfig
from spsl_cli.errors import UsageError
from tests.bench.runs import prefilled, repetitive_prompt
from tests.models import generate, random_prompt, tiny_model

pytestmark = pytest.mark.usefixtures("cheap")  # drafts of all kinds, on models so small that none would pay

LONG, SHORT = repetitive_prompt(150), random_prompt(90, 3)
NEW = 18
RUNNABLE = [name for name, entry in CATALOGUE.items() if entry.missing is None]
NAMED = Named(tiny_model(seed=5), exit_layer=1)
ONE_PROMPT = ("hf-prompt-lookup", "hf-assisted", "hf-early-exit")


@pytest.fixture(scope="module")
def one():
    return prefilled(LONG, new_tokens=NEW)


@pytest.fixture(scope="module")
def two():
    """Rows of two lengths that end at different places."""
    return prefilled(LONG, SHORT, new_tokens=NEW, stops=(7, 20))


@cache
def expected_of(run):
    """What Hugging Face's own generation gives each row, which knows nothing of our prefill."""
    stops = list(run.output.stop_token_ids) or None
    return [generate(run.target.model, request.prompt_ids, NEW, eos_token_id=stops) for request in run.requests]


def plain(run):
    return make_system("ar", run, run.config).decode(NEW)


@pytest.mark.parametrize("name", [*RUNNABLE, "fixed-k7", "snapkv-k2"])
def test_every_system_has_the_tokens_of_generate(one, name):
    system = make_system(name, one, one.config, NAMED)
    expected = expected_of(one)[0]
    decoded = system.decode(NEW)
    assert decoded.token_ids == [expected]
    assert decoded.tokens_per_s == pytest.approx((NEW - 1) / decoded.seconds)
    assert system.decode(5).token_ids == [expected[:5]]  # from the prompts on again


@pytest.mark.parametrize("name", RUNNABLE)
def test_in_a_batch_too_or_it_says_that_it_takes_one_prompt(two, name):
    if name in ONE_PROMPT:
        with pytest.raises(UnavailableError, match="one prompt at a time"):
            make_system(name, two, two.config, NAMED)
        return
    expected = expected_of(two)
    assert {len(ids) for ids in expected} != {NEW}
    assert make_system(name, two, two.config).decode(NEW).token_ids == expected


def test_a_first_token_that_ends_the_answer_is_all_of_it():
    first = generate(tiny_model(), LONG, 1)
    run = prefilled(LONG, new_tokens=NEW, stops=first)
    for name in ("ar", "fixed", "hf-sdpa", "hf-prompt-lookup"):
        decoded = make_system(name, run, run.config).decode(NEW)
        assert decoded.token_ids == [first]
        assert decoded.tokens_per_s == 0.0


def test_no_more_tokens_than_there_is_room_for(one):
    assert len(plain(one).token_ids[0]) == len(hf_sdpa(one).decode(NEW + 9).token_ids[0]) == NEW


# ---- our own ----------------------------------------------------------------------------------------------------


def test_phases_make_up_the_whole_and_rounds_are_those_of_the_first_row(two):
    decoded = make_system("fixed-k3", two, two.config).decode(NEW)
    assert set(decoded.phases) == {"draft", "verify", "refresh", "controller", "other"}
    assert sum(decoded.phases.values()) == pytest.approx(decoded.seconds)
    assert min(decoded.phases.values()) > 0
    accepted = sum(taken.accepted for taken in decoded.rounds)
    drafted = sum(taken.drafted for taken in decoded.rounds)
    two.rewind()
    for _ in two.decode(config=system_config("fixed-k3", two.config)):
        pass
    assert (drafted, accepted) == (two.stats(0).drafted, two.stats(0).accepted)
    assert all(len(taken.entropies) == taken.drafted for taken in decoded.rounds)


def test_the_name_decides_what_drafts(one):
    base = one.config
    assert not system_config("ar", base).speculation
    assert system_config("auto", base).controller_name == "calibrated"
    assert system_config("auto", base).looks_up
    assert system_config("sparsespec-l", base).controller_name == "entropy"
    assert system_config("fixed-k7", base).k == 7
    assert (system_config("h2o-k2", base).index, system_config("h2o-k2", base).k) == ("h2o", 2)
    assert system_config("two-level", base).looks_up
    assert system_config("quest", DecodeConfig(budget=0.3)).budget == 0.3


def test_lookup_alone_never_runs_the_sparse_model(one):
    stats = make_system("lookup", one, one.config).decode(NEW).stats
    assert stats.drafted == stats.lookup_drafted > 0
    assert stats.draft_s < stats.verify_s
    assert set(stats.k_histogram) - {0} <= set(range(1, 11))


def test_two_level_checks_looked_up_tokens_by_the_sparse_model(one):
    stats = make_system("two-level", one, one.config).decode(NEW).stats
    assert stats.drafted > stats.lookup_drafted


def test_a_slowed_draft_takes_longer_where_it_drafts(one):
    config = system_config("fixed-k3", one.config)
    slow = EngineSystem("slow", one, config, Faults(slowed=0.01)).decode(NEW)
    assert slow.token_ids == plain(one).token_ids
    steps = sum(taken.drafted for taken in slow.rounds)
    assert slow.phases["draft"] > 0.01 * steps


def test_a_wrong_acceptance_changes_the_tokens(one):
    config = system_config("fixed-k3", one.config)
    wrong = EngineSystem("wrong", one, config, Faults(accepts_wrongly=True)).decode(NEW)
    assert wrong.token_ids != plain(one).token_ids


# ---- Hugging Face's ---------------------------------------------------------------------------------------------


def test_the_shared_prefill_is_ours_bit_for_bit(two):
    shared = SharedPrefill(two)
    cache = shared.cache()
    padding = len(LONG) - len(SHORT)
    for ours, theirs in zip(two.cache.layers, cache.layers, strict=True):
        assert torch.equal(theirs.keys[0], ours.dense.keys[0, :, : len(LONG)])
        assert torch.equal(theirs.values[1, :, padding:], ours.dense.values[1, :, : len(SHORT)])
        assert theirs.keys.data_ptr() != ours.dense.keys.data_ptr()
    assert shared.ids[1, padding:-1].tolist() == SHORT
    assert shared.mask[1].tolist() == [0] * padding + [1] * (len(SHORT) + 1)


@pytest.mark.parametrize("make", [hf_eager, hf_sdpa, hf_prompt_lookup])
def test_no_prompt_is_run_again(one, make, monkeypatch):
    """Assisted generation hands the whole prompt to its first forward if it is let."""
    system, forward, rows = make(one), type(one.target.model).forward, []

    def seen(self, *arguments, **options):
        rows.append(options["input_ids"].shape[1])
        return forward(self, *arguments, **options)

    monkeypatch.setattr(type(one.target.model), "forward", seen)
    system.decode(NEW)
    assert 0 < max(rows) <= 11
    assert make is hf_prompt_lookup or rows == [1] * (NEW - 1)


@pytest.mark.parametrize(("make", "name"), [(hf_eager, "eager"), (hf_sdpa, "sdpa")])
def test_it_attends_as_it_says_and_leaves_the_model_as_it_was(one, make, name, monkeypatch):
    model = one.target.model
    before = (model.config._attn_implementation, model.generation_config, model.config.num_hidden_layers)
    model.generation_config.repetition_penalty = 5.0  # the decoder has none, and so nobody has
    seen, forward = set(), type(model).forward

    def watched(self, *arguments, **options):
        seen.add(self.config._attn_implementation)
        return forward(self, *arguments, **options)

    monkeypatch.setattr(type(model), "forward", watched)
    try:
        assert make(one).decode(NEW).token_ids == plain(one).token_ids
    finally:
        model.generation_config.repetition_penalty = None
    assert name in seen
    assert (model.config._attn_implementation, model.generation_config, model.config.num_hidden_layers) == before
    assert "prepare_inputs_for_generation" not in vars(model)


def test_interrupted_in_an_early_exit_the_model_has_all_its_layers(one, monkeypatch):
    system = make_system("hf-early-exit", one, one.config, NAMED)
    model, forward = one.target.model, type(one.target.model).forward

    def stopped(self, *arguments, **options):
        if self.config.num_hidden_layers == 1:
            raise KeyboardInterrupt
        return forward(self, *arguments, **options)

    monkeypatch.setattr(type(model), "forward", stopped)
    with pytest.raises(KeyboardInterrupt):
        system.decode(NEW)
    monkeypatch.undo()
    assert model.config.num_hidden_layers == 3
    assert plain(one).token_ids == [generate(model, LONG, NEW)]


def test_sliding_windows_go_along():
    model = tiny_model("qwen3", use_sliding_window=True, sliding_window=32, max_window_layers=1)
    run = prefilled(LONG, new_tokens=NEW, model=model)
    expected = generate(model, LONG, NEW)
    for name in ("ar", "hf-eager", "hf-sdpa", "hf-prompt-lookup"):
        assert make_system(name, run, run.config).decode(NEW).token_ids == [expected]


def test_what_hugging_face_refuses_is_unavailable(one, monkeypatch):
    system = hf_prompt_lookup(one)

    def refuses(*_, **__):
        raise ValueError("this cache cannot be cropped")

    monkeypatch.setattr(type(one.target.model), "generate", refuses)
    with pytest.raises(UnavailableError, match="cannot be cropped"):
        system.decode(NEW)


# ---- the catalogue ----------------------------------------------------------------------------------------------


def test_what_does_not_run_here_says_why(one):
    for name, reason in {
        "hf-assisted": "smaller model",
        "hf-early-exit": "LayerSkip",
        "eagle3": "trained",
        "medusa": "trained",
        "rapid": "distribution",
        "layerskip": "hf-early-exit",
    }.items():
        with pytest.raises(UnavailableError, match=reason):
            make_system(name, one, one.config)
    with pytest.raises(UnavailableError, match="70 tokens, the target 61"):
        make_system("hf-assisted", one, one.config, Named(tiny_model(vocab_size=70)))
    with pytest.raises(UnavailableError, match="1 to 2, not 3"):
        make_system("hf-early-exit", one, one.config, Named(exit_layer=3))


def test_names():
    check_names(CATALOGUE)
    assert sorted(name for names in groups().values() for name in names) == sorted(CATALOGUE)
    for name in ("nonsense", "ar-k3", "auto-k2", "snapkv-k", f"snapkv-k{K_MAX + 1}", "hf-sdpa-k4"):
        with pytest.raises(UsageError, match=name):
            check_names([name])
    with pytest.raises(UsageError, match="not decoded by the engine"):
        system_config("hf-sdpa", DecodeConfig())
