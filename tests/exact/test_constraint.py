"""Decoding under a constraint: speculation gives what the plain constrained loop gives, token for token or in law.

The plain loops here are the model's own forward and a mask, written anew; one constraint is JSON of a schema, one a
small rule on numbers that needs no grammar library.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache, partial

import pytest
import torch

from spsl_cli.decoding.chooser import Choice, make_chooser
from spsl_cli.decoding.config import DecodeConfig, SamplingConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.errors import SpslError
from spsl_cli.structured import check, constraint_for
from tests.models import VOCABULARY, byte_tokenizer, draft_config, random_prompt, tiny_model
from tests.statistical import table
from tests.statistical import test_public_api as public
from tests.statistical.chi_square import chi_square

NEW, STOP, WIDTH = 100, 257, 270
SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 6},
        "pages": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 99}, "maxItems": 3},
        "kind": {"enum": ["report", "é漢", None]},
    },
    "required": ["title", "pages", "kind"],
    "additionalProperties": False,
}
SEEDS = ENDS, _CUT = 0, 2
"""Of models: the JSON of the first ends within `NEW` tokens, that of the second does not."""
WAYS = [
    *({"k": k, "lookup": lookup} for k in range(1, 9) for lookup in (False, True)),
    {"controller": "entropy", "lookup": True},
    {},
]


class Rule:
    """Token t may follow an output of sum s and length n if (3 t + s + n) % 4 is 0 or 1; a multiple of 7 never."""

    def __init__(self, width: int = VOCABULARY - 3) -> None:
        self._output: list[int] = []
        self._width = width

    def note(self, token_ids):
        for token in token_ids:
            assert self.mask(self._output)[token]
            self._output.append(token)

    def allowed(self, tail, rows):
        masks = []
        for length in range(len(tail) + 1):
            masks.append(self.mask([*self._output, *tail[:length]]))
            if length < len(tail) and not (tail[length] < self._width and masks[-1][tail[length]]):
                break
        masks = masks[len(tail) + 1 - rows :]
        return torch.stack(masks) if masks else torch.zeros(0, self._width, dtype=torch.bool)

    def mask(self, output):
        state = sum(output) + len(output)
        return torch.tensor([(3 * t + state) % 4 < 2 and t % 7 != 0 for t in range(self._width)])


def plain(model, prompt, new_tokens, allowed, stop=None):
    """The likeliest allowed token at each step, by a whole forward of the model's own."""
    ids = list(prompt)
    for _ in range(new_tokens):
        logits = model(torch.tensor([ids]), use_cache=False).logits[0, -1]
        mask = allowed(ids[len(prompt) :])
        assert mask.any()
        logits[: len(mask)][~mask] = float("-inf")
        logits[len(mask) :] = float("-inf")
        ids.append(int(logits.argmax()))
        if ids[-1] == stop:
            break
    return ids[len(prompt) :]


@cache
def schema_maker():
    return constraint_for(SCHEMA, byte_tokenizer(), [STOP])


def schema_mask(output):
    """By a constraint of its own that has noted all of it, never gone back."""
    made = schema_maker()()
    made.note(output)
    return made.allowed((), 1)[0]


def json_prompt(seed):
    """Text with JSON in it, some of which comes again and is looked up; some of that the schema forbids."""
    piece = '{"title": "abc", "pages": [1, 2], "kind": "report", "more": {}} '
    generator = random.Random(seed)
    noise = "".join(generator.choice("abcdefgh ,:{}[]0123456789") for _ in range(60))
    return byte_tokenizer()(piece + noise + piece)["input_ids"]


def text_of(token_ids):
    return byte_tokenizer().decode([token for token in token_ids if token != STOP])


@cache
def json_model(seed):
    """Its logits are wider than the tokenizer's vocabulary."""
    return tiny_model(seed=seed, vocab_size=WIDTH)


@cache
def expected_json(seed):
    return plain(json_model(seed), json_prompt(seed), NEW, schema_mask, STOP)


@pytest.mark.parametrize(("number", "how"), list(enumerate(WAYS)), ids=str)
def test_greedy_json_equals_the_plain_constrained_loop(number, how):
    seed = SEEDS[number // 2 % 2]
    decoder = SparseSpecDecoder(json_model(seed), DecodeConfig(budget=0.2, **how))
    result = decoder.decode(json_prompt(seed), max_new_tokens=NEW, stop_token_ids=[STOP], constraint=schema_maker())
    assert result.token_ids == expected_json(seed)
    assert max(result.token_ids) <= STOP
    assert (result.finish_reason == "stop") == (seed == ENDS)
    assert (check(text_of(result.token_ids), SCHEMA) is None) == (seed == ENDS)
    assert 0 < result.stats.accepted < result.stats.drafted


@pytest.mark.parametrize("family", ["llama", "qwen3"])
@pytest.mark.parametrize("how", [{"k": 1}, {"k": 4, "lookup": True}, {"k": 8, "lookup": False}, {}], ids=str)
@pytest.mark.parametrize("penalty", [1.0, 1.4])
def test_greedy_with_a_rule_of_its_own(family, how, penalty):
    """Alone and in a batch; the penalty applies to what is left."""
    model = tiny_model(family, seed=5)
    prompts = [random_prompt(length, length) * 2 for length in (20, 45)]
    sampling = SamplingConfig(repetition_penalty=penalty)
    run = SparseSpecDecoder(model, DecodeConfig(budget=0.2, **how)).prepare(
        *prompts, max_new_tokens=40, sampling=sampling, constraint=Rule
    )
    list(run.prefill())
    list(run.decode())
    ours = [list(output.token_ids) for output in run.outputs]
    assert run.totals.drafted > 0
    run.rewind()
    list(run.decode(speculation=False))
    assert ours == [list(output.token_ids) for output in run.outputs]
    if penalty == 1.0:
        assert ours == [plain(model, prompt, 40, Rule().mask) for prompt in prompts]


def test_a_run_is_decoded_again_and_its_margins_are_looked_at():
    """Every decoding has a constraint of its own, at its start."""
    made = []

    def make():
        made.append(schema_maker()())
        return made[-1]

    decoder = SparseSpecDecoder(json_model(0), DecodeConfig(k=3, budget=0.2))
    run = decoder.prepare(json_prompt(0), max_new_tokens=NEW, stop_token_ids=[STOP], constraint=make)
    list(run.prefill())
    for _ in run.decode():
        if run.stats().rounds > 6:  # left in the middle
            break
    outputs = []
    for speculation in (True, False, True):
        run.rewind()
        list(run.decode(speculation=speculation))
        outputs.append(list(run.output.token_ids))
        assert len(run.margins(5)) == 5
    assert outputs == [expected_json(0)] * 3
    assert len(made) == 7


@pytest.mark.parametrize("how", [{"k": 1}, {"k": 4, "lookup": True}, {"k": 8}, {}], ids=str)
@pytest.mark.parametrize(
    "sampling", [SamplingConfig(0.9), SamplingConfig(1.5, top_p=0.9), SamplingConfig(1.2, top_k=5)]
)
def test_sampled_json_is_valid_unless_cut(how, sampling):
    """And a seed's tokens come again."""
    finished = 0
    for seed in range(4):
        decoder = SparseSpecDecoder(json_model(seed % 2), DecodeConfig(budget=0.2, **how))
        own = SamplingConfig(sampling.temperature, sampling.top_p, sampling.top_k, seed=seed)
        options = {"max_new_tokens": 200, "sampling": own, "stop_token_ids": [STOP], "constraint": schema_maker()}
        result = decoder.decode(json_prompt(seed), **options)
        fault = check(text_of(result.token_ids), SCHEMA)
        assert (fault is None) == (result.finish_reason == "stop")
        finished += result.finish_reason == "stop"
        if seed == 0:
            assert decoder.decode(json_prompt(seed), **options).token_ids == result.token_ids
    assert finished


def test_a_constraint_that_forbids_nothing_changes_nothing():
    class Anything(Rule):
        def mask(self, _output):
            return torch.ones(VOCABULARY, dtype=torch.bool)

    model, prompt = tiny_model(seed=3), random_prompt(60) * 2
    decoder = SparseSpecDecoder(model, DecodeConfig(k=4, lookup=True))
    for sampling in (SamplingConfig(), SamplingConfig(1.0, top_p=0.9, seed=4)):
        with_rule, without = (
            decoder.decode(prompt, max_new_tokens=40, sampling=sampling, constraint=constraint)
            for constraint in (lambda: Anything(VOCABULARY), None)
        )
        assert with_rule.token_ids == without.token_ids
        assert with_rule.stats.drafted == without.stats.drafted


def test_rows_are_masked_behind_their_own_prefixes():
    """Whatever is asked for first: all rows of a verify, or one behind its drafts."""
    logits = torch.randn(4, VOCABULARY, generator=torch.Generator().manual_seed(0))
    chooser = make_chooser(SamplingConfig(1.0), constraint=Rule, prompt_tokens=3)
    chooser.note([7, 7])  # the prompt, in two parts, and the first token of the output with its end
    chooser.note([14, 3])
    mask, tail = Rule().mask, []
    for _ in range(3):
        tail.append(int(mask([3, *tail]).nonzero()[3]))
    rows = chooser._distributions(logits, tail)
    for i in range(4):
        allowed = mask([3, *tail[:i]])
        assert torch.equal(rows[i] > 0, torch.cat((allowed, torch.zeros(3, dtype=torch.bool))))
        assert torch.equal(chooser._distributions(logits[i : i + 1], tail[:i])[0], rows[i])


@pytest.mark.parametrize("sampling", [SamplingConfig(), SamplingConfig(1.0)], ids=["greedy", "sampled"])
def test_a_forbidden_draft_is_rejected(sampling):
    """Even one that the model is sure of, and one beyond the tokenizer's vocabulary."""
    for wrong in (7, VOCABULARY - 1):
        logits = torch.zeros(4, VOCABULARY)
        right = int(Rule().mask([]).nonzero()[0])
        logits[0, right], logits[1:, wrong] = 1000.0, 1000.0
        chooser = make_chooser(sampling, constraint=Rule)
        accepted, token = chooser.verify([Choice(right), Choice(wrong), Choice(wrong)], logits)
        assert accepted == 1
        assert Rule().mask([right])[token]


def test_where_nothing_may_follow_the_run_fails():
    """Not with a token that breaks the rule, and not before one gets there: a draft may well do so."""

    class Ends(Rule):
        def note(self, token_ids):
            for token in token_ids:
                if not self.mask(self._output)[token]:
                    raise SpslError("the end of the line")
                self._output.append(token)

        def mask(self, output):
            return super().mask(output) & (len(output) < 12)

    model, prompt = tiny_model(seed=3), random_prompt(30) * 2
    for how, sampling in ((DecodeConfig(k=4), None), (DecodeConfig(k=4, lookup=True), SamplingConfig(1.0))):
        decoder = SparseSpecDecoder(model, how)
        fits = decoder.decode(prompt, max_new_tokens=12, sampling=sampling, constraint=Ends)
        assert len(fits.token_ids) == 12
        with pytest.raises(SpslError, match="end of the line"):
            decoder.decode(prompt, max_new_tokens=13, sampling=sampling, constraint=Ends)


def test_arguments():
    with pytest.raises(TypeError, match="constraint must be"):
        SparseSpecDecoder(tiny_model()).decode([1, 2], constraint=Rule())


class Two(Rule):
    """Two of four tokens, or three, which ones depends on what stands before."""

    def __init__(self):
        super().__init__(4)

    def mask(self, output):
        state = sum(output) + len(output)
        return torch.tensor([(token + state) % 4 < 2 + state % 2 for token in range(4)])


@pytest.mark.usefixtures("draft_from_the_start")
@pytest.mark.parametrize("quality", [0.95, 0.6, 0.0])
@pytest.mark.parametrize(("k", "lookup"), [(1, False), (2, False), (3, False), (3, True)])
@pytest.mark.parametrize("sampling", [SamplingConfig(1.0), SamplingConfig(1.4, top_k=2, repetition_penalty=1.5)])
def test_every_constrained_output_has_its_exact_probability(quality, k, lookup, sampling, monkeypatch):
    """Outputs of four tokens, summed over every way the dice can fall in the real loop."""
    constrained = partial(make_chooser, constraint=Two, prompt_tokens=len(table.PROMPT))
    monkeypatch.setattr(table, "make_chooser", constrained)
    target = table.TableTarget(4, quality)
    expected = table.exact_distribution(target, sampling, 4)
    found = table.enumerated_distribution(target, sampling, k, 4, lookup)
    assert 16 <= len(expected) < 256
    assert set(found) == set(expected)
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-9)
    for tokens, probability in expected.items():
        assert found[tokens] == pytest.approx(probability, abs=2e-6)  # float32 distributions


class Few(Rule):
    """Two to four tokens out of 16 may follow."""

    def __init__(self):
        super().__init__(public.VOCABULARY - 1)

    def mask(self, output):
        state = sum(output) + 5 * len(output)
        return torch.tensor([(t * t + state) % 5 == 0 for t in range(self._width)])


@pytest.mark.usefixtures("cheap")
@pytest.mark.parametrize(
    ("k", "sampling", "lookup"),
    [
        (3, SamplingConfig(1.3), False), (4, SamplingConfig(1.2, top_p=0.8), True),
        ("calibrated", SamplingConfig(1.2, top_k=2), True),
    ],
)  # fmt: skip
def test_sampled_outputs_have_the_constrained_targets_joint_law(k, sampling, lookup):
    """Outputs of 6, by chi-square with bins pooled to 5 expected; passes at p > 1e-4, with fixed seeds always or never.

    The law is written here: logits of forbidden tokens are -inf, then temperature, top-k and top-p.
    """
    new_tokens, samples = 6, 600
    decoder = SparseSpecDecoder(public.model(), draft_config(k, budget=8, lookup=lookup))
    seen, drafted, accepted = Counter(), 0, 0
    for start in range(0, samples, public.ROWS):
        own = SamplingConfig(sampling.temperature, sampling.top_p, sampling.top_k, seed=start)
        for result in decoder.decode_batch(
            [public.PROMPT] * public.ROWS, max_new_tokens=new_tokens, sampling=own, constraint=Few
        ):
            seen[tuple(result.token_ids)] += 1
            drafted += result.stats.drafted
            accepted += result.stats.accepted
    assert 0.05 < accepted / drafted < 0.98
    assert chi_square(seen, joint_law(sampling, new_tokens), bins=8) > public.PASS


def joint_law(sampling, new_tokens):
    """The probability of every output."""
    expected = {(): 1.0}
    for _ in range(new_tokens):
        outputs = list(expected)
        logits = public.model()(torch.tensor([public.PROMPT + list(o) for o in outputs]), use_cache=False).logits[:, -1]
        mask = torch.stack([torch.cat((Few().mask(o), torch.zeros(1, dtype=torch.bool))) for o in outputs])
        chances = public.law(logits.masked_fill(~mask, float("-inf")), sampling).tolist()
        expected = {
            (*tokens, token): weight * chance
            for (tokens, weight), row in zip(expected.items(), chances, strict=True)
            for token, chance in enumerate(row)
            if chance > 0
        }
    return expected
