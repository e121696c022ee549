"""The rows of a batch: each has the tokens that it has alone, wherever its neighbours stand and whenever they end.

`PLAIN_STEPS` is set to 0 where outputs are so short that a run would end before its first draft.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from itertools import pairwise

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, LlamaForCausalLM

from spsl_cli.decoding.chooser import make_chooser
from spsl_cli.decoding.config import INDEXES, DecodeConfig, SamplingConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.output import Output
from spsl_cli.decoding.row import RowRequest
from spsl_cli.decoding.target import TargetModel
from spsl_cli.events import Done, Draft, TokenKind, Tokens, Verify
from tests.models import draft_config, generate, random_prompt, tiny_model
from tests.statistical.chi_square import chi_square

NEW = 24
LENGTHS = (90, 5, 150, 33, 1, 64, 20)

model_of = cache(partial(tiny_model, num_hidden_layers=2))


@cache
def expected(length: int) -> list[int]:
    """Tokens of Hugging Face's own `generate`, for this prompt alone."""
    return generate(model_of(), random_prompt(length, length), NEW)


def prompts_of(lengths):
    return [random_prompt(length, length) for length in lengths]


def decoder_with(**config):
    return SparseSpecDecoder(model_of(), draft_config(**config))


# ---- greedy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 4, 7])
@pytest.mark.parametrize("k", ["calibrated", "entropy", 3])
@pytest.mark.parametrize("index", INDEXES)
def test_every_row_has_the_tokens_of_generate(index, k, rows):
    lengths = LENGTHS[:rows]
    results = decoder_with(index=index, k=k, budget=0.1).decode_batch(prompts_of(lengths), max_new_tokens=NEW)
    assert [result.token_ids for result in results] == [expected(length) for length in lengths]
    if k != "entropy":  # its lengths hang on measured times
        assert 0 < sum(result.stats.accepted for result in results) < sum(result.stats.drafted for result in results)


@pytest.mark.parametrize(
    "options", [{}, {"k": "entropy"}, {"speculation": False}, {"importance": "decayed"}, {"prefill_chunk": 40}]
)
def test_every_row_has_the_tokens_that_it_has_alone(options):
    decoder = decoder_with(**options)
    prompts = prompts_of(LENGTHS)
    together = decoder.decode_batch(prompts, max_new_tokens=NEW)
    for prompt, result in zip(prompts[:4], together, strict=False):
        alone = decoder.decode(prompt, max_new_tokens=NEW)
        assert (result.token_ids, result.finish_reason) == (alone.token_ids, alone.finish_reason)


def test_the_same_prompt_twice():
    prompt = random_prompt(70, 70)
    first, other, second = decoder_with(k=4).decode_batch([prompt, random_prompt(9), prompt], max_new_tokens=NEW)
    assert first.token_ids == second.token_ids == generate(model_of(), prompt, NEW)
    assert other.token_ids != first.token_ids
    counts = [(result.stats.drafted, result.stats.accepted, result.stats.k_histogram) for result in (first, second)]
    assert counts[0] == counts[1]


def test_no_prompt_no_result():
    assert decoder_with().decode_batch([]) == []
    assert decoder_with().decode_batch([], max_new_tokens=3, sampling=SamplingConfig(temperature=1.0)) == []


def test_one_bad_prompt_is_refused_before_anything_runs():
    for bad in ([], [61], torch.zeros(2, 3, dtype=torch.long)):
        with pytest.raises(ValueError, match=r"no tokens|outside|input_ids"):
            decoder_with().decode_batch([random_prompt(8), bad])


# ---- where rows end ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("draft_from_the_start")
@pytest.mark.parametrize("k", [1, 4, 16, "calibrated", "entropy"])
def test_short_outputs(k):
    lengths = LENGTHS[:4]
    decoder = decoder_with(k=k)
    for new_tokens in (1, 2, 3, 5):
        results = decoder.decode_batch(prompts_of(lengths), max_new_tokens=new_tokens)
        assert [result.token_ids for result in results] == [expected(length)[:new_tokens] for length in lengths]
        assert {result.finish_reason for result in results} == {"length"}
        assert (sum(result.stats.drafted for result in results) > 0) is (new_tokens > 2)  # two: there is no use in it


@pytest.mark.usefixtures("draft_from_the_start")
@pytest.mark.parametrize("index", INDEXES)
def test_outputs_of_different_length(index):
    """Every row with a limit of its own: one's last token beside another's long draft."""
    limits = (1, 2, 24, 9)
    requests = [
        RowRequest(prompt, partial(make_chooser, SamplingConfig()), partial(Output, limit))
        for prompt, limit in zip(prompts_of(LENGTHS), limits, strict=False)
    ]
    run = decoder_with().prepare_requests(requests, DecodeConfig(k=8, index=index))
    list(run.prefill())
    list(run.decode())
    for output, length, limit in zip(run.outputs, LENGTHS, limits, strict=False):
        assert output.token_ids == expected(length)[:limit]


@pytest.mark.usefixtures("draft_from_the_start")
@pytest.mark.parametrize("k", [1, 4])
def test_rows_end_at_their_own_stop_token(k):
    lengths = LENGTHS[:4]
    decoder = decoder_with(k=k)
    ends = set()
    for stop in sorted({token for length in lengths for token in expected(length)})[::7]:
        results = decoder.decode_batch(prompts_of(lengths), max_new_tokens=NEW, stop_token_ids=(stop,))
        for length, result in zip(lengths, results, strict=True):
            tokens = expected(length)
            stopped = stop in tokens
            assert result.token_ids == (tokens[: tokens.index(stop) + 1] if stopped else tokens)
            assert result.finish_reason == ("stop" if stopped else "length")
        ends.add(tuple(len(result.token_ids) for result in results))
    assert any(len(set(found)) > 2 for found in ends)  # rows did end at different times


@pytest.mark.usefixtures("draft_from_the_start")
@pytest.mark.parametrize("strict", [False, True])
def test_learned_positions_to_the_very_last(strict):
    """No row may be run at a position that the model does not have, whatever its neighbours still draft."""
    new_tokens, lengths = 12, (40, 52, 7)
    torch.manual_seed(0)
    sizes = {"vocab_size": 61, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 52 + new_tokens}
    config = AutoConfig.for_model("gpt2", **sizes, bos_token_id=None, eos_token_id=None, pad_token_id=0)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(6.0)
    for k in (3, 16):
        decoder = SparseSpecDecoder(model, DecodeConfig(k=k, budget=0.2, strict=strict))
        results = decoder.decode_batch(prompts_of(lengths), max_new_tokens=new_tokens)
        for prompt, result in zip(prompts_of(lengths), results, strict=True):
            assert result.token_ids == generate(model, prompt, new_tokens)
        assert 0 < sum(result.stats.accepted for result in results) < sum(result.stats.drafted for result in results)


def test_rows_that_have_ended_leave_every_forward(monkeypatch):
    lengths = LENGTHS[:4]
    stop = expected(lengths[1])[9]
    prompts = prompts_of(lengths)
    run = decoder_with(k=3).prepare(*prompts, max_new_tokens=NEW, stop_token_ids=(stop,))
    list(run.prefill())
    forwards = []

    def noting(forward):
        def noted(cache, token_ids, sequences, *rest, **options):
            assert len(token_ids) == len(sequences)
            assert sequences == tuple(row.sequence for row in run.rows if row.output.finish_reason is None)
            forwards.append(sequences)
            return forward(cache, token_ids, sequences, *rest, **options)

        return noted

    for name in ("dense_forward", "draft_forward"):
        monkeypatch.setattr(run.target, name, noting(getattr(run.target, name)))
    list(run.decode())
    assert forwards[0] == (0, 1, 2, 3)
    assert len(set(forwards)) > 2
    assert all(set(later) <= set(earlier) for earlier, later in pairwise(forwards))


# ---- counters and events ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("draft_from_the_start")
@pytest.mark.parametrize("k", [3, "calibrated", "entropy"])
@pytest.mark.parametrize("stop_early", [False, True])
def test_counters_and_events_of_every_row_add_up(k, stop_early):
    lengths = LENGTHS[:4]
    stop = (expected(lengths[2])[11],) if stop_early else ()
    run = decoder_with(k=k, budget=0.3).prepare(*prompts_of(lengths), max_new_tokens=NEW, stop_token_ids=stop)
    prefills = list(run.prefill())
    assert [event.done for event in prefills] == sorted({event.done for event in prefills})
    assert prefills[-1].done == prefills[-1].total == sum(lengths)
    events = list(run.decode())
    for sequence, output in enumerate(run.outputs):
        own = [event for event in events if event.sequence == sequence]
        assert isinstance(own[-1], Done)
        assert sum(isinstance(event, Done) for event in own) == 1
        assert own[-1].finish_reason == output.finish_reason
        stats = run.stats(sequence)
        assert (own[-1].stats.drafted, own[-1].stats.accepted) == (stats.drafted, stats.accepted)
        tokens = [event for event in own if isinstance(event, Tokens)]
        assert [token for event in tokens for token in event.token_ids] == output.token_ids
        assert stats.new_tokens == len(output.token_ids) == 1 + stats.accepted + stats.bonus
        assert stats.rounds == len(tokens) - 1 == sum(stats.k_histogram.values())
        assert stats.drafted == sum(drafted * count for drafted, count in stats.k_histogram.items())
        drafts = [event for event in own if isinstance(event, Draft)]
        verifies = [event for event in own if isinstance(event, Verify)]
        assert Counter(len(event.token_ids) for event in drafts) == Counter(
            {drafted: count for drafted, count in stats.k_histogram.items() if drafted}
        )
        assert [event.drafted for event in verifies] == [len(event.token_ids) for event in drafts]
        assert all(len(event.entropies) == len(event.token_ids) for event in drafts)
        assert stats.accepted == sum(event.accepted for event in verifies)
        kinds = Counter(kind for event in tokens for kind in event.kinds)
        assert kinds[TokenKind.ACCEPTED] == stats.accepted
        assert kinds[TokenKind.BONUS] + kinds[TokenKind.PLAIN] == 1 + stats.bonus
        assert k != 3 or 0 < stats.accepted < stats.drafted
    rows, totals = [run.stats(sequence) for sequence in range(len(lengths))], run.totals
    for name in ("new_tokens", "rounds", "drafted", "accepted", "bonus", "lookup_drafted", "lookup_accepted"):
        assert getattr(totals, name) == sum(getattr(row, name) for row in rows)
    assert totals.new_tokens == 4 + totals.accepted + totals.bonus
    assert totals.rounds == sum(totals.k_histogram.values())
    assert totals.decode_s == max(row.decode_s for row in rows)
    assert totals.tokens_per_s == pytest.approx((totals.new_tokens - 4) / totals.decode_s)


# ---- the cache --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", ["sparsespec-l", "per-query-head", "pillar"])
def test_dense_rows_of_every_row_are_exact_after_every_round(index):
    model, prompts = model_of(), prompts_of((60, 5, 33))
    stop = (expected(33)[12],)
    run = decoder_with(index=index, k=3).prepare(*prompts, max_new_tokens=NEW, stop_token_ids=stop)
    list(run.prefill())
    for _ in run.decode():
        for sequence, (prompt, output) in enumerate(zip(prompts, run.outputs, strict=True)):
            committed = prompt + output.token_ids[:-1]
            length = run.cache.lengths[sequence]
            assert length == len(committed)
            fresh = model(input_ids=torch.tensor([committed]), use_cache=True).cache.layers
            for layer, own in zip(run.cache.layers, fresh, strict=True):
                torch.testing.assert_close(layer.dense.keys[sequence, :, :length], own.keys[0], rtol=0, atol=1e-5)
                torch.testing.assert_close(layer.dense.values[sequence, :, :length], own.values[0], rtol=0, atol=1e-5)
    assert len({len(output.token_ids) for output in run.outputs}) > 1
    assert all(run.stats(sequence).accepted < run.stats(sequence).drafted for sequence in range(3))


@pytest.mark.parametrize("index", INDEXES)
def test_over_all_positions_every_row_drafts_exactly(index, monkeypatch):
    """Its logits are those of the verify that follows: each row's draft read its own view, nothing of a neighbour's."""
    run = decoder_with(index=index, k=4, budget=1.0).prepare(*prompts_of(LENGTHS), max_new_tokens=16)
    list(run.prefill())
    drafted: list[torch.Tensor] = []
    draft_forward, dense_forward, compared = run.target.draft_forward, run.target.dense_forward, 0

    def drafting(*arguments):
        drafted.append(draft_forward(*arguments))
        return drafted[-1]

    def verifying(*arguments, **options):
        nonlocal compared
        logits = dense_forward(*arguments, **options)
        if drafted:
            torch.testing.assert_close(torch.cat(drafted, 1), logits[:, : len(drafted)], rtol=0, atol=1e-5)
        compared += len(drafted)
        drafted.clear()
        return logits

    monkeypatch.setattr(run.target, "draft_forward", drafting)
    monkeypatch.setattr(run.target, "dense_forward", verifying)
    list(run.decode())
    assert compared > 7
    assert all(run.stats(row).accepted == run.stats(row).drafted for row in range(len(LENGTHS)))


# ---- other attention --------------------------------------------------------------------------------------------

SIZES = {
    "vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 512, "pad_token_id": 0, "bos_token_id": None,
    "eos_token_id": None, "sliding_window": 24,
}  # fmt: skip
MIXED = {"layer_types": ["sliding_attention", "full_attention"]}
WINDOWED = {
    "mistral": {},
    "qwen2": {"use_sliding_window": True, "max_window_layers": 1},
    "gemma2": {**MIXED, "attn_logit_softcapping": 2.0},
    "gpt_oss": {**MIXED, "num_local_experts": 4, "num_experts_per_tok": 2},
}


@cache
def windowed_model(family):
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **{**SIZES, **WINDOWED[family]})).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.mul_(4.0)
            elif name.endswith("sinks"):
                parameter.normal_()
    return model


@cache
def windowed_expected(family, length):
    return generate(windowed_model(family), random_prompt(length, length), 20)


@pytest.mark.parametrize(
    "options",
    [{"k": 1}, {"k": 4}, {"prefill_chunk": 40}, {"controller": "entropy"}, {"k": 8, "index": "per-query-head"},
     {"k": 4, "strict": True}],
    ids=lambda options: "-".join(map(str, options.values())),
)  # fmt: skip
@pytest.mark.parametrize("family", WINDOWED)
def test_windows_soft_caps_and_sinks(family, options):
    """Prompts within a window of 24 positions and beyond it, in one batch."""
    lengths = (10, 70, 23, 130)
    decoder = SparseSpecDecoder(windowed_model(family), DecodeConfig(budget=0.1, **options))
    results = decoder.decode_batch(prompts_of(lengths), max_new_tokens=20)
    assert [result.token_ids for result in results] == [windowed_expected(family, length) for length in lengths]
    stats = [result.stats for result in results]
    drafted = sum(row.drafted - row.lookup_drafted for row in stats)
    accepted = sum(row.accepted - row.lookup_accepted for row in stats)
    if family == "mistral":  # every layer slides, and those are always read as they are
        assert accepted == drafted > 0
    else:
        assert 0 < accepted < drafted


# ---- sampling ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [None, 1, 4])
def test_row_i_throws_the_dice_of_seed_plus_i(k):
    """The same tokens as alone: others' drafts throw no dice of this row, near its end either."""
    decoder = decoder_with(speculation=False) if k is None else decoder_with(k=k)
    prompts = prompts_of((70, 5, 70))
    prompts[2] = prompts[0]
    sampling = SamplingConfig(temperature=0.9, top_p=0.95, seed=40)
    results = decoder.decode_batch(prompts, max_new_tokens=NEW, sampling=sampling)
    for i, (prompt, result) in enumerate(zip(prompts, results, strict=True)):
        own = SamplingConfig(temperature=0.9, top_p=0.95, seed=40 + i)
        alone = decoder.decode(prompt, max_new_tokens=NEW, sampling=own)
        assert result.token_ids == alone.token_ids
        assert len(result.token_ids) == NEW
    assert results[0].token_ids != results[2].token_ids
    again = decoder.decode_batch(prompts, max_new_tokens=NEW, sampling=sampling)
    assert [result.token_ids for result in again] == [result.token_ids for result in results]


def exact_outputs(model, prompt, new_tokens, temperature):
    """The probability of every output, {tokens: probability}, from the model's own forwards."""
    outputs = {(): 1.0}
    for _ in range(new_tokens):
        ids = torch.tensor([prompt + list(tokens) for tokens in outputs])
        chances = (model(ids, use_cache=False).logits[:, -1].double() / temperature).softmax(-1).tolist()
        outputs = {
            (*tokens, token): weight * chance
            for (tokens, weight), row in zip(outputs.items(), chances, strict=True)
            for token, chance in enumerate(row)
        }
    return outputs


@pytest.mark.usefixtures("draft_from_the_start")
def test_the_outputs_of_every_row_have_their_distribution():
    """420 samples a row, outputs of 3 tokens out of 3, against chi-square over all 27 of them, bins pooled to 5.

    Passes at p > 1e-4 for each of three rows. Seeds are fixed; with fresh ones, a right decoder would fail in one of
    3,300 runs.
    """
    model = tiny_model(seed=2, vocab_size=3, num_hidden_layers=1)
    with torch.no_grad():
        model.lm_head.weight.mul_(12.0)  # as drawn, the logits are too flat for a draft to be wrong
    prompts = [[token % 3 for token in prompt] for prompt in prompts_of((40, 9, 23))]
    decoder = SparseSpecDecoder(model, DecodeConfig(k=2, budget=2))
    copies, parts, temperature = 140, 3, 1.5
    seen: list[Counter[tuple[int, ...]]] = [Counter() for _ in prompts]
    accepted = drafted = 0
    for part in range(parts):
        sampling = SamplingConfig(temperature=temperature, seed=part * len(prompts) * copies)
        for i, result in enumerate(decoder.decode_batch(prompts * copies, max_new_tokens=3, sampling=sampling)):
            seen[i % len(prompts)][tuple(result.token_ids)] += 1
            accepted, drafted = accepted + result.stats.accepted, drafted + result.stats.drafted
    assert 0.3 < accepted / drafted < 0.9
    for prompt, counts in zip(prompts, seen, strict=True):
        assert chi_square(counts, exact_outputs(model, prompt, 3, temperature), bins=6) > 1e-4


# ---- mutants: each has to be noticed ----------------------------------------------------------------------------


def logits_of_another_row(patch):
    def forward(self, *arguments, **options):
        return right(self, *arguments, **options).roll(1, 0)

    right = TargetModel.dense_forward
    patch.setattr(TargetModel, "dense_forward", forward)


def drafts_of_another_row_are_run(patch):
    """Each row judges its own drafts, but a neighbour's went through the model."""

    def forward(self, cache, token_ids, *rest, **options):
        mixed = torch.cat((token_ids[:, :1], token_ids[:, 1:].roll(1, 0)), 1)
        return right(self, cache, mixed, *rest, **options)

    right = TargetModel.dense_forward
    patch.setattr(TargetModel, "dense_forward", forward)


def roll_back_by_the_row_before(patch):
    def commit(self, sequence, count, *rest, **options):
        right(self, sequence, counts.get(sequence - 1, count), *rest, **options)
        counts[sequence] = count

    counts: dict[int, int] = {}
    right = DecoderCache.commit
    patch.setattr(DecoderCache, "commit", commit)


def rows_by_place_in_the_batch(patch):
    """Right until a row has left."""

    def forward(self, cache, token_ids, sequences, *rest, **options):
        return right(self, cache, token_ids, tuple(range(len(sequences))), *rest, **options)

    right = TargetModel.dense_forward
    patch.setattr(TargetModel, "dense_forward", forward)


def positions_of_the_first_row(patch):
    def forward(self, *arguments, position_ids, **options):
        return right(self, *arguments, position_ids=position_ids[:1].expand_as(position_ids), **options)

    right = LlamaForCausalLM.forward
    patch.setattr(LlamaForCausalLM, "forward", forward)


MUTANTS = [
    logits_of_another_row, drafts_of_another_row_are_run, roll_back_by_the_row_before, rows_by_place_in_the_batch,
    positions_of_the_first_row,
]  # fmt: skip


@pytest.mark.parametrize("mutant", [None, *MUTANTS], ids=lambda mutant: mutant.__name__ if mutant else "none")
def test_every_mutant_is_noticed(mutant, monkeypatch):
    """Three rows behind an honest prefill, the first of which ends early."""
    lengths = (33, 64, 5)
    stop = next(token for token in expected(33)[4:] if token not in expected(64) + expected(5))
    wanted = [tokens[: tokens.index(stop) + 1] if stop in tokens else tokens for tokens in map(expected, lengths)]
    assert len(wanted[0]) < NEW - 6
    run = decoder_with(k=3).prepare(*prompts_of(lengths), max_new_tokens=NEW, stop_token_ids=(stop,))
    list(run.prefill())
    if mutant:
        mutant(monkeypatch)
    list(run.decode())
    assert ([output.token_ids for output in run.outputs] == wanted) is (mutant is None)
